//! A controller that does anything with the driver's memory, registers and interrupts.
//!
//! Whatever it does, no call of the driver panics or runs for ever, each command ends once and with its own buffer, and
//! memory is freed in the end if the controller has stopped using it. Time is simulated
//! (`crates/wait/src/clock/fuzzing.rs`): the driver's waits cost nothing.
#![no_main]

mod acts;
mod caller;
mod script;
mod spy;
mod steps;

use acts::Act;
use arbitrary::Arbitrary;
use caller::Caller;
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_units::Nanos;
use libfuzzer_sys::fuzz_target;
use script::Script;
use spy::Spy;
use std::sync::{Arc, OnceLock};
use steps::Step;

#[derive(Arbitrary, Debug)]
struct Input {
    how: How,
    /// Actions of the device while it is opened.
    opening: Vec<Act>,
    moves: Vec<Move>,
}

#[derive(Arbitrary, Debug)]
struct How {
    /// Bits of CAP that are inverted.
    cap: Option<u64>,
    queues: u8,
    /// Timeout of an I/O in milliseconds.
    io_timeout: u8,
    /// Timeout of an admin command in tenths of a millisecond.
    admin_timeout: u8,
    retries: u8,
    sgls: bool,
    /// Whether the device does its work when it has nothing else to do.
    works: bool,
}

/// A call of the caller, and the actions of the device until its end.
#[derive(Arbitrary, Debug)]
struct Move {
    acts: Vec<Act>,
    step: Step,
}

impl How {
    fn options(&self) -> ControllerOptions {
        ControllerOptions {
            queues: u16::from(self.queues % 2) + 1,
            admin_timeout: Nanos::from_micros(100 * u64::from(self.admin_timeout)),
            io_timeout: Nanos::from_millis(self.io_timeout.into()),
            retries: self.retries % 4,
            sgls: self.sgls,
            ..ControllerOptions::default()
        }
    }
}

fn options() -> &'static Options {
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let profile = DeviceProfile::builtin("instant").expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = 2;
        options.vectors = 3;
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(1 << 20),
            },
            block: Some(512),
        }];
        options
    })
}

fuzz_target!(|input: Input| {
    let (device, stepper) = EmulatedDevice::stepped(options()).expect("a controller");
    let script = Arc::new(Script::new(
        stepper,
        input.how.cap.unwrap_or(0),
        input.how.works,
    ));
    script.go_on(input.opening);
    let spy = Spy::new(device, &script);
    if let Ok(controller) = Controller::open(spy, input.how.options())
        && let Ok(namespace) = controller.namespace(1)
        && let Some(mut caller) = Caller::new(&controller, namespace)
    {
        for Move { acts, step } in input.moves {
            script.go_on(acts);
            if !caller.take(&step) {
                break;
            }
        }
        caller.finish();
    }
    if script.is_honest() {
        assert_eq!(script.held(), 0, "pieces of memory that nobody has");
    }
});
