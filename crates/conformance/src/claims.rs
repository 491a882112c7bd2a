//! The claims.

use crate::mixed::{Mode, mixed};
use crate::{Bench, Content, stamp_lba};
use anyhow::{Result, bail, ensure};
use joulio_device::Device;
use joulio_nvme::wait::{AnyPolicy, Counters, Hybrid, now};
use joulio_nvme::{Completed, DmaBuffer, PollGroup, QueuePair, SubmitError};
use joulio_units::Nanos;
use std::sync::Arc;
use std::time::Duration;

/// A claim by its name.
pub struct Claim<D: Device> {
    /// What it says.
    pub name: &'static str,
    /// Puts it to the test; returns what there is to tell.
    pub check: fn(&Bench<D>) -> Result<String>,
}

/// All claims for a back end. The last one stamps blocks for a check from outside.
pub fn claims<D: Device>() -> Vec<Claim<D>> {
    macro_rules! claims {
        ($($name:ident),* $(,)?) => {
            vec![$(Claim { name: stringify!($name), check: $name }),*]
        };
    }
    claims![
        polling_delivers_every_io_and_raises_no_interrupt,
        interrupts_deliver_every_io_with_at_most_one_wake_each,
        switching_under_load_loses_nothing,
        hybrid_delivers_every_io_and_sleeps_at_most_once_each,
        hybrid_at_depth_one_sleeps_once_an_io_and_never_blocks,
        polling_after_interrupts_raises_none,
        interrupt_mode_at_depth_one_takes_an_interrupt_a_wait,
        an_idle_queue_neither_polls_nor_wakes,
        a_full_queue_gives_the_buffer_back,
        a_block_outside_is_refused_before_the_device_sees_it,
        the_deepest_queue_goes_around,
        the_largest_transfer_comes_back_whole,
        a_group_waits_on_all_its_queues,
        a_queue_dropped_with_io_in_flight_leaves_the_controller_well,
        an_aimed_vector_writes_memory_and_signals_nobody,
        stamped_blocks_stay,
    ]
}

/// I/Os of a mixed run.
const IOS: u64 = 10_000;

fn tell(counters: Counters, ios: u64) -> String {
    format!(
        "{ios} I/Os, {} blocks, {} interrupts, {} wakes",
        counters.blocks, counters.interrupts, counters.wakes
    )
}

fn polling_delivers_every_io_and_raises_no_interrupt<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let counters = mixed(bench, Mode::Poll, 32, IOS)?;
    ensure!(
        counters.interrupts == 0 && counters.blocks == 0,
        "{counters:?}"
    );
    Ok(tell(counters, IOS))
}

fn interrupts_deliver_every_io_with_at_most_one_wake_each<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    // A deep queue seldom has to wait; at depth 1 every I/O is waited for.
    let mut counters = mixed(bench, Mode::Interrupt, 1, IOS / 2)?;
    counters += mixed(bench, Mode::Interrupt, 32, IOS / 2)?;
    ensure!(
        counters.interrupts > 0 && counters.blocks > 0,
        "{counters:?}"
    );
    ensure!(
        counters.interrupts <= IOS && counters.wakes <= IOS,
        "{counters:?}"
    );
    Ok(tell(counters, IOS))
}

fn switching_under_load_loses_nothing<D: Device>(bench: &Bench<D>) -> Result<String> {
    // A deep queue seldom has to wait; at depth 1 every I/O is waited for.
    let mut counters = mixed(bench, Mode::Switching, 1, IOS / 2)?;
    counters += mixed(bench, Mode::Switching, 32, IOS / 2)?;
    ensure!(
        counters.interrupts > 0 && counters.interrupts < IOS,
        "{counters:?}"
    );
    Ok(tell(counters, IOS))
}

fn hybrid_delivers_every_io_and_sleeps_at_most_once_each<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let counters = mixed(bench, Mode::Hybrid, 32, IOS)?;
    ensure!(counters.sleeps <= IOS, "{counters:?}");
    ensure!(
        counters.interrupts == 0 && counters.blocks == 0,
        "{counters:?}"
    );
    Ok(format!(
        "{IOS} I/Os, {} sleeps, {} over",
        counters.sleeps, counters.oversleeps
    ))
}

fn hybrid_at_depth_one_sleeps_once_an_io_and_never_blocks<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    // The sleep is far longer than it takes to plan it, so that only an I/O that is done by the
    // first look is not slept for.
    let policy = AnyPolicy::Hybrid(Hybrid::fixed(Nanos::from_millis(20)));
    let mut group = group_of_one(bench, 1, policy)?;
    reads(bench, &mut group, 50)?;
    let counters = group.queues()[0].counters();
    let looked = 50 - counters.sleeps;
    ensure!(
        counters.sleeps <= 50 && counters.blocks == 0,
        "{counters:?}"
    );
    // An I/O that was done at the first look needs none.
    ensure!(counters.oversleeps <= counters.sleeps, "{counters:?}");
    Ok(format!(
        "{} sleeps of 50 I/Os, {looked} done at the first look",
        counters.sleeps
    ))
}

/// Reads of one block each, one after the other.
fn reads<D: Device>(bench: &Bench<D>, group: &mut PollGroup<D>, ios: u64) -> Result<()> {
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    for tag in 0..ios {
        let Some(taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        let lba = tag % bench.namespace.blocks();
        group.queues()[0].read(&bench.namespace, lba, 1, taken, tag)?;
        group.queues()[0].ring();
        let mut done = None;
        group.reap(1, None, |_, completed| done = Some(completed))?;
        let Some(Completed {
            status,
            buffer: back,
            ..
        }) = done
        else {
            bail!("I/O {tag} did not complete")
        };
        ensure!(status.is_success(), "I/O {tag}: {status}");
        buffer = back;
    }
    Ok(())
}

fn group_of_one<D: Device>(
    bench: &Bench<D>,
    depth: usize,
    policy: AnyPolicy,
) -> Result<PollGroup<D>> {
    let mut queue = bench.controller.create_queue_pair(depth)?;
    queue.set_policy(policy)?;
    Ok(PollGroup::new(vec![queue]))
}

fn polling_after_interrupts_raises_none<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 4, AnyPolicy::INTERRUPT)?;
    reads(bench, &mut group, 500)?;
    let queue = &mut group.queues()[0];
    let before = queue.counters();
    ensure!(before.interrupts > 0, "{before:?}");
    queue.set_policy(AnyPolicy::POLL)?;
    reads(bench, &mut group, 1_000)?;
    let since = group.queues()[0].counters() - before;
    ensure!(since.interrupts == 0 && since.blocks == 0, "{since:?}");
    Ok(tell(since, 1_000))
}

fn interrupt_mode_at_depth_one_takes_an_interrupt_a_wait<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let mut group = group_of_one(bench, 1, AnyPolicy::INTERRUPT)?;
    // The vector is armed by the first wait, which a quick device may need some I/Os to bring
    // about; its last owner may have left an interrupt pending behind the mask.
    for _ in 0..1_000 {
        reads(bench, &mut group, 1)?;
        if group.queues()[0].counters().blocks > 0 {
            break;
        }
    }
    let before = settled(&mut group);
    reads(bench, &mut group, 1_000)?;
    let since = settled(&mut group) - before;
    // A controller may leave out the interrupt of a completion that was seen before it was sent.
    ensure!(
        since.wakes <= since.interrupts && since.interrupts <= 1_000,
        "{since:?}"
    );
    ensure!(since.wakes == since.blocks && since.wakes > 0, "{since:?}");
    Ok(tell(since, 1_000))
}

/// Counters once the last interrupt, which may come after its completion was seen, has come.
fn settled<D: Device>(group: &mut PollGroup<D>) -> Counters {
    std::thread::sleep(Duration::from_millis(50));
    group.queues()[0].counters()
}

fn an_idle_queue_neither_polls_nor_wakes<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 8, AnyPolicy::INTERRUPT)?;
    reads(bench, &mut group, 200)?;
    let before = settled(&mut group);
    // Nothing is outstanding: the core waits the way the policy waits, until the deadline.
    let end = now() + Nanos::from_millis(1_000);
    let delivered = group.reap(1, Some(end), |_, _| {})?;
    let since = group.queues()[0].counters() - before;
    ensure!(
        delivered == 0 && since.interrupts == 0 && since.wakes == 0,
        "{since:?}"
    );
    ensure!(since.polls <= 4, "an idle second polled: {since:?}");
    Ok(format!("{} looks in an idle second", since.polls))
}

fn a_full_queue_gives_the_buffer_back<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 4, AnyPolicy::POLL)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffers = bench.controller.allocate_buffers(5, block)?;
    let queue = &mut group.queues()[0];
    let extra = buffers.remove(0);
    for (tag, buffer) in buffers.into_iter().enumerate() {
        queue.read(&bench.namespace, tag as u64, 1, buffer, tag as u64)?;
    }
    let Err(rejected) = queue.read(&bench.namespace, 0, 1, extra, 9) else {
        bail!("a fifth command went into a queue of four");
    };
    ensure!(rejected.reason == SubmitError::QueueFull && rejected.buffer.len() == block);
    queue.ring();
    let mut tags = Vec::new();
    group.reap(4, None, |_, completed| tags.push(completed.tag))?;
    tags.sort_unstable();
    ensure!(tags == [0, 1, 2, 3], "{tags:?}");
    Ok("4 of 4".into())
}

fn a_block_outside_is_refused_before_the_device_sees_it<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let mut queue = bench.controller.create_queue_pair(4)?;
    let size = bench.namespace.blocks();
    let block = bench.namespace.block_size() as usize;
    let most = bench.controller.max_transfer();
    let mut buffer = bench.controller.allocate_buffers(1, 2 * block)?.remove(0);
    let cases = [
        (size, 1),
        (size - 1, 2),
        (u64::MAX, 1),
        (0, 0),
        (0, 3),
        (0, most / block as u32 + 1),
    ];
    for (lba, blocks) in cases {
        match queue.read(&bench.namespace, lba, blocks, buffer, 0) {
            Ok(()) => bail!("{blocks} blocks at {lba} were accepted"),
            Err(rejected) => buffer = rejected.buffer,
        }
    }
    ensure!(queue.outstanding() == 0);
    Ok(format!("{} of {}", cases.len(), cases.len()))
}

/// Keeps `depth` reads in flight until `ios` are done.
fn fly<D: Device>(
    bench: &Bench<D>,
    group: &mut PollGroup<D>,
    depth: usize,
    ios: u64,
) -> Result<()> {
    let block = bench.namespace.block_size() as usize;
    let mut buffers = bench.controller.allocate_buffers(depth, block)?;
    let mut seen = vec![false; ios as usize];
    let (mut issued, mut done) = (0, 0);
    while done < ios {
        let queue = &mut group.queues()[0];
        while issued < ios
            && let Some(buffer) = buffers.pop()
        {
            queue.read(
                &bench.namespace,
                issued % bench.namespace.blocks(),
                1,
                buffer,
                issued,
            )?;
            issued += 1;
        }
        queue.ring();
        let mut completed: Vec<Completed> = Vec::new();
        group.reap(1, None, |_, completion| completed.push(completion))?;
        for Completed {
            tag,
            status,
            buffer,
            ..
        } in completed
        {
            ensure!(status.is_success(), "I/O {tag}: {status}");
            ensure!(
                !std::mem::replace(&mut seen[tag as usize], true),
                "I/O {tag} completed twice"
            );
            buffers.extend(buffer);
            done += 1;
        }
    }
    Ok(())
}

fn the_deepest_queue_goes_around<D: Device>(bench: &Bench<D>) -> Result<String> {
    let depth = bench.controller.max_depth();
    let mut group = group_of_one(bench, depth, AnyPolicy::POLL)?;
    let ios = 3 * depth as u64 + 7;
    fly(bench, &mut group, depth, ios)?;
    ensure!(
        bench.controller.create_queue_pair(depth + 1).is_err(),
        "a deeper queue was accepted"
    );
    Ok(format!("depth {depth}, {ios} I/Os"))
}

fn the_largest_transfer_comes_back_whole<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 2, AnyPolicy::POLL)?;
    let bytes = bench.controller.max_transfer() as usize;
    let block = bench.namespace.block_size() as usize;
    let blocks = (bytes / block) as u32;
    let mut buffer = bench.controller.allocate_buffers(1, bytes)?.remove(0);
    let content = |lba| Content {
        seed: bench.seed ^ 1,
        lba,
        generation: 1,
    };
    let mut data = vec![0; block];
    for lba in 0..blocks as u64 {
        content(lba).fill(&mut data);
        buffer.write(lba as usize * block, &data);
    }
    let once = |group: &mut PollGroup<D>, write: bool, buffer: DmaBuffer| -> Result<DmaBuffer> {
        let queue = &mut group.queues()[0];
        if write {
            queue.write(&bench.namespace, 0, blocks, buffer, 0)?;
        } else {
            queue.read(&bench.namespace, 0, blocks, buffer, 0)?;
        }
        queue.ring();
        let mut back = None;
        group.reap(1, None, |_, completed| back = Some(completed))?;
        match back {
            Some(Completed {
                status,
                buffer: Some(buffer),
                ..
            }) if status.is_success() => Ok(buffer),
            _ => bail!("the transfer failed"),
        }
    };
    let mut buffer = once(&mut group, true, buffer)?;
    buffer.write(0, &vec![0; bytes]);
    let buffer = once(&mut group, false, buffer)?;
    for lba in 0..blocks as u64 {
        buffer.read(lba as usize * block, &mut data);
        ensure!(
            content(lba).is(&data),
            "block {lba} of the transfer is wrong"
        );
    }
    Ok(format!("{bytes} bytes"))
}

fn a_group_waits_on_all_its_queues<D: Device>(bench: &Bench<D>) -> Result<String> {
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

fn a_queue_dropped_with_io_in_flight_leaves_the_controller_well<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let block = bench.namespace.block_size() as usize;
    for _ in 0..20 {
        let mut queue = bench.controller.create_queue_pair(16)?;
        for (tag, buffer) in bench
            .controller
            .allocate_buffers(16, block)?
            .into_iter()
            .enumerate()
        {
            queue.read(&bench.namespace, tag as u64, 1, buffer, tag as u64)?;
        }
        queue.ring();
        drop(queue);
    }
    let mut group = group_of_one(bench, 4, AnyPolicy::POLL)?;
    reads(bench, &mut group, 100)?;
    Ok("20 queues of 16".into())
}

fn an_aimed_vector_writes_memory_and_signals_nobody<D: Device>(bench: &Bench<D>) -> Result<String> {
    const DATA: u32 = 0x6a6f_756c;
    let mut group = group_of_one(bench, 1, AnyPolicy::POLL)?;
    let flag = Arc::new(bench.controller.allocate(4096)?);
    group.queues()[0].aim(&flag, 0, DATA)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    for tag in 0..1_000 {
        flag.memory().store_u32(0, 0);
        let Some(taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        group.queues()[0].read(&bench.namespace, tag, 1, taken, tag)?;
        group.queues()[0].ring();
        let end = now() + Nanos::from_millis(10_000);
        while flag.memory().load_u32(0) != DATA {
            ensure!(now() < end, "no word was written for I/O {tag}");
            std::hint::spin_loop();
        }
        // The completion is visible by the time that the word is.
        let mut seen = false;
        group.queues()[0].reap(1, |completed| {
            seen = completed.tag == tag && completed.status.is_success();
            buffer = completed.buffer;
        })?;
        ensure!(seen, "the word of I/O {tag} came before its completion");
    }
    let counters = group.queues()[0].counters();
    ensure!(counters.interrupts == 0, "{counters:?}");
    // Dropped while it is aimed: the vector's next owner is woken by it.
    drop(group);
    let mut group = group_of_one(bench, 1, AnyPolicy::INTERRUPT)?;
    for _ in 0..1_000 {
        reads(bench, &mut group, 1)?;
        if group.queues()[0].counters().wakes > 0 {
            break;
        }
    }
    let after = group.queues()[0].counters();
    ensure!(after.wakes > 0, "{after:?}");
    Ok("1000 of 1000".into())
}

/// Blocks stamped for a check of the backing store from outside.
pub const STAMPS: u64 = 100;

fn stamped_blocks_stay<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 8, AnyPolicy::INTERRUPT)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    let mut data = vec![0; block];
    for index in 0..STAMPS {
        let lba = stamp_lba(index);
        Content {
            seed: bench.seed,
            lba,
            generation: u64::MAX,
        }
        .fill(&mut data);
        let Some(mut taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        taken.write(0, &data);
        group.queues()[0].write(&bench.namespace, lba, 1, taken, lba)?;
        group.queues()[0].ring();
        group.reap(1, None, |_, completed| {
            buffer = completed.buffer.filter(|_| completed.status.is_success())
        })?;
    }
    group.queues()[0].flush(&bench.namespace, 0)?;
    group.queues()[0].ring();
    let mut flushed = false;
    group.reap(1, None, |_, completed| {
        flushed = completed.status.is_success()
    })?;
    ensure!(flushed && buffer.is_some(), "a write or the flush failed");
    Ok(format!("{STAMPS} blocks, seed {}", bench.seed))
}
