//! Faults with a hostile host: the controller stays consistent, and everything not permanently broken works after a
//! reset.

use super::plans::{faults, times};
use super::{Faulty, faulty, good};
use crate::common::{Host, PAGE, enabled, ram, slow_options};
use joulio_device::{Device, Doorbell};
use joulio_emulator::{Fault, FaultPlan, Planned};
use joulio_nvme_spec::register::{CC, CSTS};
use joulio_nvme_spec::{AdminOpcode, Command, CommandId, NamespaceId, NvmOpcode, QueueId, Status};
use proptest::prelude::*;

/// An action of the host, or a fault.
#[derive(Clone, Debug)]
enum Act {
    Io(u8, u16, u32, u32),
    Abort(u16, u16),
    DeleteQueues,
    Doorbell(u32, u32),
    Inject(Fault),
    Plan(FaultPlan),
    Step(u64),
    Unmask,
    Disable,
    Enable,
}

fn act() -> impl Strategy<Value = Act> {
    let io = (0u8..10, 0u16..20, 0u32..4, 1u32..17);
    let planned = (faults(), times()).prop_map(|(fault, when)| Planned { fault, when });
    let plan = (any::<u64>(), prop::collection::vec(planned, 0..4));
    prop_oneof![
        8 => io.prop_map(|(opcode, cid, nsid, blocks)| Act::Io(opcode, cid, nsid, blocks)),
        2 => (0u16..3, 0u16..20).prop_map(|(sqid, cid)| Act::Abort(sqid, cid)),
        1 => Just(Act::DeleteQueues),
        2 => (0u32..6, 0u32..10).prop_map(|(at, value)| Act::Doorbell(0x1000 + at * 4, value)),
        6 => faults().prop_map(Act::Inject),
        2 => plan.prop_map(|(seed, faults)| Act::Plan(FaultPlan { seed, faults })),
        6 => (0u64..3_000_000).prop_map(Act::Step),
        1 => Just(Act::Unmask),
        1 => Just(Act::Disable),
        1 => Just(Act::Enable),
    ]
}

struct Hostile {
    faulty: Faulty,
    vectors: Vec<joulio_device::Vector>,
    now: u64,
}

impl Hostile {
    fn perform(&mut self, act: Act) {
        let host = &mut self.faulty.host;
        let pair = &mut self.faulty.pair;
        match act {
            Act::Io(opcode, cid, nsid, blocks) => {
                let mut command =
                    Command::transfer(NvmOpcode(opcode), NamespaceId(nsid), 0, blocks);
                command.prp1.set(self.faulty.buffer.iova().0);
                command.prp2.set(self.faulty.buffer.iova().0);
                pair.submit(cid, command);
                while pair.reap().is_some() {}
            }
            Act::Abort(sqid, cid) => {
                let abort = Command::abort(QueueId(sqid), CommandId(cid));
                host.admin.submit(7, abort);
                while host.admin.reap().is_some() {}
            }
            Act::DeleteQueues => {
                for opcode in [
                    AdminOpcode::DELETE_IO_SUBMISSION_QUEUE,
                    AdminOpcode::DELETE_IO_COMPLETION_QUEUE,
                ] {
                    host.admin
                        .submit(8, Command::delete_queue(opcode, QueueId(1)));
                }
            }
            Act::Doorbell(at, value) => host.device.doorbell(at).unwrap().ring(value),
            Act::Inject(fault) => host.device.inject(fault),
            Act::Plan(plan) => host.device.plan_faults(&plan),
            Act::Step(more) => {
                self.now += more;
                host.step(self.now);
            }
            Act::Unmask => self.vectors[1].unmask().unwrap(),
            Act::Disable => host.device.write32(CC, 0),
            Act::Enable => host.device.write32(CC, enabled().into()),
        }
    }
}

/// Resets a controller, whatever its state; returns whether it ignores that, or was removed.
fn is_beyond_help(host: &Host) -> bool {
    // Failures while it was disabled take a reset too.
    host.device.write32(CC, enabled().into());
    host.device.write32(CC, 0);
    host.device.read32(CSTS) != 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_that_goes_wrong_breaks_the_controller(
        acts in prop::collection::vec(act(), 1..80),
    ) {
        let mut options = slow_options();
        options.namespaces = vec![ram(512), ram(512)];
        options.faults = "seed=5,late=1ms@0.1,double@0.2,stale@0.2,unknown@0.2".parse().unwrap();
        let mut host = Host::stepped(&options);
        let vectors = host.device.enable_vectors(2).unwrap();
        let pair = host.pair(1, 8, Some(1));
        let buffer = host.buffer(PAGE);
        let faulty = Faulty { host, pair, buffer };
        let mut hostile = Hostile { faulty, vectors, now: 0 };
        for act in acts {
            hostile.perform(act);
        }
        let mut faulty = hostile.faulty;
        faulty.host.device.plan_faults(&FaultPlan::default());
        if is_beyond_help(&faulty.host) {
            faulty.host.step(1 << 60);
            return Ok(());
        }
        faulty.host.enable();
        faulty.pair = faulty.host.pair(1, 8, None);
        let gone = [Status::INVALID_NAMESPACE.do_not_retry(); 7];
        for round in 0..3u64 {
            for cid in 0..7 {
                faulty.submit(NvmOpcode::READ, cid);
            }
            faulty.host.step(1 << 60 | round << 40);
            let seen = faulty.step(1 << 60 | round << 40 | 1 << 39);
            let statuses: Vec<Status> = seen.iter().map(|&(_, status)| status).collect();
            let good: Vec<_> = (0..7).map(good).collect();
            prop_assert!(seen == good || statuses == gone, "{:?}", seen);
        }
    }
}

#[test]
fn a_fault_at_every_command_still_ends() {
    let all = "status,drop,late=1us,double,reorder,stale,unknown,lost-irq,spurious-irq,flip,full";
    let mut faulty = Faulty::with(&faulty(all));
    for cid in 0..7 {
        faulty.submit(NvmOpcode::READ, cid);
    }
    assert_eq!(faulty.step(u64::MAX), []);
    assert_eq!(faulty.done().dropped, 7);
    assert_eq!(faulty.host.step(u64::MAX).next, None);
}
