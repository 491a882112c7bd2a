//! A host that does anything with a controller in this process, which commits faults as well. Whatever happened, a
//! reset makes the controller work again, and it executes I/O; a removed one accesses no memory.
#![no_main]

mod commands;
mod host;
mod steps;

use arbitrary::Arbitrary;
use host::{Host, PAGE, PAGES};
use joulio_device::Device;
use joulio_emulator::{
    EmulatedDevice, Fault, FaultPlan, NamespaceOptions, Options, Stepper, StoreOptions,
};
use joulio_fuzz::faults::AnyPlan;
use joulio_model::DeviceProfile;
use joulio_nvme_spec::register::{CC, CSTS, Csts, completion_doorbell};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use joulio_units::Nanos;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use steps::Step;

/// A device without latency, and one with latency and power states.
const PROFILES: [&str; 2] = ["instant", "samsung-960-evo"];
const BLOCK: usize = 512;

#[derive(Arbitrary, Debug)]
struct Input {
    profile: u8,
    faults: AnyPlan,
    steps: Vec<Step>,
}

fn options(which: usize) -> &'static Options {
    static OPTIONS: [OnceLock<Options>; PROFILES.len()] =
        [const { OnceLock::new() }; PROFILES.len()];
    OPTIONS[which].get_or_init(|| {
        let profile = DeviceProfile::builtin(PROFILES[which]).expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = host::QUEUES;
        options.vectors = host::QUEUES + 1;
        options.shadow_doorbells = true;
        options.namespaces = [BLOCK as u32, 4096]
            .map(|block| NamespaceOptions {
                store: StoreOptions::Ram {
                    bytes: Some(1 << 20),
                },
                block: Some(block),
            })
            .into();
        options
    })
}

/// Simulated time.
struct Clock {
    stepper: Stepper,
    now: Nanos,
}

impl Clock {
    /// Steps the controller.
    fn step(&self, host: &Host) {
        let progress = self.stepper.step(self.now);
        assert!(progress.next.is_none_or(|next| next >= self.now));
        let power = host.device.power();
        let time: u64 = power.residency.iter().map(|time| time.0).sum();
        assert_eq!(time, self.now.0, "{power:?}");
    }
}

/// Checks that registers are all ones, and that memory does not change any more.
fn check_removed(host: &mut Host, clock: &mut Clock) {
    assert_eq!(host.device.read32(CC), u32::MAX);
    assert_eq!(host.device.read64(0), u64::MAX);
    let bytes = |host: &Host| {
        let mut bytes = vec![0; PAGES * PAGE];
        host.memory.read(0, &mut bytes);
        bytes
    };
    host.submit(1, &Command::nvm(NvmOpcode::FLUSH, NamespaceId(1)));
    let before = bytes(host);
    host.ring(completion_doorbell(1, 0), 0);
    clock.now += Nanos::from_millis(10_000);
    clock.step(host);
    assert!(bytes(host) == before);
}

/// Checks that a controller which is reset executes I/O as usual.
fn check_back(host: &mut Host, clock: &mut Clock) {
    host.device.plan_faults(&FaultPlan::default());
    // A reset is the clearing of EN: a controller that failed while it was disabled is enabled first.
    host.enable();
    host.device.write32(CC, 0);
    assert!(!Csts::from(host.device.read32(CSTS)).rdy());
    host.drop_vectors();
    host.memory.write(0, &[0; PAGES * PAGE]);
    host.enable();
    let status = Csts::from(host.device.read32(CSTS));
    assert!(status.rdy() && !status.cfs(), "{status:?}");
    host.queue(1, 8, 14);
    host.memory.write(20 * PAGE, &[0xa5; BLOCK]);
    let written = io(host, clock, NvmOpcode::WRITE, 20);
    let read = io(host, clock, NvmOpcode::READ, 21);
    let broken = |fault: &Fault| matches!(fault, Fault::Full | Fault::NamespaceRemoved(1));
    if host.may_suffer(broken) {
        return;
    }
    assert!(
        written.is_success() && read.is_success(),
        "{written} {read}"
    );
    let mut bytes = [0; BLOCK];
    host.memory.read(21 * PAGE, &mut bytes);
    assert_eq!(bytes, [0xa5; BLOCK]);
}

/// Executes the first I/O of that kind on queue 1, a write before a read.
fn io(host: &mut Host, clock: &mut Clock, opcode: NvmOpcode, page: usize) -> Status {
    let mut command = Command::transfer(opcode, NamespaceId(1), 3, 1);
    command.prp1.set(host.page(page));
    host.submit(1, &command);
    clock.step(host);
    clock.now += Nanos::from_millis(60_000);
    clock.step(host);
    let mut entry = [0; 16];
    let place = usize::from(opcode == NvmOpcode::READ);
    host.memory.read(8 * PAGE + place * 16, &mut entry);
    let field = u16::from_le_bytes([entry[14], entry[15]]);
    assert!(field & 1 != 0, "{opcode:?} did not complete");
    Status::from_field(field >> 1)
}

fuzz_target!(|input: Input| {
    let mut options = options(usize::from(input.profile) % PROFILES.len()).clone();
    options.faults = input.faults.into();
    let (device, stepper) = EmulatedDevice::stepped(&options).expect("a controller");
    let mut host = Host::new(device, &options.faults);
    let mut clock = Clock {
        stepper,
        now: Nanos::ZERO,
    };
    host.enable();
    host.queue(1, 8, 14);
    for step in &input.steps {
        match *step {
            Step::Pass(time) => clock.now += Nanos(time.into()),
            _ => {
                host.act(step);
                host.command(step);
            }
        }
        clock.step(&host);
    }
    if host.device.activity().faults.removed > 0 {
        check_removed(&mut host, &mut clock);
    } else if !host.may_suffer(|fault| *fault == Fault::StuckReset) {
        check_back(&mut host, &mut clock);
    }
});
