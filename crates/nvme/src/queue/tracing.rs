//! Events of a queue for its trace. A trace that is off costs the same branches as a policy without times.

use super::{CompletionFault, QueuePair};
use joulio_device::Device;
use joulio_nvme_spec::{CommandId, Status};
use joulio_trace::{Event, EventKind, Recorded, WaitKind};
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Policy, StepKind, now};

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

    /// Determines again whether the policy or the trace needs times.
    pub(super) fn take_times(&mut self) {
        self.timed = self.policy.timed() || self.trace.is_on();
        self.extras = self.timed || self.retries.wanted();
        self.find_usual();
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

    /// Rings the doorbell and records the number of commands.
    #[cold]
    pub(super) fn ring_traced(&mut self) {
        let commands = self.submission.pending();
        self.submission.ring();
        if commands > 0 {
            self.trace_now(EventKind::Doorbell { commands });
        }
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

    /// Records the plan by which the policy has waited for command `cid`.
    pub(super) fn trace_plan(&mut self, at: Nanos, cid: CommandId, class: Class) {
        if !self.trace.is_on() {
            return;
        }
        let Some(planned) = self.policy.planned(class) else {
            return;
        };
        let (queue, cid) = (self.id.0, cid.0);
        let ns = |time: Nanos| time.0.min(u32::MAX.into()) as u32;
        let rest = planned.rest.map(|(kind, until)| match kind {
            StepKind::Pause => (WaitKind::Pause, until),
            _ => (WaitKind::Sleep, until),
        });
        self.trace.record(|| Event {
            at,
            queue,
            kind: EventKind::Plan {
                rest: rest.map(|(kind, _)| kind),
                cid,
                rest_ns: rest.map_or(0, |(_, until)| ns(until)),
                watch_ns: ns(planned.watch_until),
            },
        });
        let user_level = |kind| match kind {
            StepKind::Monitor => WaitKind::Monitor,
            _ => WaitKind::Pause,
        };
        if planned.watch != StepKind::Spin && planned.watch_until > Nanos::ZERO {
            self.trace.record(|| Event {
                at,
                queue,
                kind: EventKind::Watch {
                    wait: user_level(planned.watch),
                    cid,
                },
            });
        }
        if let Some((kind, until)) = planned.loose {
            let wait = match kind {
                StepKind::Block => WaitKind::Block,
                kind => user_level(kind),
            };
            self.trace.record(|| Event {
                at,
                queue,
                kind: EventKind::Loose {
                    wait,
                    cid,
                    loose_ns: ns(until),
                },
            });
        }
        if let Some(expected) = planned.expected {
            self.trace.record(|| Event {
                at,
                queue,
                kind: EventKind::Expected {
                    cid,
                    nanojoules: (expected.energy.0 * 1e9) as u32,
                    delay_ns: ns(expected.delay),
                },
            });
        }
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
        self.trace_now(EventKind::Fault {
            fault: fault.kind,
            cid: fault.cid.0,
        });
    }
}
