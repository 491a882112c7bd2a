//! Every fault of the emulated controller in every completion mode, on every back end: no command is lost or ends
//! twice, every buffer is returned, and the driver's counts equal the device's.
//!
//! The back ends are the controller in this process, and the same controller behind a vfio-user socket with mapped
//! doorbells. With doorbells that are messages, only the way of commands to the controller differs, so that one
//! plan for each kind of recovery is enough.
//!
//! JOULIO_IOS is the number of I/Os of a run; `./test endure` asks for a million in all.

mod back_ends;
mod commands;
mod completions;
mod controllers;
mod scenario;

/// Makes tests of functions that are generic over the back end: a module for each function, with a test for each
/// back end.
#[macro_export]
macro_rules! on_back_ends {
    ($($name:ident on $($test:ident $back_end:ident),+;)+) => {$(
        mod $name {
            $(
                #[test]
                fn $test() {
                    super::$name::<$crate::faults::back_ends::$back_end>();
                }
            )+
        }
    )+};
}
