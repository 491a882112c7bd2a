//! Bounds that hold for any times of I/Os, costs and clocks.

use super::*;

/// Makes a time wrong by the factor `by`.
fn off(time: &mut Nanos, by: f64) {
    *time = Nanos::nearest(time.0 as f64 * by);
}

/// A cost by which the policy plans, and what makes it wrong by a factor.
type WrongCost = (&'static str, fn(&mut WaitCosts, f64));

/// All costs by which the policy plans.
const WRONG: [WrongCost; 20] = [
    ("poll", |costs, by| off(&mut costs.poll, by)),
    ("sleep_before", |costs, by| off(&mut costs.sleep_before, by)),
    ("sleep_after", |costs, by| off(&mut costs.sleep_after, by)),
    ("block_before", |costs, by| off(&mut costs.block_before, by)),
    ("block_after", |costs, by| off(&mut costs.block_after, by)),
    ("cold", |costs, by| {
        costs.cold.iter_mut().for_each(|time| off(time, by))
    }),
    ("pause_exit", |costs, by| off(&mut costs.pause_exit, by)),
    ("user_interrupt", |costs, by| {
        off(&mut costs.user_interrupt, by)
    }),
    ("around", |costs, by| off(&mut costs.around, by)),
    ("idle chosen", |costs, by| {
        costs
            .idle
            .iter_mut()
            .for_each(|idle| off(&mut idle.chosen, by))
    }),
    ("idle exit", |costs, by| {
        costs
            .idle
            .iter_mut()
            .for_each(|idle| off(&mut idle.exit, by))
    }),
    ("idle watts", |costs, by| {
        costs.idle.iter_mut().for_each(|idle| idle.watts.0 *= by)
    }),
    ("spin", |costs, by| costs.spin.0 *= by),
    ("kernel", |costs, by| costs.kernel.0 *= by),
    ("pause", |costs, by| costs.pause.0 *= by),
    ("monitor", |costs, by| costs.monitor.0 *= by),
    ("package", |costs, by| costs.package.0 *= by),
    ("wall", |costs, by| costs.wall.0 *= by),
    ("timer", |costs, by| costs.timer.0 *= by),
    ("interrupt", |costs, by| costs.interrupt.0 *= by),
];

/// Number of those that are times, which come first.
const TIMES: usize = 11;

/// Returns times of I/Os: constant, alternating, drifting, with a heavy tail, or random.
fn times(kind: u8, base: u64, count: usize, seed: u64) -> Vec<u64> {
    let mut seed = seed;
    let base = base as f64;
    let one = |index: usize| match kind {
        0 => base,
        1 => base * [1.0, 8.0][index % 2],
        2 => base * (1.0 + index as f64 / 200.0),
        3 => base / (0.02 + random(&mut seed)),
        _ => base * 2.0 * random(&mut seed),
    };
    (0..count).map(one).map(|time| time as u64 + 1).collect()
}

proptest! {
    /// Ski rental's bound, by the costs that the policy was given: if nothing is promised, a wait costs at most twice
    /// what it costs with knowledge of the future, and one wake-up.
    #[test]
    fn without_a_promise_it_costs_at_most_twice_the_oracle(
        kind in 0..5_u8, base in 1_000..500_000_u64, seed: u64
    ) {
        let mut core = Core::new(Promised::Nothing);
        let times = times(kind, base, 1_000, seed);
        for &time in &times {
            core.io(READ, time);
        }
        let oracle: f64 = times.iter().map(|time| core.oracle(*time)).sum();
        let wake = core.costs.break_even() * core.costs.spin.0;
        let bound = 2.0 * oracle + times.len() as f64 * wake;
        prop_assert!(core.joules <= bound, "{} of {bound}", core.joules);
    }

    /// With costs that are wrong by a factor of ten either way, one of them or all, few I/Os are late that would not
    /// have been otherwise, and the core uses at most a tenth more than one that spins.
    #[test]
    fn wrong_costs_break_no_promise_and_cost_little_more_than_spinning(
        wrong in prop_oneof![
            4 => (0..WRONG.len()).prop_map(|one| one..one + 1),
            1 => Just(0..TIMES),
            1 => Just(0..WRONG.len()),
        ],
        factor in prop_oneof![Just(0.1), Just(10.0)], base in 10_000..300_000_u64, seed: u64
    ) {
        let limit = base * 2;
        let promised = slo(limit, limit * 2);
        let mut core = Core::new(promised);
        let mut costs = WaitCosts::generic();
        for (_, change) in &WRONG[wrong.clone()] {
            change(&mut costs, factor);
        }
        let goal = Goal { promised, ..Goal::default() };
        core.policy = Adaptive::new(costs, goal, 1, Adaptive::STEPS);
        let (mut seed, mut late, mut very_late, mut spun) = (seed, 0, 0, 0.0);
        let ios = 3_000;
        for _ in 0..ios {
            let time = (base as f64 * (0.8 + 0.9 * random(&mut seed))) as u64;
            let had = time + core.io(READ, time);
            late += usize::from(had > limit);
            very_late += usize::from(had > 2 * limit);
            spun += time as f64 * core.costs.spin.0;
        }
        let names: Vec<_> = WRONG[wrong].iter().map(|(name, _)| *name).collect();
        let what = format!("{names:?} off by {factor} at {base} ns");
        prop_assert!(late <= ios / 100 + 10, "{what}: {late} of {ios} beyond p99");
        prop_assert!(very_late <= ios / 1_000 + 3, "{what}: {very_late} of {ios} beyond p99.9");
        prop_assert!(core.joules <= 1.1 * spun, "{what}: {} nJ, and spinning {spun}", core.joules);
    }

    /// A clock counts from when the machine was switched on, which has nothing to do with I/Os.
    #[test]
    fn plans_are_the_same_whenever_the_clock_began(
        promised in prop_oneof![
            Just(Promised::Nothing), Just(Promised::default()), Just(slo(40_000, 60_000)), Just(slo(700_000, 900_000))
        ],
        gaps in 0..3_000_000_u64, base in 3_000..600_000_u64, kind in 0..5_u8, seed: u64
    ) {
        let steps = |since: u64| {
            let mut core = Core::new(promised);
            core.now += since;
            for (index, time) in times(kind, base, 600, seed).into_iter().enumerate() {
                if gaps > 1_000 {
                    core.gap(gaps);
                }
                core.io(if index % 5 == 0 { WRITE } else { READ }, time);
            }
            core.steps
        };
        // A multiple at which times are as precise as before.
        prop_assert_eq!(steps(0), steps(1 << 52));
    }

    /// The policy plans only steps that it has, whatever the times, also with clocks that stand still or go back.
    #[test]
    fn it_plans_what_it_announced_whatever_it_is_told(
        events in proptest::collection::vec((0..7_u8, any::<u64>(), any::<u64>(), 0..5_usize), 0..300),
        promised in prop_oneof![
            Just(Promised::Nothing), Just(Promised::budget(0.0)), Just(Promised::default()),
            Just(slo(1, 1)), Just(slo(u64::MAX, u64::MAX))
        ]
    ) {
        let goal = Goal { promised, ..Goal::default() };
        let mut policy = Adaptive::new(WaitCosts::generic(), goal, 1, Adaptive::STEPS);
        for (kind, a, b, count) in events {
            let class = [READ, WRITE, FLUSH][count % 3];
            match kind {
                0 => policy.submitted(class, Nanos(a)),
                1 => policy.completed(class, Nanos(a), Nanos(b)),
                2 => policy.woke(Slept::Over, Nanos(a)),
                3 => policy.waited(Nanos(a), Nanos(b)),
                4 => policy.lost(Nanos(a), Nanos(b)),
                _ => {
                    let commands = Commands(vec![(class, b); count]);
                    let step = policy.plan(&commands, Adaptive::STEPS, Nanos(a));
                    prop_assert!(Adaptive::STEPS.has(step.kind));
                    prop_assert!(step.kind != StepKind::Sleep || step.until != Nanos::MAX);
                }
            }
        }
    }
}
