//! Interrupts that write memory: one cache line for many queues.

use super::trial::Trial;
use crate::PolicyError;
use crate::queue::QueuePair;
use joulio_device::{Device, DmaArray, DmaMemory};
use joulio_wait::{CacheLine, now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of 32-bit words in a cache line; an interrupt writes one word.
const WORDS: usize = 16;
/// Returns the value that the interrupt of queue `index` writes: queues that share a word differ
/// in it.
fn raised(index: usize) -> u32 {
    (index / WORDS + 1) as u32
}

/// A cache line that the interrupts of several queues write, of one controller or of many: each
/// queue's MSI-X table entry is pointed at a word of it. A device's writes stay in order, so that
/// the completion is visible before the word is (PCI Express Base, 2.4.1).
///
/// Nothing needs to be reset between two waits: the write wakes, not the value. So one line serves any number of
/// queues; from the seventeenth on they share words, each queue with a value of its own.
pub struct SharedCacheLine {
    words: DmaArray<u32>,
    /// Memory of the words, as mapped for each device.
    reached: Vec<Arc<DmaMemory>>,
    /// Flags by queue: true if the queue's interrupt has written its word.
    proven: Vec<AtomicBool>,
    /// Trials by queue, used until the queue's interrupt has written its word.
    trials: Vec<Trial>,
}

impl SharedCacheLine {
    /// Redirects the interrupts of all `queues` to a new cache line. If one cannot be redirected, returns an error
    /// and redirects none.
    pub(super) fn of<D: Device>(
        queues: &mut [QueuePair<D>],
    ) -> Result<SharedCacheLine, PolicyError> {
        let first = queues.first().ok_or(PolicyError::NoQueue)?;
        let memory = Arc::new(first.device().allocate(WORDS * size_of::<u32>())?);
        let mut line = SharedCacheLine {
            words: memory.array(0, WORDS),
            reached: vec![memory],
            proven: queues.iter().map(|_| AtomicBool::new(false)).collect(),
            trials: queues.iter().map(|_| Trial::default()).collect(),
        };
        match line.redirect(queues) {
            Ok(()) => Ok(line),
            Err(error) => {
                restore_all(queues)?;
                Err(error)
            }
        }
    }

    /// Checks the words of the queues whose redirection is not proven yet. If a queue has completions and its word is
    /// never written, returns an error and ends all redirections.
    pub(super) fn check<D: Device>(
        &mut self,
        queues: &mut [QueuePair<D>],
    ) -> Result<(), PolicyError> {
        for (index, queue) in queues.iter().enumerate() {
            if self.is_proven(index) {
                continue;
            }
            // First: the word of a completion that is there may still be written.
            let completed = queue.has_completion();
            let (word, trial) = (index % WORDS, &mut self.trials[index]);
            match self.words.load_word(word, 0) {
                written if written == raised(index) => self.prove(index),
                0 if completed && trial.unwritten(now()) => {
                    let info = queue.info();
                    let failed = PolicyError::NotRedirected {
                        device: info.device_name.into(),
                        queue: info.id.0,
                    };
                    restore_all(queues)?;
                    return Err(failed);
                }
                0 if !completed => trial.is_over(),
                0 => {}
                other => {
                    // The other queue's value may have overwritten this queue's.
                    trial.overwritten();
                    self.prove((other as usize - 1) * WORDS + word);
                    self.words.write(word, 0);
                }
            }
        }
        Ok(())
    }

    fn prove(&self, index: usize) {
        if let Some(proven) = self.proven.get(index) {
            proven.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the interrupt of queue `index` has written its word. Before its first completion has done so,
    /// a core that waits for the queue polls. False if there is no such queue.
    pub fn is_proven(&self, index: usize) -> bool {
        let proven = self.proven.get(index);
        proven.is_some_and(|proven| proven.load(Ordering::Relaxed))
    }

    /// Returns whether a write to the line wakes a core that waits for `queues`: all that have commands outstanding
    /// are proven.
    pub(super) fn wakes<D: Device>(&self, queues: &[QueuePair<D>]) -> bool {
        let mut waiting = queues.iter().enumerate();
        waiting.all(|(index, queue)| self.is_proven(index) || queue.outstanding() == 0)
    }

    fn redirect<D: Device>(&mut self, queues: &mut [QueuePair<D>]) -> Result<(), PolicyError> {
        for (index, queue) in queues.iter_mut().enumerate() {
            let domain = queue.domain();
            let known = self.reached.iter().find(|memory| memory.domain() == domain);
            let memory = match known {
                Some(memory) => Arc::clone(memory),
                None => {
                    let shared = self.reached[0].share();
                    let memory = Arc::new(queue.device().reach(shared)?);
                    self.reached.push(Arc::clone(&memory));
                    memory
                }
            };
            queue.redirect(&memory, index % WORDS * size_of::<u32>(), raised(index))?;
        }
        Ok(())
    }

    /// Reports whether all `queues` are still redirected to this line.
    pub(super) fn is_of<D: Device>(&self, queues: &[QueuePair<D>]) -> bool {
        queues.iter().all(|queue| {
            let target = queue.redirected_to();
            target.is_some_and(|memory| self.reached.iter().any(|mine| Arc::ptr_eq(mine, memory)))
        })
    }

    /// The line, to be watched.
    pub(super) fn cache_line(&self) -> CacheLine<'_> {
        self.words.cache_line(0)
    }

    /// Reports whether the word of queue `index` was written since the last call. From the seventeenth on queues
    /// share words; then only the queue that wrote last is found.
    pub fn take(&self, index: usize) -> bool {
        let written = self.words.load_word(index % WORDS, 0) == raised(index);
        if written {
            self.prove(index);
            self.words.write(index % WORDS, 0);
        }
        written
    }
}

fn restore_all<D: Device>(queues: &mut [QueuePair<D>]) -> Result<(), PolicyError> {
    for queue in queues {
        queue.restore_vector()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Controller, ControllerOptions};
    use joulio_emulator::{EmulatedDevice, Options};
    use joulio_model::DeviceProfile;
    use joulio_units::Nanos;

    #[test]
    fn a_line_wakes_once_those_that_are_waited_for_are_proven() {
        let instant = Options::new(DeviceProfile::builtin("instant").unwrap());
        let (device, stepper) = EmulatedDevice::stepped(&instant).unwrap();
        let controller = Controller::open(device, ControllerOptions::default()).unwrap();
        let pair = |_| controller.create_queue_pair(1).unwrap();
        let mut queues: Vec<_> = (0..2).map(pair).collect();
        let mut line = SharedCacheLine::of(&mut queues).unwrap();
        let namespace = controller.namespace(1).unwrap();
        for index in 0..2 {
            let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
            queues[index].read(&namespace, 0, 1, buffer, 0).unwrap();
            queues[index].ring();
            assert!(!line.wakes(&queues));
            stepper.step(Nanos::ZERO);
            line.check(&mut queues).unwrap();
            assert!(line.wakes(&queues));
            assert_eq!(queues[index].reap(1, drop), Ok(1));
        }
    }
}
