//! One cache line to which the interrupts of several queues write.

use crate::Bench;
use crate::awaited::awaited;
use anyhow::{Result, anyhow, bail, ensure};
use joulio_device::Device;
use joulio_nvme::{PollGroup, SharedCacheLine};

/// Reads one block at a time on two queues of each controller, `each` times on every queue. Every completion must
/// write the word of its queue in the one line, and no other, after the completion is visible; and no eventfd may
/// be signalled.
pub fn one_line<D: Device>(benches: &[&Bench<D>], each: u64) -> Result<String> {
    let mut queues = Vec::new();
    let mut of = Vec::new();
    for bench in benches {
        for _ in 0..bench.controller.max_queues().min(2) {
            queues.push(bench.controller.create_queue_pair(1)?);
            of.push(*bench);
        }
    }
    let mut group = PollGroup::new(queues);
    // Before the first command: its interrupt must find the line.
    line(&mut group)?;
    let mut buffers = Vec::new();
    for bench in &of {
        let block = bench.namespace.block_size() as usize;
        buffers.push(bench.controller.allocate_buffers(1, block)?.pop());
    }
    for tag in 0..each {
        for (index, bench) in of.iter().enumerate() {
            let Some(buffer) = buffers[index].take() else {
                bail!("no buffer came back")
            };
            let queue = &mut group.queues()[index];
            queue.read(&bench.namespace, tag, 1, buffer, tag)?;
            queue.ring();
            let came = awaited(|| written(&mut group, index))?;
            ensure!(came, "queue {index} wrote no word for I/O {tag}");
            let mut seen = false;
            group.queues()[index].reap(1, |completed| {
                seen = completed.tag == tag && completed.status.is_success();
                buffers[index] = completed.buffer;
            })?;
            ensure!(seen, "the word of I/O {tag} came before its completion");
            for other in 0..of.len() {
                ensure!(
                    !written(&mut group, other)?,
                    "queue {index} wrote {other}'s word"
                );
            }
        }
    }
    let interrupts = group.counters().interrupts;
    ensure!(interrupts == 0, "{interrupts} interrupts");
    let all = each * of.len() as u64;
    Ok(format!(
        "{all} of {all}, {} queues of {} controllers on one line",
        of.len(),
        benches.len()
    ))
}

fn written<D: Device>(group: &mut PollGroup<D>, index: usize) -> Result<bool> {
    Ok(line(group)?.take(index))
}

fn line<D: Device>(group: &mut PollGroup<D>) -> Result<&SharedCacheLine> {
    let line = group.shared_cache_line();
    line.map_err(|error| anyhow!("no line: {error}"))
}
