//! Claims about waits: the counts that each policy may have, and the completions that it must deliver.

use super::support::{group_of_one, reads, settle};
use crate::Bench;
use crate::Modes;
use crate::awaited::awaited;
use crate::line::one_line;
use crate::mixed::mixed;
use crate::modes::lacks;
use crate::turns::arm;
use anyhow::{Context, Result, bail, ensure};
use joulio_device::Device;
use joulio_job::CompletionMode;
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy, StepKind, WaitCounters, now};
use joulio_nvme::{PollGroup, QueuePair};
use joulio_units::Nanos;
use std::sync::Arc;

/// Interval at which a waiting group checks its queues, with the default time limit.
const CHECK_INTERVAL: Nanos = Nanos::from_millis(100);

fn summary(counters: WaitCounters, ios: u64) -> String {
    format!(
        "{ios} I/Os, {} blocks, {} interrupts, {} wakes",
        counters.blocks, counters.interrupts, counters.wakes
    )
}

pub(super) fn polling_delivers_every_io_and_raises_no_interrupt<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let counters = mixed(bench, CompletionMode::Poll.into(), 32, bench.ios)?;
    ensure!(
        counters.interrupts == 0 && counters.blocks == 0,
        "{counters:?}"
    );
    Ok(summary(counters, bench.ios))
}

pub(super) fn interrupts_deliver_every_io_with_at_most_one_wake_each<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    // With a deep queue a wait is rarely necessary.
    let mut counters = mixed(bench, CompletionMode::Interrupt.into(), 1, bench.ios / 2)?;
    counters += mixed(bench, CompletionMode::Interrupt.into(), 32, bench.ios / 2)?;
    ensure!(
        counters.interrupts > 0 && counters.blocks > 0,
        "{counters:?}"
    );
    ensure!(
        counters.interrupts <= bench.ios && counters.wakes <= bench.ios,
        "{counters:?}"
    );
    Ok(summary(counters, bench.ios))
}

pub(super) fn switching_under_load_loses_nothing<D: Device>(bench: &Bench<D>) -> Result<String> {
    // At depth 1 nothing is in flight at the switch, so that interrupts are enabled at once.
    let mut counters = mixed(bench, Modes::Switching, 1, bench.ios / 2)?;
    counters += mixed(bench, Modes::Switching, 32, bench.ios / 2)?;
    ensure!(
        counters.interrupts > 0 && counters.interrupts < bench.ios,
        "{counters:?}"
    );
    Ok(summary(counters, bench.ios))
}

pub(super) fn hybrid_delivers_every_io_and_sleeps_at_most_once_each<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let counters = mixed(bench, Modes::HYBRID.into(), 32, bench.ios)?;
    ensure!(counters.sleeps <= bench.ios, "{counters:?}");
    ensure!(
        counters.interrupts == 0 && counters.blocks == 0,
        "{counters:?}"
    );
    Ok(format!(
        "{} I/Os, {} sleeps, {} over",
        bench.ios, counters.sleeps, counters.oversleeps
    ))
}

pub(super) fn every_policy_delivers_every_io_by_the_steps_it_announced<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    const DEPTHS: [usize; 3] = [1, 4, 32];
    let each = (bench.ios / 20).max(1);
    let ios = each * DEPTHS.len() as u64;
    let mut report = Vec::new();
    for mode in CompletionMode::ALL {
        // The other modes are the kernel's.
        let Some(policy) = mode.policy() else {
            continue;
        };
        if let Some(why) = lacks(&policy) {
            report.push(format!("{mode} left out: {why}"));
            continue;
        }
        let mut counters = WaitCounters::default();
        for depth in DEPTHS {
            let run = mixed(bench, mode.into(), depth, each);
            counters += run.with_context(|| format!("{mode} at depth {depth}"))?;
        }
        // At most one sleep an I/O; only adaptive sleeps again, after a new plan or the group's check of its queues.
        ensure!(
            counters.sleeps <= ios || mode == CompletionMode::Adaptive,
            "{mode}: {counters:?}"
        );
        let steps = policy.steps();
        let took = [
            (StepKind::Pause, counters.pauses),
            (StepKind::Monitor, counters.monitors),
            (StepKind::Sleep, counters.sleeps),
            (StepKind::Block, counters.blocks),
            (StepKind::Block, counters.interrupts),
        ];
        for (kind, count) in took {
            ensure!(
                count == 0 || steps.has(kind),
                "{mode} took {count} of {kind:?}: {counters:?}"
            );
        }
        report.push(format!(
            "{mode} {} sleeps, {} blocks",
            counters.sleeps, counters.blocks
        ));
    }
    Ok(report.join("; "))
}

pub(super) fn hybrid_at_depth_one_sleeps_once_an_io_and_never_blocks<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    // The sleep is far longer than the time to plan it, so that only an I/O that has completed by the first poll
    // needs no sleep.
    let policy = AnyPolicy::Hybrid(Hybrid::fixed(Nanos::from_millis(20)));
    let mut group = group_of_one(bench, 1, policy)?;
    reads(bench, &mut group, 50)?;
    let counters = group.counters();
    let polled = 50 - counters.sleeps;
    ensure!(
        counters.sleeps <= 50 && counters.blocks == 0,
        "{counters:?}"
    );
    // An I/O that has completed by the first poll needs no interrupt.
    ensure!(counters.oversleeps <= counters.sleeps, "{counters:?}");
    Ok(format!(
        "{} sleeps of 50 I/Os, {polled} done at the first poll",
        counters.sleeps
    ))
}

pub(super) fn polling_after_interrupts_raises_none<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 4, AnyPolicy::INTERRUPT)?;
    arm(&mut group)?;
    reads(bench, &mut group, 500)?;
    let before = settled(bench, &mut group)?;
    let queue = &mut group.queues()[0];
    ensure!(before.interrupts > 0, "{before:?}");
    queue.set_policy(AnyPolicy::POLL)?;
    reads(bench, &mut group, 1_000)?;
    let since = group.counters() - before;
    ensure!(since.interrupts == 0 && since.blocks == 0, "{since:?}");
    Ok(summary(since, 1_000))
}

pub(super) fn interrupt_mode_at_depth_one_takes_an_interrupt_a_wait<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let mut group = group_of_one(bench, 1, AnyPolicy::INTERRUPT)?;
    // The vector's last owner may have left an interrupt pending.
    arm(&mut group)?;
    reads(bench, &mut group, 1)?;
    let before = settled(bench, &mut group)?;
    let start = now();
    reads(bench, &mut group, 1_000)?;
    let looked_after = (now() - start).0 / CHECK_INTERVAL.0 + 2;
    let since = settled(bench, &mut group)? - before;
    // If a completion was consumed before its interrupt was sent, a controller may omit the interrupt.
    ensure!(
        since.wakes <= since.interrupts && since.interrupts <= 1_000,
        "{since:?}"
    );
    // A fast device may have completed each I/O by the first poll: then there is no wait to wake up from. And if a
    // device does not get its CPU, a wait lasts until the group checks the queue.
    ensure!(
        since.wakes <= since.blocks && since.blocks - since.wakes <= looked_after,
        "{since:?}"
    );
    Ok(summary(since, 1_000))
}

fn settled<D: Device>(bench: &Bench<D>, group: &mut PollGroup<D>) -> Result<WaitCounters> {
    settle(bench)?;
    Ok(group.counters())
}

pub(super) fn an_idle_queue_neither_polls_nor_wakes<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 8, AnyPolicy::INTERRUPT)?;
    reads(bench, &mut group, 200)?;
    // Interrupts that the reads have left pending are not counted for the idle second.
    settled(bench, &mut group)?;
    arm(&mut group)?;
    let before = settled(bench, &mut group)?;
    // Nothing is in flight: the core waits as the policy plans, until the deadline.
    let end = now() + Nanos::from_millis(1_000);
    let delivered = group.reap(1, Some(end), |_, _| {})?;
    let since = group.counters() - before;
    ensure!(
        delivered == 0 && since.interrupts == 0 && since.wakes == 0,
        "{since:?}"
    );
    ensure!(since.polls <= 4, "an idle second polled: {since:?}");
    Ok(format!("{} polls in an idle second", since.polls))
}

pub(super) fn a_group_waits_on_all_its_queues<D: Device>(bench: &Bench<D>) -> Result<String> {
    let queues = bench.controller.max_queues().min(3);
    let policies = [AnyPolicy::INTERRUPT, AnyPolicy::INTERRUPT, AnyPolicy::POLL];
    let mut group = PollGroup::new(
        policies
            .into_iter()
            .take(queues)
            .map(|policy| {
                let mut queue: QueuePair<D> = bench.controller.create_queue_pair(8)?;
                queue.set_policy(policy)?;
                Ok(queue)
            })
            .collect::<Result<Vec<_>>>()?,
    );
    let block = bench.namespace.block_size() as usize;
    let mut buffers = bench.controller.allocate_buffers(queues, block)?;
    let mut counts = vec![0; queues];
    for round in 0..300 {
        let index = round % queues;
        let Some(buffer) = buffers.pop() else {
            bail!("no buffer came back")
        };
        group.queues()[index].read(&bench.namespace, round as u64, 1, buffer, 0)?;
        group.queues()[index].ring();
        group.reap(1, None, |queue, completed| {
            counts[queue] += 1;
            buffers.extend(completed.buffer);
        })?;
    }
    ensure!(
        counts.iter().sum::<usize>() == 300 && counts.iter().all(|&n| n == 300 / queues),
        "{counts:?}"
    );
    Ok(format!("{counts:?}"))
}

pub(super) fn a_redirected_vector_writes_memory_and_signals_nobody<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    const DATA: u32 = 0x6a6f_756c;
    let mut group = group_of_one(bench, 1, AnyPolicy::POLL)?;
    let flag = Arc::new(bench.controller.allocate(4096)?);
    group.redirect(0, &flag, 0, DATA)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    for tag in 0..1_000 {
        flag.memory().store_u32(0, 0);
        let Some(taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        group.queues()[0].read(&bench.namespace, tag, 1, taken, tag)?;
        group.queues()[0].ring();
        let came = awaited(|| Ok(flag.memory().load_u32(0) == DATA))?;
        ensure!(came, "no word was written for I/O {tag}");
        // When the word is written, the completion is visible.
        let mut seen = false;
        group.queues()[0].reap(1, |completed| {
            seen = completed.tag == tag && completed.status.is_success();
            buffer = completed.buffer;
        })?;
        ensure!(seen, "the word of I/O {tag} came before its completion");
    }
    let counters = group.counters();
    ensure!(counters.interrupts == 0, "{counters:?}");
    // Dropped while the vector is redirected: the vector must signal its next owner.
    drop(group);
    let mut group = group_of_one(bench, 1, AnyPolicy::INTERRUPT)?;
    arm(&mut group)?;
    reads(bench, &mut group, 1_000)?;
    let after = settled(bench, &mut group)?;
    ensure!(after.interrupts > 0, "{after:?}");
    Ok("1000 of 1000".into())
}

pub(super) fn queues_on_one_line_write_a_word_each<D: Device>(bench: &Bench<D>) -> Result<String> {
    one_line(&[bench], 500)
}
