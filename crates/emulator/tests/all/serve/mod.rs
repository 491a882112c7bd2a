//! A controller behind a vfio-user socket, with well-behaved and hostile hosts. Not under QEMU's user emulation, which
//! has no io_setup(2), through which the server signals its hosts.

mod client;
mod faults;
mod hostile;
mod hosts;
mod idle;
mod nvme;
mod protocol;
mod shadow;
mod slow_disk;
