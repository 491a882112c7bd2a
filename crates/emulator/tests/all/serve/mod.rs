//! A controller behind a vfio-user socket, and hosts that treat it well or badly.

mod client;
mod faults;
mod hostile;
mod hosts;
mod idle;
mod nvme;
mod protocol;
mod shadow;
