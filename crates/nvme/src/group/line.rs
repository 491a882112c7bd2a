//! Interrupts that write memory: one line for many queues.

use crate::PolicyError;
use crate::queue::QueuePair;
use joulio_device::{Device, DmaArray, DmaMemory};
use joulio_wait::Line;
use std::sync::Arc;

/// Words of 32 bits in a cache line: as many as an interrupt writes each.
const WORDS: usize = 16;
/// What it writes.
const RAISED: u32 = 1;

/// A cache line that the interrupts of several queues write, of one controller or of many: each
/// queue's MSI-X table entry is pointed at a word of it. A device's writes stay in order, so that
/// the completion is visible before the word is (PCI Express Base, 2.4.1).
///
/// Nothing needs to be reset between two waits: it is the write that wakes, not the value.
pub struct SharedLine {
    words: DmaArray<u32>,
    /// The same memory, as each device reaches it.
    reached: Vec<Arc<DmaMemory>>,
}

impl SharedLine {
    /// Aims the interrupts of all `queues` at a new line; an error, and none of them, when one
    /// cannot be.
    pub(super) fn of<D: Device>(queues: &mut [QueuePair<D>]) -> Result<SharedLine, PolicyError> {
        let first = queues.first().ok_or(PolicyError::NoQueue)?;
        let memory = Arc::new(first.device().allocate(WORDS * size_of::<u32>())?);
        let mut line = SharedLine {
            words: memory.array(0, WORDS),
            reached: vec![memory],
        };
        match line.aim(queues) {
            Ok(()) => Ok(line),
            Err(error) => {
                for queue in queues {
                    queue.aim_back()?;
                }
                Err(error)
            }
        }
    }

    fn aim<D: Device>(&mut self, queues: &mut [QueuePair<D>]) -> Result<(), PolicyError> {
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
            queue.aim(&memory, index % WORDS * size_of::<u32>(), RAISED)?;
        }
        Ok(())
    }

    /// Whether it is still what all `queues` are aimed at.
    pub(super) fn is_of<D: Device>(&self, queues: &[QueuePair<D>]) -> bool {
        queues.iter().all(|queue| {
            let aimed = queue.aimed();
            aimed.is_some_and(|memory| self.reached.iter().any(|mine| Arc::ptr_eq(mine, memory)))
        })
    }

    /// The line, to be watched.
    pub(super) fn line(&self) -> Line<'_> {
        self.words.line(0)
    }

    /// Whether the word of queue `index` was written since the last call. Past the sixteenth, two
    /// queues share one.
    pub fn take(&self, index: usize) -> bool {
        let index = index % WORDS;
        let written = self.words.load_word(index, 0) == RAISED;
        if written {
            self.words.write(index, 0);
        }
        written
    }
}
