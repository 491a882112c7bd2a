//! The twin's tests, one module each, in one program.

mod common;
mod counters;
mod device_fit;
mod examples;
mod grid;
mod oracle;
mod other_irqs;
mod properties;
mod published;
mod replay;
mod several_devices;
mod shared;
mod sizes;
mod smt;
