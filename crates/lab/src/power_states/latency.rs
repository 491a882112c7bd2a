//! Entry and exit latencies of power states, from the times of reads.

use joulio_units::Nanos;

/// A drive whose power state can be set and which can be read, one block at a time.
pub trait StatefulDrive {
    /// Reason why the measurement cannot go on.
    type Error;

    /// Returns the time of the clock used for measuring.
    fn now(&self) -> Nanos;

    /// Sets power state `ps`; returns when the command has completed.
    ///
    /// # Errors
    /// The command fails.
    fn set(&mut self, ps: u8) -> Result<(), Self::Error>;

    /// Reads a block; returns when its data has arrived.
    ///
    /// # Errors
    /// The read fails.
    fn read(&mut self) -> Result<(), Self::Error>;

    /// Sends no command for `time`.
    ///
    /// # Errors
    /// The measurement was stopped.
    fn rest(&mut self, time: Nanos) -> Result<(), Self::Error>;
}

/// A power state to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateToMeasure {
    /// Number of the state.
    pub ps: u8,
    /// True if the state is operational. From a non-operational state, an I/O makes the drive leave it by itself.
    pub operational: bool,
    /// Time without commands after which the drive has certainly entered the state.
    pub settle: Nanos,
}

/// Lower and upper bound of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Lower bound.
    pub low: Nanos,
    /// Upper bound.
    pub high: Nanos,
}

/// Latencies of a power state, from the shortest times of several rounds: disturbances can only make a time longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLatency {
    /// Time to enter the state from power state 0; `None`: it is power state 0.
    pub entry: Option<Bounds>,
    /// Time to leave the state for power state 0; `None`: it is power state 0.
    pub exit: Option<Bounds>,
    /// Latency of the first read after a rest in the state; includes the exit if the state is non-operational.
    pub first_read: Nanos,
    /// Time from setting the state, in power state 0, to the end of a read sent at once.
    pub set_and_read: Nanos,
}

/// Results of [`measure_latencies`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredLatencies {
    /// Latencies of each state.
    pub states: Vec<StateLatency>,
    /// Difference between the two shortest times of equal reads, in the state where it is largest: smaller differences
    /// are noise.
    pub noise: Nanos,
}

/// Shortest times of the sequences of one power state.
#[derive(Clone, Copy, Debug)]
struct ShortestTimes {
    /// Read after a rest in the state.
    first_read: Nanos,
    /// Time from setting the state, in power state 0, to the end of a read sent at once.
    entered: Nanos,
    /// Time from setting power state 0, after a rest in the state, to the end of a read sent at once.
    left: Nanos,
}

impl Default for ShortestTimes {
    fn default() -> ShortestTimes {
        ShortestTimes {
            first_read: Nanos::MAX,
            entered: Nanos::MAX,
            left: Nanos::MAX,
        }
    }
}

/// Measures `states`, of which the first is power state 0, in `rounds` rounds. Afterwards the drive is in power state
/// 0.
///
/// A read that arrives while a state is being entered waits until it has been entered, and if the state is
/// non-operational also for its exit. A controller may also complete Set Features only once the state has been entered.
/// In either case, the time from Set Features to the end of a read sent at once includes the whole entry. Set Features
/// itself takes some time, which is measured by setting power state 0 in power state 0; how much of it overlaps the
/// entry is not known, so the results are bounds.
///
/// # Errors
/// The drive fails, or the measurement was stopped.
pub fn measure_latencies<D: StatefulDrive>(
    drive: &mut D,
    states: &[StateToMeasure],
    rounds: u32,
) -> Result<MeasuredLatencies, D::Error> {
    let mut reads = vec![Vec::new(); states.len()];
    let mut least = vec![ShortestTimes::default(); states.len()];
    let awake = states.first().map_or(Nanos::ZERO, |state| state.settle);
    for _ in 0..rounds {
        for ((state, least), reads) in states.iter().zip(&mut least).zip(&mut reads) {
            drive.set(0)?;
            drive.rest(awake)?;
            let time = set_and_read(drive, state.ps)?;
            least.entered = least.entered.min(time);

            drive.set(state.ps)?;
            drive.rest(state.settle)?;
            let begun = drive.now();
            drive.read()?;
            let time = drive.now() - begun;
            least.first_read = least.first_read.min(time);
            reads.push(time);

            drive.set(state.ps)?;
            drive.rest(state.settle)?;
            let time = set_and_read(drive, 0)?;
            least.left = least.left.min(time);
        }
    }
    drive.set(0)?;
    let zero = least.first().copied().unwrap_or_default();
    let command = zero.entered.since(zero.first_read);
    let with_command = |time: Nanos| Bounds {
        low: time.since(command),
        high: time,
    };
    let latencies = states.iter().zip(&least).map(|(state, least)| {
        let woken = least.first_read.since(zero.first_read);
        let exit = match state.operational {
            true => with_command(least.left.since(zero.first_read)),
            false => Bounds {
                low: woken,
                high: woken,
            },
        };
        let entry = with_command(least.entered.since(least.first_read));
        let other = state.ps > 0;
        StateLatency {
            entry: other.then_some(entry),
            exit: other.then_some(exit),
            first_read: least.first_read,
            set_and_read: least.entered,
        }
    });
    let noise = reads.iter_mut().map(|reads| {
        reads.sort_unstable();
        match reads.as_slice() {
            [least, second, ..] => second.since(*least),
            _ => Nanos::ZERO,
        }
    });
    Ok(MeasuredLatencies {
        noise: noise.max().unwrap_or_default(),
        states: latencies.collect(),
    })
}

/// Returns the time from setting `ps` to the end of a read sent at once.
fn set_and_read<D: StatefulDrive>(drive: &mut D, ps: u8) -> Result<Nanos, D::Error> {
    let begun = drive.now();
    drive.set(ps)?;
    drive.read()?;
    Ok(drive.now() - begun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_model::{DeviceProfile, PowerStates};
    use joulio_units::Direction;
    use std::convert::Infallible;

    const SET: Nanos = Nanos::from_micros(30);
    const READ: Nanos = Nanos::from_micros(70);

    /// A drive in virtual time with the power states of a profile.
    struct ModelledDrive {
        states: PowerStates,
        now: Nanos,
        /// True if Set Features completes only when the state has been entered.
        late: bool,
        /// Additional nanoseconds of each step, in turn.
        noise: [u64; 3],
        steps: usize,
    }

    impl ModelledDrive {
        fn new(profile: &DeviceProfile, late: bool, noise: [u64; 3]) -> ModelledDrive {
            ModelledDrive {
                states: PowerStates::new(profile, Nanos::ZERO),
                now: Nanos::ZERO,
                late,
                noise,
                steps: 0,
            }
        }

        fn pass(&mut self, time: Nanos) {
            let noise = self.noise[self.steps % self.noise.len()];
            self.steps += 1;
            self.now += time + Nanos(noise);
        }
    }

    impl StatefulDrive for ModelledDrive {
        type Error = Infallible;

        fn now(&self) -> Nanos {
            self.now
        }

        fn set(&mut self, ps: u8) -> Result<(), Infallible> {
            assert!(self.states.set(ps, self.now));
            if self.late {
                // The time at which an I/O sent now would start, without sending one.
                let mut then = self.states.clone();
                let woken = then.submitted(self.now);
                self.now = if then.current(woken) == ps {
                    woken
                } else {
                    self.now
                };
            }
            self.pass(SET);
            Ok(())
        }

        fn read(&mut self) -> Result<(), Infallible> {
            self.now = self.states.submitted(self.now);
            let stretch = self.states.stretch(Direction::Read);
            self.pass(Nanos((READ.0 as f64 * stretch) as u64));
            self.states.idle_since(self.now);
            Ok(())
        }

        fn rest(&mut self, time: Nanos) -> Result<(), Infallible> {
            self.now += time;
            Ok(())
        }
    }

    fn measured(name: &str, late: bool, noise: [u64; 3]) -> Vec<(StateLatency, [Nanos; 2])> {
        let profile = DeviceProfile::builtin(name).expect("a profile");
        let told: Vec<_> = profile.power.states.iter().collect();
        let states = (0..).zip(&told).map(|(ps, state)| StateToMeasure {
            ps,
            operational: state.operational,
            settle: Nanos::from_millis(1_000),
        });
        let states: Vec<_> = states.collect();
        let mut drive = ModelledDrive::new(&profile, late, noise);
        let found = measure_latencies(&mut drive, &states, 9);
        let Ok(found) = found;
        assert_eq!(drive.states.current(drive.now), 0);
        let told = told.iter().map(|state| {
            [&state.entry_latency_us, &state.exit_latency_us]
                .map(|figure| Nanos::from_micros(figure.count()))
        });
        assert!(found.noise.0 <= noise.iter().sum::<u64>());
        found.states.into_iter().zip(told).collect()
    }

    #[test]
    fn what_is_measured_is_what_the_drive_was_told() {
        for name in ["samsung-960-evo", "samsung-970-evo-plus", "samsung-980-pro"] {
            for late in [false, true] {
                let all = measured(name, late, [0; 3]);
                assert!(all.len() > 2 && all.iter().any(|(_, told)| told[1] > Nanos::ZERO));
                // A transition between two states takes the exit of one and the entry of the other.
                let [into_zero, from_zero] = all[0].1;
                for (found, [entry, exit]) in &all[1..] {
                    let (entry, exit) = (*entry + from_zero, *exit + into_zero);
                    let holds = |bounds: Option<Bounds>, time: Nanos| {
                        let Bounds { low, high } = bounds.expect("not power state 0");
                        low <= time && time <= high && high - low <= SET
                    };
                    assert!(holds(found.entry, entry), "{name}: {found:?}, {entry:?}");
                    assert!(holds(found.exit, exit), "{name}: {found:?}, {exit:?}");
                    let woken = found.exit.filter(|exit| exit.low == exit.high);
                    assert!(woken.is_none_or(|woken| woken.low == exit));
                }
            }
        }
    }

    #[test]
    fn noise_adds_no_more_than_there_is_of_it() {
        let quiet = measured("samsung-960-evo", false, [0; 3]);
        let noisy = measured("samsung-960-evo", false, [0, 40_000, 5_000]);
        for ((quiet, _), (noisy, _)) in quiet.iter().zip(&noisy) {
            assert!(noisy.first_read >= quiet.first_read);
            assert!(noisy.set_and_read >= quiet.set_and_read);
            let exits = quiet.exit.zip(noisy.exit);
            let off = exits.map_or(0, |(quiet, noisy)| quiet.high.0.abs_diff(noisy.high.0));
            assert!(off <= 45_000, "{quiet:?} {noisy:?}");
        }
    }
}
