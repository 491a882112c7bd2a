//! Cost of a read through C: the same loop over joulio.h's functions, one by one or in batches, and over the Rust
//! driver.
//!
//! `benches/c-instructions` runs them under callgrind, which collects inside `*_submit` and `*_reap` only;
//! the device is stepped between.

mod in_batches;
mod rust;
mod through_c;

use joulio_emulator::{EmulatedDevice, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};

/// Logical blocks of an I/O: 4 KiB.
const BLOCKS: u32 = 8;

/// Opens a controller without latency, which completes commands when it is stepped.
fn open() -> (Controller<EmulatedDevice>, Stepper) {
    let profile = DeviceProfile::builtin("instant").expect("built in");
    let (device, stepper) =
        EmulatedDevice::stepped(&Options::new(profile)).expect("memory for a controller");
    let controller = Controller::open(device, ControllerOptions::default()).expect("it opens");
    (controller, stepper)
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |index: usize| {
        let number = arguments.get(index).and_then(|n| n.parse().ok());
        number.filter(|&n: &usize| n > 0)
    };
    match (arguments.first().map(String::as_str), number(1), number(2)) {
        (Some("rust"), Some(ios), Some(depth)) => rust::run(ios, depth),
        (Some("c"), Some(ios), Some(depth)) => through_c::run(ios, depth),
        (Some("batch"), Some(ios), Some(depth)) => in_batches::run(ios, depth),
        _ => {
            eprintln!("usage: cost rust|c|batch IOS DEPTH");
            std::process::exit(2);
        }
    }
}
