//! Futures over emulated controllers.

mod cancel;
mod common;
mod drivers;
mod operations;
mod room;
mod threads;
