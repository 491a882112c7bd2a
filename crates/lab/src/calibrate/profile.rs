//! Profile of a machine from its measured costs.

use super::error::CalibrateError;
use super::measure::{StepTimes, WAITS};
use super::spread::Spread;
use crate::profile_text::profile_text;
use joulio_model::machine::CoreWatts;
use joulio_model::machine::costs::{Costs, IdleCosts, IdleState, PathCosts};
use joulio_model::{Figure, FigureKind, MachineProfile};
use joulio_wait::{StepKind, StepSet};
use std::collections::BTreeMap;

/// Returns `base` with the times of this machine in place of its own, without the figures of steps that are not in
/// `can`.
pub fn calibrated(
    base: &MachineProfile,
    processor: &str,
    times: &StepTimes,
    can: StepSet,
) -> MachineProfile {
    MachineProfile {
        name: "calibrated".into(),
        description: format!(
            "{processor}: times measured here by joulio calibrate; watts of {}, which are not",
            base.name
        ),
        processors: Vec::new(),
        // The base's figures are kept only if it describes this processor: these are not measured.
        frequency: base.frequency.clone().filter(|_| base.fits(processor)),
        tdp_watts: base.tdp_watts.clone().filter(|_| base.fits(processor)),
        costs: Some(costs(base, times, can)),
        core_watts: core_watts(&base.core_watts, can),
        // The PCIe link of this machine's slots was not measured.
        link: base.link.clone().filter(|_| base.fits(processor)),
        ..base.clone()
    }
}

/// Returns true if the CPU has user-level waits.
fn waits(can: StepSet) -> bool {
    can.has(StepKind::Pause) || can.has(StepKind::Monitor)
}

fn core_watts(base: &CoreWatts, can: StepSet) -> CoreWatts {
    let kept = |figure: &Option<Figure>| figure.clone().filter(|_| waits(can));
    CoreWatts {
        pause_c01: kept(&base.pause_c01),
        pause_c02: kept(&base.pause_c02),
        monitor: kept(&base.monitor),
        ..base.clone()
    }
}

fn costs(base: &MachineProfile, times: &StepTimes, can: StepSet) -> Costs {
    let old = base.costs.as_ref();
    let kept = |of: fn(&Costs) -> &Figure, value: f64, source: &str| match old {
        Some(old) => of(old).clone(),
        None => guess(value, source),
    };
    let shares = &times.shares;
    // Only the total time from the interrupt to the thread can be measured, so it is split in halves.
    let woken = rising(times.woken)[0];
    let half_wake = f64::max((woken - times.block.median / 2.0) / 2.0, 0.0);
    let others = times.crossing.median + times.switch.median + half_wake;
    let timer = f64::max(times.sleep - others, 0.0);
    Costs {
        app_ns: single(
            times.app,
            "the run loop between two reads of a device that takes no time",
        ),
        crossing_ns: measured(times.crossing, "getppid(2)"),
        poll_ns: measured(
            shares.poll.map(|time| time.max(1.0)),
            "empty polls of a queue pair in a spin with a deadline",
        ),
        kib_ns: guess(0.0, "stands in submit_ns, measured with 4 KiB"),
        switch_ns: measured(
            times.switch,
            "a ping-pong of two threads on one CPU by eventfds, less its system calls",
        ),
        interrupt_ns: single(
            half_wake,
            "half of what a read of 4 us takes longer by interrupts than by polling, less half of block_ns",
        ),
        wake_ns: single(half_wake, "the other half"),
        timer_ns: single(
            timer,
            "the shortest sleep of a queue of the driver, less crossing_ns, switch_ns and wake_ns",
        ),
        timer_slack_ns: guess(0.0, "jobs set theirs to 1 ns"),
        cold_ns: guess(0.0, "stands in wake_ns, measured with it"),
        cold_max_ns: None,
        cold_half_ns: None,
        cold_slowdown: old.and_then(|old| old.cold_slowdown.clone()),
        charged_share: None,
        file_system_ns: old.and_then(|old| old.file_system_ns.clone()),
        user_interrupt_ns: old
            .and_then(|old| old.user_interrupt_ns.clone())
            .filter(|_| can.has(StepKind::UserInterrupt)),
        pause_exit_ns: old
            .and_then(|old| old.pause_exit_ns.clone())
            .filter(|_| waits(can)),
        uring: old.and_then(|old| old.uring.clone()),
        sqpoll: old.and_then(|old| old.sqpoll.clone()),
        scheduler: old.map_or_else(BTreeMap::new, |old| old.scheduler.clone()),
        slice_ns: match times.scheduler.slice {
            Some(slice) => single(slice.0 as f64, "se.slice of /proc/self/sched"),
            None => kept(
                |costs| &costs.slice_ns,
                3e6,
                "kernel/sched/fair.c; not measured",
            ),
        },
        tick_ns: Some(single(
            times.scheduler.tick.0 as f64,
            "clock_getres(2) of CLOCK_MONOTONIC_COARSE",
        )),
        smt_slowdown: kept(
            |costs| &costs.smt_slowdown,
            1.4,
            "two threads on a core do 1.2 to 1.6 times the work of one; not measured",
        ),
        smt_spin_slowdown: old.and_then(|old| old.smt_spin_slowdown.clone()),
        smt_watts_share: old.and_then(|old| old.smt_watts_share.clone()),
        threads_per_core: kept(|costs| &costs.threads_per_core, 1.0, "not measured"),
        kernel: match old {
            Some(old) => old.kernel.clone(),
            None => kernel(),
        },
        user: PathCosts {
            submit_ns: measured(
                shares.submit,
                "from the call to the doorbell of an emulated device",
            ),
            complete_ns: measured(
                shares.complete,
                "a poll that finds a completion, up to the buffer handed back",
            ),
            block_ns: measured(
                times.block,
                "poll(2) and read(2) of an eventfd that is raised",
            ),
            exit_ns: None,
        },
        idle: idle(times),
    }
}

/// Returns the costs of the kernel's own I/O path, none of which is measured here.
fn kernel() -> PathCosts {
    let source = "as xeon-e3-1230v5; not measured";
    PathCosts {
        submit_ns: guess(642.0, source),
        complete_ns: guess(49.0, source),
        block_ns: guess(0.0, source),
        exit_ns: None,
    }
}

/// Returns an idle state for each measured wait after which waking takes longer than after the shorter ones. The kernel
/// is taken to choose it from the geometric mean of that wait and the one before.
fn idle(times: &StepTimes) -> Vec<IdleCosts> {
    let mut states = vec![IdleCosts {
        state: IdleState::C1,
        enter_ns: None,
        exit_ns: guess(0.0, "stands in wake_ns, measured with it"),
        residency_ns: guess(0.0, "nothing shallower to choose"),
        chosen_ns: None,
    }];
    let [first, later @ ..] = rising(times.woken);
    // Time from the call until the core is idle.
    let before = times.block.median / 2.0 + times.switch.median;
    let (mut latest, mut latest_chosen) = (0.0, 0.0);
    for (waits, woken) in WAITS.windows(2).zip(later) {
        let exit = (woken - first).round();
        if exit <= latest {
            continue;
        }
        latest = exit;
        let [from, to] = [waits[0], waits[1]].map(|us| us as f64 * 1e3);
        let chosen = f64::max((from * to).sqrt() - before, latest_chosen + 1.0);
        latest_chosen = chosen;
        let source = format!(
            "as short as a wait of {} us and one of {} us have it",
            waits[0], waits[1]
        );
        states.push(IdleCosts {
            state: match waits[1] {
                0..100 => IdleState::C1,
                100..1_000 => IdleState::C1e,
                _ => IdleState::C6,
            },
            enter_ns: None,
            exit_ns: single(
                exit,
                "what a read takes longer by interrupts after so long than after 4 us",
            ),
            residency_ns: guess(chosen.max(exit), &source),
            chosen_ns: Some(guess(chosen, &source)),
        });
    }
    states
}

/// Lowers each time to that of any longer wait: a wake-up takes no longer than after a longer wait, and other programs
/// can only make it longer.
fn rising<const N: usize>(mut woken: [f64; N]) -> [f64; N] {
    for i in (1..N).rev() {
        woken[i - 1] = woken[i - 1].min(woken[i]);
    }
    woken
}

fn measured(spread: Spread, source: &str) -> Figure {
    let round = |time: f64| time.round();
    Figure {
        value: round(spread.median),
        kind: FigureKind::Measured,
        source: source.into(),
        band: Some([round(spread.low), round(spread.high)]),
    }
}

fn single(time: f64, source: &str) -> Figure {
    Figure {
        value: time.round(),
        kind: FigureKind::Measured,
        source: source.into(),
        band: None,
    }
}

fn guess(value: f64, source: &str) -> Figure {
    Figure {
        value,
        kind: FigureKind::Guess,
        source: source.into(),
        band: None,
    }
}

/// Formats the profile as the text of a file, one figure a line.
pub fn text(profile: &MachineProfile, watts: bool) -> Result<String, CalibrateError> {
    let head = match watts {
        true => {
            "By joulio calibrate --watts. What it does not call measured is not of this machine."
        }
        false => "By joulio calibrate. Watts and what it calls a guess are not of this machine.",
    };
    Ok(profile_text(profile, head)?)
}

#[cfg(test)]
mod tests {
    use super::super::driver::Shares;
    use super::super::scheduler::CpuSchedulerTimes;
    use super::*;
    use joulio_units::Nanos;

    /// Steps that every machine has.
    const BASIC: StepSet = StepSet::NONE
        .with(StepKind::Spin)
        .with(StepKind::Sleep)
        .with(StepKind::Block);

    fn times() -> StepTimes {
        let spread = |median: f64| Spread {
            median,
            low: median / 2.0,
            high: median * 2.0,
        };
        StepTimes {
            crossing: spread(100.0),
            block: spread(800.0),
            switch: spread(900.0),
            woken: [5e3, 9e3, 6e3, 6e3, 25e3, 90e3, 80e3, 80e3],
            sleep: 9_000.0,
            shares: Shares {
                submit: spread(60.0),
                complete: spread(70.0),
                poll: spread(11.0),
            },
            app: 150.0,
            device: 300.0,
            scheduler: CpuSchedulerTimes {
                slice: Some(Nanos(1_400_000)),
                tick: Nanos(4_000_000),
            },
        }
    }

    #[test]
    fn what_is_written_is_read_back_the_same_and_is_a_valid_profile() {
        for base in MachineProfile::names() {
            let base = MachineProfile::builtin(base).unwrap();
            for can in [BASIC, BASIC.with(StepKind::Pause).with(StepKind::Monitor)] {
                let profile = calibrated(&base, "a processor", &times(), can);
                let text = text(&profile, false).unwrap();
                let read = MachineProfile::parse(&text, "x.toml").unwrap();
                assert_eq!(read, profile, "{text}");
                assert!(text.contains("\ncrossing_ns = { value = 100"), "{text}");
                assert!(text.contains("\n[costs.user]\n"), "{text}");
            }
        }
    }

    #[test]
    fn steps_that_this_cpu_does_not_have_are_not_in_its_profile() {
        let base = MachineProfile::builtin("xeon-8558").unwrap();
        let has = |can: StepSet| {
            let profile = calibrated(&base, "a processor", &times(), can);
            let costs = profile.costs.unwrap();
            let waits = profile.core_watts.monitored().is_some();
            assert_eq!(waits, profile.core_watts.pause_c01.is_some());
            assert_eq!(waits, costs.pause_exit_ns.is_some());
            [waits, costs.user_interrupt_ns.is_some()]
        };
        assert_eq!(has(BASIC), [false, false]);
        assert_eq!(has(BASIC.with(StepKind::Pause)), [true, false]);
        assert_eq!(has(BASIC.with(StepKind::UserInterrupt)), [false, true]);
    }

    #[test]
    fn the_parts_of_a_wake_add_up_to_what_was_measured() {
        let base = MachineProfile::builtin("generic-server").unwrap();
        let costs = costs(&base, &times(), BASIC);
        let woken = costs.interrupt_ns.value + costs.wake_ns.value;
        assert_eq!(woken + costs.user.block_ns.value / 2.0, 5_000.0);
        let others = costs.crossing_ns.value + costs.switch_ns.value + costs.wake_ns.value;
        assert_eq!(costs.timer_ns.value + others, 9_000.0);
        let exits: Vec<_> = costs.idle.iter().map(|idle| idle.exit_ns.value).collect();
        // The times after 8 us and after 256 us were longer because of other programs.
        assert_eq!(exits, [0.0, 1_000.0, 20_000.0, 75_000.0]);
        // The kernel's scheduler times replace the base's.
        assert_eq!(costs.slice_ns.value, 1_400_000.0);
        assert_eq!(costs.slice_ns.kind, FigureKind::Measured);
        // A machine whose cores never leave the shallowest idle state.
        let shallow = StepTimes {
            woken: [5e3; 8],
            ..times()
        };
        assert_eq!(idle(&shallow).len(), 1);
    }
}
