//! Completions that the fast path delivers if they are ordinary, and leaves in place if they are not.

use crate::common::{Seen, Spy, open};
use crate::forged::forge;
use joulio_device::{BufferList, SharedMemory};
use joulio_emulator::Stepper;
use joulio_nvme::wait::{AnyPolicy, Hybrid};
use joulio_nvme::{CompletionFault, Controller, Namespace, PollGroup, Taken, UsualQueue};
use joulio_units::Nanos;
use std::sync::Arc;

const DEPTH: usize = 4;
/// Unrecovered Read Error (NVM 1.0, figure 16), with Do Not Retry.
const FAILED: u16 = 0x4281;

struct Fixture {
    stepper: Stepper,
    namespace: Namespace,
    group: PollGroup<Spy>,
    memory: Arc<SharedMemory>,
    controller: Controller<Spy>,
    seen: Seen,
}

fn fixture() -> Fixture {
    let (controller, stepper, seen): (_, _, Seen) = open();
    let namespace = controller.namespace(1).unwrap();
    let queue = controller.create_queue_pair(DEPTH).unwrap();
    let memory = seen.last_memory();
    Fixture {
        stepper,
        namespace,
        group: PollGroup::new(vec![queue]),
        memory,
        controller,
        seen,
    }
}

/// Completions that the general path delivered: tag, status and number of buffers of each.
type Rest = Vec<(u64, u16, usize)>;

impl Fixture {
    /// Returns the queue for its short path.
    fn pair(&mut self) -> UsualQueue<'_, Spy> {
        self.group.queues().usual(0).unwrap()
    }

    fn submit(&mut self, tags: std::ops::Range<u64>) {
        for tag in tags {
            let buffer = self.controller.allocate_buffers(1, 512).unwrap().remove(0);
            let queue = &mut self.group.queues()[0];
            queue.read(&self.namespace, tag, 1, buffer, tag).unwrap();
            queue.ring();
        }
    }

    /// Writes a completion into entry `index` of the queue, as the controller would.
    fn forge(&self, index: usize, sqid: u16, cid: u16, status: u16) {
        forge(
            &self.memory,
            index,
            9 << 32 | 7,
            (sqid, cid),
            1 | status << 1,
        );
    }

    /// Returns the identifier of the command in entry `index` of the queue.
    fn cid(&self, index: usize) -> u16 {
        (self.memory.load_u32(index * 64) >> 16) as u16
    }

    /// Takes up to `max` ordinary completions; returns their tags, and true if there are no others.
    fn usual(&mut self, max: usize) -> (Vec<u64>, bool) {
        let mut tags = Vec::new();
        let (count, all) = self.pair().reap_usual(|tag, memory, _| {
            if tags.len() == max {
                return false;
            }
            assert!(memory.take().is_some());
            tags.push(tag);
            true
        });
        assert_eq!(count, tags.len());
        (tags, all)
    }

    /// Takes as many ordinary completions as there are, up to `max`; returns how many doorbells that rang, too.
    fn take(&mut self, min: usize, max: usize) -> (Taken, u64) {
        let rings = self.seen.rings();
        let sink = |_, memory: &mut Option<_>, _| memory.take().is_some();
        let taken = self.pair().take_usual(|| min, max, sink);
        (taken, self.seen.rings() - rings)
    }

    fn rest(&mut self, max: usize) -> (Result<usize, CompletionFault>, Rest) {
        let mut rest = Vec::new();
        let reaped = self.group.queues()[0].reap_unusual(max, |done| {
            let (tag, status) = (done.tag, done.status.field());
            rest.push((tag, status, done.into_buffers().into_iter().count()));
        });
        (reaped, rest)
    }

    fn outstanding(&mut self) -> usize {
        self.group.queues()[0].outstanding()
    }

    /// Returns the number of polls, and of those that found nothing.
    fn polls(&mut self) -> (u64, u64) {
        let counted = self.group.counters();
        (counted.polls, counted.empty_polls)
    }
}

#[test]
fn usual_ones_are_handed_out_by_one_poll_and_one_that_is_refused_stays() {
    let mut fixture = fixture();
    assert_eq!(fixture.usual(8), (vec![], true));
    assert_eq!(fixture.polls(), (1, 1));
    // Also beyond the end of the ring.
    for round in 1..=5 {
        fixture.submit(0..4);
        fixture.stepper.step(Nanos::ZERO);
        let (mut tags, all) = fixture.usual(3);
        assert!(!all && tags.len() == 3 && fixture.outstanding() == 1);
        // There is no room for more: the queue is not even polled.
        assert_eq!(fixture.rest(0), (Ok(0), vec![]));
        assert_eq!(fixture.polls(), (2 * round, 1));
        let (last, all) = fixture.usual(8);
        tags.extend(last);
        tags.sort_unstable();
        assert!(all && tags == [0, 1, 2, 3] && fixture.outstanding() == 0);
        assert_eq!(fixture.polls(), (1 + 2 * round, 1));
    }
    assert_eq!(fixture.usual(8), (vec![], true));
}

#[test]
fn the_doorbell_is_rung_for_as_many_as_are_wanted_and_fewer_wait_for_it() {
    let mut fixture = fixture();
    assert_eq!(fixture.take(0, 2), (Taken::All(0), 0));
    // Also beyond the end of the ring.
    for _ in 0..5 {
        fixture.submit(0..4);
        fixture.stepper.step(Nanos::ZERO);
        assert_eq!(fixture.take(2, 2), (Taken::Enough(2), 1));
        assert_eq!(fixture.take(3, 8), (Taken::All(2), 0));
        let rings = fixture.seen.rings();
        fixture.pair().release();
        assert_eq!(
            (fixture.seen.rings() - rings, fixture.outstanding()),
            (1, 0)
        );
    }
    fixture.submit(0..2);
    fixture.forge(0, 1, fixture.cid(0), 0);
    fixture.forge(1, 1, fixture.cid(1), FAILED);
    assert_eq!(fixture.take(1, 8), (Taken::Some(1), 0));
    let rings = fixture.seen.rings();
    assert_eq!(fixture.rest(8).0, Ok(1));
    assert_eq!(fixture.seen.rings() - rings, 1);
}

#[test]
fn dword_0_alone_comes_with_a_usual_completion() {
    let mut fixture = fixture();
    fixture.submit(0..1);
    fixture.forge(0, 1, fixture.cid(0), 0);
    let mut seen = None;
    let sink = |tag, memory: &mut Option<_>, dw0| {
        seen = Some((tag, memory.take().is_some(), dw0));
        true
    };
    assert_eq!(fixture.pair().reap_usual(sink), (1, true));
    assert_eq!(seen, Some((0, true, 7)));
}

#[test]
fn a_completion_with_an_error_stays_and_is_handed_out_as_of_the_same_poll() {
    let mut fixture = fixture();
    fixture.submit(0..3);
    for (index, status) in [0, FAILED, 0].into_iter().enumerate() {
        fixture.forge(index, 1, fixture.cid(index), status);
    }
    assert_eq!(fixture.usual(8), (vec![0], false));
    assert_eq!((fixture.outstanding(), fixture.polls()), (2, (1, 0)));
    assert_eq!(fixture.rest(1), (Ok(1), vec![(1, FAILED, 1)]));
    assert_eq!((fixture.outstanding(), fixture.polls()), (1, (1, 0)));
    assert_eq!(fixture.usual(8), (vec![2], true));
    assert_eq!((fixture.outstanding(), fixture.polls()), (0, (2, 0)));
}

#[test]
fn a_list_and_the_parts_of_a_buffer_come_back_whole() {
    let mut fixture = fixture();
    let list = |fixture: &Fixture| {
        let mut buffers = fixture.controller.allocate_buffers(1, 1024).unwrap();
        let mut first = buffers.remove(0);
        let mut list = BufferList::new();
        list.push(first.split_off(512));
        list.push(first);
        list
    };
    for _ in 0..2 {
        let list = list(&fixture);
        let queue = &mut fixture.group.queues()[0];
        let submitted = queue.readv(&fixture.namespace, 0, 2, list, 5);
        assert!(submitted.is_ok());
        queue.ring();
    }
    fixture.stepper.step(Nanos::ZERO);
    // One is taken with all its buffers, the other is refused.
    let mut parts = Vec::new();
    let taken = fixture.pair().reap_usual(|_, memory, _| {
        let wanted = parts.is_empty();
        if wanted {
            parts.extend(BufferList::from_chain(memory.take()));
        }
        wanted
    });
    assert_eq!((taken, parts.len()), ((1, false), 2));
    let mut second = parts.remove(0);
    let mut first = parts.remove(0);
    assert!(second.iova() == first.iova().offset(512));
    assert_eq!((first.len_in_page(), second.len_in_page()), (512, 512));
    assert!(second.join(first).is_err());
    assert_eq!(fixture.rest(8), (Ok(1), vec![(5, 0, 2)]));
    assert_eq!((fixture.outstanding(), fixture.polls()), (0, (1, 0)));
    // Each half of a buffer is transferred by itself.
    first = fixture
        .controller
        .allocate_buffers(1, 1024)
        .unwrap()
        .remove(0);
    second = first.split_off(512);
    let namespace = fixture.namespace;
    let queue = &mut fixture.group.queues()[0];
    queue.serve(&namespace).unwrap();
    let page = joulio_nvme::Transfer::READ;
    let first = queue.transfer_page(page, (0, 2), first, 0).unwrap_err();
    queue.transfer_page(page, (0, 1), first, 0).unwrap();
    queue.transfer_page(page, (1, 1), second, 1).unwrap();
    queue.ring();
    fixture.stepper.step(Nanos::ZERO);
    let (mut tags, all) = fixture.usual(8);
    tags.sort_unstable();
    assert!(all && tags == [0, 1]);
}

#[test]
fn a_completion_of_no_command_stays_and_is_counted_once() {
    let mut fixture = fixture();
    fixture.submit(0..1);
    let old = fixture.cid(0);
    fixture.stepper.step(Nanos::ZERO);
    assert_eq!(fixture.usual(8), (vec![0], true));
    fixture.submit(1..2);
    let forged = [(1, old), (1, 0x0fff), (1, 0xffff), (2, fixture.cid(1))];
    for (at, (sqid, cid)) in forged.into_iter().enumerate() {
        fixture.forge(1 + at, sqid, cid, 0);
        assert_eq!(fixture.usual(8), (vec![], false));
        let faults = fixture.group.queues()[0].faults();
        assert_eq!((faults.stale + faults.unknown) as usize, at);
        let (reaped, rest) = fixture.rest(8);
        assert!(reaped.is_err() && rest.is_empty());
        assert_eq!(fixture.polls(), (2 + at as u64, 0));
    }
    let faults = fixture.group.queues()[0].faults();
    assert_eq!((faults.stale, faults.unknown, faults.doubled), (1, 3, 0));
    assert_eq!(fixture.outstanding(), 1);
}

#[test]
fn where_times_are_taken_nothing_is_as_usual() {
    let mut fixture = fixture();
    let policy = AnyPolicy::Hybrid(Hybrid::automatic());
    fixture.group.queues()[0].set_policy(policy).unwrap();
    fixture.submit(0..2);
    fixture.stepper.step(Nanos::ZERO);
    assert_eq!(fixture.usual(8), (vec![], false));
    let (reaped, rest) = fixture.rest(8);
    assert_eq!((reaped, rest.len(), fixture.polls()), (Ok(2), 2, (1, 0)));
}

#[test]
fn the_tags_of_what_is_outstanding_are_known() {
    let mut fixture = fixture();
    fixture.submit(3..6);
    let tags = |fixture: &mut Fixture| -> Vec<u64> { fixture.group.queues()[0].tags().collect() };
    assert_eq!(tags(&mut fixture), [3, 4, 5]);
    fixture.stepper.step(Nanos::ZERO);
    let (taken, _) = fixture.usual(2);
    let left = tags(&mut fixture);
    assert!(left.len() == 1 && !taken.contains(&left[0]));
}
