//! Events of a queue for its trace. Off, it costs the branches that a policy without times costs.

use super::{CompletionFault, QueuePair};
use joulio_device::Device;
use joulio_nvme_spec::{CommandId, Status};
use joulio_trace::{Event, EventKind, FaultKind, Recorded};
use joulio_units::{Direction, Nanos};
use joulio_wait::{Policy, now};

impl<D: Device> QueuePair<D> {
    /// Starts a recording of the last `capacity` events.
    pub(crate) fn start_trace(&mut self, capacity: usize) {
        self.trace.start(capacity);
        self.take_times();
    }

    /// Ends the recording and returns what was recorded.
    pub(crate) fn take_trace(&mut self) -> Recorded {
        let recorded = self.trace.take();
        self.take_times();
        recorded
    }

    /// Reports whether events are recorded.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_on()
    }

    /// Finds out again who wants to know of times.
    pub(super) fn take_times(&mut self) {
        self.timed = self.policy.timed() || self.trace.is_on();
        self.extras = self.timed || self.retries.wanted();
    }

    /// Records what happens now.
    #[cold]
    pub(crate) fn trace_now(&mut self, kind: EventKind) {
        let queue = self.id.0;
        self.trace.record(|| Event {
            at: now(),
            queue,
            kind,
        });
    }

    pub(super) fn trace_submit(
        &mut self,
        at: Nanos,
        cid: CommandId,
        direction: Direction,
        bytes: u32,
    ) {
        let queue = self.id.0;
        self.trace.record(|| Event {
            at,
            queue,
            kind: EventKind::Submit {
                direction,
                cid: cid.0,
                bytes,
            },
        });
    }

    pub(super) fn trace_complete(&mut self, at: Nanos, cid: CommandId, status: Status) {
        let queue = self.id.0;
        self.trace.record(|| Event {
            at,
            queue,
            kind: EventKind::Complete {
                cid: cid.0,
                status: status.field(),
            },
        });
    }

    pub(super) fn trace_fault(&mut self, fault: CompletionFault) {
        let (fault, cid) = match fault {
            CompletionFault::Stale(cid) => (FaultKind::Stale, cid),
            CompletionFault::Doubled(cid) => (FaultKind::Doubled, cid),
            CompletionFault::Unknown(cid) => (FaultKind::Unknown, cid),
        };
        self.trace_now(EventKind::Fault { fault, cid: cid.0 });
    }
}
