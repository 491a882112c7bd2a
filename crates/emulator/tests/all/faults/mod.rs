//! Faults that are planned or injected: the effect of each as the host sees it, and that the controller's own state is
//! right afterwards.

mod commands;
mod controllers;
mod hostile;
mod no_room;
mod plans;
mod runs;

use crate::common::{Host, PAGE, Pair, options, transfer};
use joulio_device::DmaMemory;
use joulio_emulator::{Faulted, Options};
use joulio_nvme_spec::{CommandId, CompletionEntry, NvmOpcode, Status};

/// Options of a controller without latency that commits the faults of `plan`.
fn faulty(plan: &str) -> Options {
    let mut options = options();
    options.faults = plan.parse().unwrap();
    options
}

/// A stepped controller with the faults of `plan`, and a queue pair of 8 entries.
struct Faulty {
    host: Host,
    pair: Pair,
    buffer: DmaMemory,
}

impl Faulty {
    fn new(plan: &str) -> Faulty {
        Faulty::with(&faulty(plan))
    }

    fn with(options: &Options) -> Faulty {
        let mut host = Host::stepped(options);
        let pair = host.pair(1, 8, None);
        let buffer = host.buffer(PAGE);
        Faulty { host, pair, buffer }
    }

    fn submit(&mut self, opcode: NvmOpcode, cid: u16) {
        self.pair.submit(cid, transfer(opcode, 0, 8, &self.buffer));
    }

    /// Submits a read and steps; returns the completions that come.
    fn read(&mut self, cid: u16) -> Vec<(CommandId, Status)> {
        self.submit(NvmOpcode::READ, cid);
        self.step(0)
    }

    fn write(&mut self, cid: u16) -> Vec<(CommandId, Status)> {
        self.submit(NvmOpcode::WRITE, cid);
        self.step(0)
    }

    /// Steps, and returns the completions that come.
    fn step(&mut self, now: u64) -> Vec<(CommandId, Status)> {
        self.host.step(now);
        std::iter::from_fn(|| self.pair.reap()).map(both).collect()
    }

    fn done(&self) -> Faulted {
        self.host.device.activity().faults
    }

    /// Resets the controller, and creates the queue pair again.
    fn start_again(&mut self) {
        use joulio_device::Device;
        self.host.device.write32(joulio_nvme_spec::register::CC, 0);
        self.host.enable();
        self.pair = self.host.pair(1, 8, None);
    }
}

fn both(completion: CompletionEntry) -> (CommandId, Status) {
    (completion.command_id(), completion.status())
}

fn good(cid: u16) -> (CommandId, Status) {
    (CommandId(cid), Status::SUCCESS)
}
