//! A real run whose plans are made again in virtual time.

use crate::common::policies::{POLICIES, policy};
use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, PollGroup};
use joulio_twin::replay::{History, PolicyEvent, replay};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Hybrid, Step};
use proptest::prelude::*;

/// Runs `ios` I/Os, `depth` at a time, on a real queue of the emulated `device`. Returns everything that the policy
/// was told and planned.
fn recorded(
    device: &str,
    policy: AnyPolicy,
    (depth, ios, write_every): (usize, usize, usize),
) -> Vec<PolicyEvent> {
    let profile = DeviceProfile::builtin(device).unwrap();
    let device = EmulatedDevice::spawn(&Options::new(profile)).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(depth).unwrap();
    let history = History::default();
    queue.set_policy(history.record(policy)).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    let mut buffers = controller.allocate_buffers(depth, 4096).unwrap();
    let (mut sent, mut done) = (0, 0);
    while done < ios {
        let queue = &mut group.queues()[0];
        while sent < ios {
            let Some(buffer) = buffers.pop() else { break };
            let lba = sent as u64 * 8;
            let result = match (sent + 1).is_multiple_of(write_every) {
                true => queue.write(&namespace, lba, 8, buffer, 0),
                false => queue.read(&namespace, lba, 8, buffer, 0),
            };
            result.unwrap();
            sent += 1;
        }
        queue.ring();
        done += group
            .reap(1, None, |_, one| buffers.extend(one.buffer))
            .unwrap();
    }
    history.events()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(36))]

    /// The recorded times are this machine's, and differ from run to run.
    #[test]
    fn a_policy_decides_the_same_for_the_same_history_in_virtual_and_in_real_time(
        which in 0..POLICIES, depth in 1_usize..9, ios in 1_usize..300, write_every in 1_usize..5,
    ) {
        let events = recorded("optane-p5800x", policy(which), (depth, ios, write_every));
        prop_assert!(events.iter().is_sorted_by_key(PolicyEvent::at));
        let submitted = |event: &&PolicyEvent| matches!(event, PolicyEvent::Submitted(..));
        let completed = |event: &&PolicyEvent| matches!(event, PolicyEvent::Completed(..));
        prop_assert_eq!(events.iter().filter(submitted).count(), ios);
        prop_assert_eq!(events.iter().filter(completed).count(), ios);
        let plans = events.iter().filter(|event| matches!(event, PolicyEvent::Planned { .. })).count();
        prop_assert_eq!(replay(&events, &mut policy(which)), Ok(plans));
    }
}

#[test]
fn another_policy_is_found_out_at_its_first_other_word() {
    let hybrid = |us| AnyPolicy::Hybrid(Hybrid::fixed(Nanos::from_micros(us)));
    // A disk is so slow that even on a busy machine a job nearly always waits for it.
    let events = (0..20)
        .map(|_| recorded("hdd-7200", hybrid(5_000), (1, 5, 9)))
        .find(|events| {
            events.iter().any(
                |event| matches!(event, PolicyEvent::Planned { step, .. } if *step != Step::SPIN),
            )
        })
        .unwrap();
    let mut other = hybrid(4_000);
    let diverged = replay(&events, &mut other).unwrap_err();
    let first = events.iter().position(
        |event| matches!(event, PolicyEvent::Planned { step, .. } if *step != Step::SPIN),
    );
    assert_eq!(Some(diverged.index), first);
    assert_ne!(diverged.said, diverged.want);
}
