//! Policies that spin or sleep before they block: which completions raise an interrupt.

use super::support::{group_of_one, reads, settle};
use crate::Bench;
use anyhow::{Result, ensure};
use joulio_device::Device;
use joulio_nvme::PollGroup;
use joulio_nvme::wait::{
    AnyPolicy, Class, Dpas, Ehp, Outstanding, Policy, SkiRental, Step, StepKind, StepSet,
    WaitCounters, now,
};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Policy that blocks for one command out of `every`, and spins for the others.
struct BlockOnceIn {
    every: u64,
    submitted: u64,
}

impl Policy for BlockOnceIn {
    fn name(&self) -> Cow<'static, str> {
        format!("block once in {}", self.every).into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Block)
    }

    fn timed(&self) -> bool {
        true
    }

    fn submitted(&mut self, _: Class, _: Nanos) {
        self.submitted += 1;
    }

    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        if self.submitted.is_multiple_of(self.every) {
            Step::BLOCK
        } else {
            Step::SPIN
        }
    }
}

/// Returns every policy that blocks, but does not always block.
fn policies() -> Vec<AnyPolicy> {
    let once_in = |every| {
        AnyPolicy::Other(Box::new(BlockOnceIn {
            every,
            submitted: 0,
        }))
    };
    let ski_rental = |micros| AnyPolicy::SkiRental(SkiRental::new(Nanos::from_micros(micros)));
    vec![
        once_in(100),
        once_in(2),
        AnyPolicy::Ehp(Ehp::new()),
        AnyPolicy::Dpas(Dpas::new(Dpas::THETA)),
        ski_rental(2),
        ski_rental(20),
        ski_rental(200),
    ]
}

fn settled<D: Device>(bench: &Bench<D>, group: &mut PollGroup<D>) -> Result<WaitCounters> {
    settle(bench)?;
    Ok(group.counters())
}

/// Counts the interrupts of a completion that was found while the vector was masked, after it is unmasked: 0 for a
/// device that clears the pending bit when its completions are consumed (PCI 3.0, 6.8.2), 1 for others.
fn left_pending<D: Device>(bench: &Bench<D>) -> Result<u64> {
    let mut group = group_of_one(bench, 1, AnyPolicy::POLL)?;
    reads(bench, &mut group, 1)?;
    group.queues()[0].set_policy(AnyPolicy::INTERRUPT)?;
    let before = group.counters();
    // With nothing in flight, this waits until the deadline.
    group.reap(1, Some(now() + Nanos::from_millis(1)), |_, _| {})?;
    Ok((settled(bench, &mut group)? - before).interrupts.min(1))
}

pub(super) fn what_a_core_finds_without_blocking_raises_no_interrupt<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let pending = left_pending(bench)?;
    let mut report = vec![format!("{pending} left pending behind the mask")];
    for policy in policies() {
        let name = policy.name().into_owned();
        let mut group = group_of_one(bench, 1, policy)?;
        if !group.queues()[0].info().masks_between_blocks {
            return Ok("not there: the table of its vectors is not mapped".into());
        }
        reads(bench, &mut group, bench.ios / 10)?;
        let counters = settled(bench, &mut group)?;
        // A completion between the arming and the poll after it has raised an interrupt, but needed no block.
        let needless = counters.arms - counters.blocks;
        let max = (counters.blocks + needless) * (1 + pending) + 1;
        ensure!(
            counters.interrupts <= max,
            "{name}: {needless} needless, {counters:?}"
        );
        report.push(format!(
            "{name} {} interrupts, {} blocks, {needless} needless",
            counters.interrupts, counters.blocks
        ));
    }
    Ok(report.join("; "))
}
