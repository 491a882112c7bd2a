//! A controller behind a vfio-user socket, and hosts that treat it well or badly. Not under QEMU's user
//! emulation, which has no io_setup(2), by which the server signals its hosts.

mod client;
mod faults;
mod hostile;
mod hosts;
mod idle;
mod nvme;
mod protocol;
mod shadow;
mod slow_disk;
