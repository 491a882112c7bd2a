//! A run: a plan of faults, and a driver that has to endure them.

use super::back_ends::BackEnd;
use crate::alone;
use joulio_conformance::{Bench, Endured, Modes, endure};
use joulio_device::Device;
use joulio_emulator::{Faulted, NamespaceOptions, Options, StoreOptions};
use joulio_job::CompletionMode;
use joulio_model::DeviceProfile;
use joulio_nvme::spec::Status;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_units::Nanos;
use std::sync::OnceLock;

/// Number of commands in flight.
pub const DEPTH: usize = 16;
/// I/Os of a run without JOULIO_IOS. All faults of the plans come within this number.
const MIN_IOS: u64 = 4_000;

/// Returns the number of I/Os of a run.
pub fn ios() -> u64 {
    static IOS: OnceLock<u64> = OnceLock::new();
    *IOS.get_or_init(|| match std::env::var("JOULIO_IOS") {
        Err(_) => MIN_IOS,
        Ok(text) => match text.parse() {
            Ok(ios) if ios >= MIN_IOS => ios,
            _ => panic!("JOULIO_IOS is {text:?}: it must be a number from {MIN_IOS}"),
        },
    })
}

/// A fault scenario: the plan of faults, and the driver's time limits.
pub struct Scenario {
    pub plan: &'static str,
    pub retries: u8,
}

impl Scenario {
    pub fn of(plan: &'static str) -> Scenario {
        Scenario { plan, retries: 0 }
    }

    /// Starts a controller that commits the faults, and the driver on it. The bench must be dropped first.
    pub fn start<B: BackEnd>(&self) -> (B, Bench<B::Device>) {
        let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(16 << 20),
            },
            block: Some(512),
        }];
        options.faults = self.plan.parse().unwrap();
        let (back_end, device) = B::start(&options);
        let options = ControllerOptions {
            queues: 2,
            // Long enough to create a queue on a machine where eight other threads need each CPU; a stuck command
            // is waited for that long, once in each completion mode.
            admin_timeout: Nanos::from_millis(1_500),
            // Longer than this thread, or the device's, is ever without its CPU.
            io_timeout: Nanos::from_millis(400),
            retries: self.retries,
            ..ControllerOptions::default()
        };
        let controller = Controller::open(device, options).unwrap();
        (back_end, Bench::new(controller, 1, 42).unwrap())
    }

    /// Runs the scenario in `modes`, and returns the results of the driver and the device.
    pub fn run_all<B: BackEnd>(&self, modes: Modes) -> (Endured, Faulted) {
        let (back_end, bench) = self.start::<B>();
        let endured = self.run(&bench, modes, ios());
        let faulted = back_end.faulted();
        println!("{} under {modes:?}: {endured:?}, {faulted:?}", self.plan);
        if endured.ended.is_none() {
            assert_eq!(endured.commands, ios());
            // The run continues without opening the controller again.
            if !self.plan.contains("namespace-removed") {
                let again = self.run(&bench, CompletionMode::Poll.into(), 200);
                assert_eq!(again.commands, 200);
            }
        }
        (endured, faulted)
    }

    /// Issues `ios` I/Os, each of which ends once, and adds them to the totals.
    pub fn run<D: Device>(&self, bench: &Bench<D>, modes: Modes, ios: u64) -> Endured {
        let endured = endure(bench, modes, DEPTH, ios).unwrap_or_else(|error| {
            panic!("{} under {modes:?}: {error:#}", self.plan);
        });
        let ended = endured.completed + endured.failures();
        assert_eq!(ended, endured.commands, "{} under {modes:?}", self.plan);
        // For `./test endure`, which adds these up.
        println!("\ntotals: {} issued, {ended} ended", endured.commands);
        endured
    }

    /// Runs the scenario in each of [`Modes::EVERY_STEP`].
    pub fn all<B: BackEnd>(&self, check: impl Fn(Modes, &Endured, &Faulted)) {
        let _alone = alone();
        for modes in Modes::EVERY_STEP {
            let (endured, faulted) = self.run_all::<B>(modes);
            check(modes, &endured, &faulted);
        }
    }
}

/// Returns the number of commands that ended with `status`, whatever its flags.
pub fn of_status(endured: &Endured, status: Status) -> u64 {
    let failed = endured.failed.iter();
    failed
        .filter(|(found, _)| found.kind() == status)
        .map(|(_, count)| count)
        .sum()
}
