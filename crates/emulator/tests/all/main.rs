//! The emulated controller's tests, a module each, all of them one program.

mod admin;
mod arbitration;
mod commands;
mod common;
mod faults;
mod host_memory;
mod hostile;
mod interrupts;
mod io;
mod power;
mod power_meter;
mod queues;
mod registers;
mod serve;
mod sgl;
mod synced;
mod thread;
