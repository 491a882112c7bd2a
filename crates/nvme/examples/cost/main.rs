//! The cost of submit and reap: by the driver, and for comparison by the barest loop that moves the same bytes.
//!
//! `benches/instructions` runs each under callgrind, which counts only inside `*_submit` and `*_reap`: the device,
//! which is stepped in this thread or in another, is not counted.

mod bare;
mod driver;
mod many;
mod reactor;

use joulio_emulator::{EmulatedDevice, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};

/// Returns a controller that completes its commands when it is stepped, in no time.
fn device(queue_pairs: u16) -> (EmulatedDevice, Stepper) {
    let profile = DeviceProfile::builtin("instant").expect("built in");
    let mut options = Options::new(profile);
    options.queue_pairs = options.queue_pairs.max(queue_pairs);
    options.vectors = options.vectors.max(options.queue_pairs + 1);
    EmulatedDevice::stepped(&options).expect("memory for a controller")
}

/// Opens such a controller, with `queues` queue pairs.
fn open(queues: u16) -> (Controller<EmulatedDevice>, Stepper) {
    let (device, stepper) = device(queues);
    let options = ControllerOptions {
        queues,
        ..ControllerOptions::default()
    };
    (
        Controller::open(device, options).expect("it opens"),
        stepper,
    )
}

const USAGE: &str = "usage: cost COMMAND IOS NUMBER
  driver, bare    NUMBER: queue depth; all that is in flight completes together
  waited          NUMBER: queue depth; all that is in flight completes during a wait
  queues          NUMBER: queues in one group, 32 I/Os spread over them
  idle            NUMBER: queues in one group, 32 I/Os on one of them
  together        NUMBER: drives in one group, one I/O each, which complete together
  poll, block     the same, which complete one at a time
  reactor         NUMBER: pollers of a reactor, each with a drive and one I/O";

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |index: usize| {
        let number = arguments.get(index).and_then(|n| n.parse().ok());
        number.filter(|&n: &usize| n > 0)
    };
    let (Some(ios), Some(many)) = (number(1), number(2)) else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    match arguments[0].as_str() {
        "driver" => driver::run(ios, many),
        "waited" => driver::waited(ios, many),
        "bare" => bare::run(ios, many),
        "queues" => many::queues(ios, many),
        "idle" => many::idle(ios, many),
        "together" => many::together(ios, many),
        "poll" => many::poll(ios, many),
        "block" => many::block(ios, many),
        "reactor" => reactor::run(ios, many),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}
