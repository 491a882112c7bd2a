//! Recording of events: a ring for each queue, and a trace that is on or off.

use crate::Event;

/// Ring of events. Recording allocates nothing, takes no lock and never fails: when the ring is full, the oldest
/// event is dropped and counted.
#[derive(Clone, Debug)]
pub struct Recorder {
    ring: Box<[Event]>,
    /// Index of the next event.
    next: usize,
    /// Events recorded since the last [`Recorder::take`].
    recorded: u64,
}

/// Contents of a recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Events in the order of recording.
    pub events: Vec<Event>,
    /// Number of older events that were overwritten.
    pub overwritten: u64,
}

impl Recorder {
    /// Creates a recorder of the last `capacity` events, at least one. All its memory is touched here, so that
    /// recording causes no page fault.
    pub fn new(capacity: usize) -> Recorder {
        Recorder {
            ring: vec![Event::NONE; capacity.max(1)].into(),
            next: 0,
            recorded: 0,
        }
    }

    /// Records `event`.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.ring[self.next] = event;
        self.next += 1;
        if self.next == self.ring.len() {
            self.next = 0;
        }
        self.recorded += 1;
    }

    /// Returns the number of events that were overwritten.
    pub fn overwritten(&self) -> u64 {
        self.recorded.saturating_sub(self.ring.len() as u64)
    }

    /// Returns all events, and empties the recorder.
    pub fn take(&mut self) -> Recorded {
        let overwritten = self.overwritten();
        let (newer, older) = self.ring.split_at(self.next);
        let events = if self.recorded < self.ring.len() as u64 {
            newer.to_vec()
        } else {
            [older, newer].concat()
        };
        self.next = 0;
        self.recorded = 0;
        Recorded {
            events,
            overwritten,
        }
    }
}

/// A recorder that is on or off. While it is off, [`Trace::record`] costs one branch, and no event is created.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Box<Recorder>>);

impl Trace {
    /// A trace that is off.
    pub const OFF: Trace = Trace(None);

    /// Starts a new recording of the last `capacity` events; an earlier recording is dropped.
    pub fn start(&mut self, capacity: usize) {
        self.0 = Some(Box::new(Recorder::new(capacity)));
    }

    /// Returns true if events are recorded, for callers that have to prepare them.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records the event that `make` returns, which is called only if the trace is on.
    ///
    /// On the path of an I/O, pass a `move` closure: borrowed values must be in memory even if the trace is off,
    /// which costs more than the branch.
    #[inline]
    pub fn record(&mut self, make: impl FnOnce() -> Event) {
        if let Some(recorder) = &mut self.0 {
            note(recorder, make);
        }
    }

    /// Stops recording and returns the events; none if the trace was off.
    pub fn take(&mut self) -> Recorded {
        let recorder = self.0.take();
        recorder.map_or_else(Recorded::default, |mut recorder| recorder.take())
    }
}

/// Not inlined, so that an untraced I/O has the branch and not the code behind it.
#[cold]
#[inline(never)]
fn note(recorder: &mut Recorder, make: impl FnOnce() -> Event) {
    recorder.push(make());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;
    use joulio_units::Nanos;
    use proptest::prelude::*;

    fn event(n: u64) -> Event {
        Event {
            at: Nanos(n),
            queue: 1,
            kind: EventKind::Doorbell { commands: 1 },
        }
    }

    #[test]
    fn a_trace_that_is_off_does_not_make_the_event() {
        let mut trace = Trace::OFF;
        trace.record(|| panic!("made"));
        assert!(!trace.is_on());
        assert_eq!(trace.take(), Recorded::default());
    }

    #[test]
    fn taking_a_trace_turns_it_off() {
        let mut trace = Trace::OFF;
        trace.start(2);
        trace.record(|| event(1));
        assert_eq!(trace.take().events, [event(1)]);
        assert!(!trace.is_on());
    }

    #[test]
    fn a_recorder_has_room_for_one_at_least() {
        let mut recorder = Recorder::new(0);
        recorder.push(event(1));
        recorder.push(event(2));
        let taken = recorder.take();
        assert_eq!((taken.events, taken.overwritten), (vec![event(2)], 1));
    }

    proptest! {
        #[test]
        fn the_last_events_are_kept_in_order_and_the_others_counted(
            capacity in 1usize..40,
            rounds in proptest::collection::vec(0u64..100, 1..4),
        ) {
            let mut recorder = Recorder::new(capacity);
            for count in rounds {
                (0..count).for_each(|n| recorder.push(event(n)));
                let first = count.saturating_sub(capacity as u64);
                prop_assert_eq!(recorder.overwritten(), first);
                let taken = recorder.take();
                prop_assert_eq!(taken.overwritten, first);
                prop_assert_eq!(taken.events, (first..count).map(event).collect::<Vec<_>>());
            }
        }
    }
}
