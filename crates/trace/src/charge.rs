//! Energy of waits, charged to I/Os.

use crate::{Timeline, WaitKind};
use joulio_units::{Joules, Nanos};

impl Timeline {
    /// Charges the joules of the waits to the planned I/Os in flight, in equal shares; `energy` returns the joules
    /// of a wait of the given kind and length.
    pub fn charge(&mut self, energy: impl Fn(WaitKind, Nanos) -> Joules) {
        let mut realised = vec![Joules(0.0); self.ios.len()];
        for (index, core) in self.cores.iter().enumerate() {
            let mut ios = self.ios.iter().enumerate().filter_map(|(place, io)| {
                let (submitted, completed) = io.whole()?;
                (io.core == index).then_some((place, submitted.at, completed.at))
            });
            let mut next = ios.next();
            let mut out: Vec<(usize, Nanos)> = Vec::new();
            for wait in &core.waits {
                let Some((begin, end)) = wait.span() else {
                    continue;
                };
                // At equal times a wait counts as later than a submission or a completion.
                while let Some((place, _, completed)) = next.filter(|next| next.1 <= begin) {
                    out.push((place, completed));
                    next = ios.next();
                }
                out.retain(|(_, completed)| *completed > begin);
                let joules = energy(wait.kind, end - begin).0 / out.len().max(1) as f64;
                for (place, _) in &out {
                    realised[*place].0 += joules;
                }
            }
        }
        for (io, realised) in self.ios.iter_mut().zip(realised) {
            if let Some(plan) = &mut io.plan {
                plan.realised = Some(realised);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, EventKind, Recorded, Thread, Timeline, WaitKind};
    use joulio_units::{Direction, Joules, Nanos};

    fn submit(cid: u16) -> EventKind {
        EventKind::Submit {
            direction: Direction::Read,
            cid,
            bytes: 4096,
        }
    }

    fn plan(cid: u16) -> EventKind {
        EventKind::Plan {
            rest: Some(WaitKind::Sleep),
            cid,
            rest_ns: 6_000,
            watch_ns: 12_000,
        }
    }

    fn complete(cid: u16) -> EventKind {
        EventKind::Complete { cid, status: 0 }
    }

    #[test]
    fn a_wait_is_shared_by_those_that_are_out() {
        let expected = EventKind::Expected {
            cid: 1,
            nanojoules: 700,
            delay_ns: 90,
        };
        let events = [
            (0, submit(1)),
            (10, EventKind::SleepBegin),
            (110, EventKind::SleepEnd),
            (110, submit(2)),
            (120, EventKind::SpinBegin),
            (140, EventKind::SpinEnd { polls: 3 }),
            (140, plan(1)),
            (140, expected),
            (140, complete(1)),
            (150, EventKind::SpinBegin),
            (160, EventKind::SpinEnd { polls: 1 }),
            (160, complete(2)),
        ];
        let events = events.map(|(at, kind)| Event {
            at: Nanos(at),
            queue: 1,
            kind,
        });
        let recorded = Recorded {
            events: events.to_vec(),
            overwritten: 0,
        };
        let thread = Thread {
            name: "job".into(),
            recorded: vec![recorded],
        };
        let mut timeline = Timeline::new(&[thread]);
        let before = timeline.ios[0].plan.expect("a plan");
        assert_eq!(before.rest, Some((WaitKind::Sleep, Nanos(6_000))));
        assert_eq!(before.watch_until, Nanos(12_000));
        assert!((before.expected.expect("joules").0 - 700e-9).abs() < 1e-15);
        assert_eq!((before.expected_delay, before.realised), (Nanos(90), None));
        timeline.charge(|kind, time| match kind {
            WaitKind::Sleep => Joules(time.0 as f64),
            _ => Joules(4.0 * time.0 as f64),
        });
        // A sleep of 100, and half of a spin of 20 at four times the power.
        let realised = |io: usize| timeline.ios[io].plan.map(|plan| plan.realised);
        assert_eq!(realised(0), Some(Some(Joules(140.0))));
        // The second has no plan, and its share is the other half.
        assert_eq!(realised(1), None);
    }
}
