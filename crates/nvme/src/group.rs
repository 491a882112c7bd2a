//! A poll group: the queues that one core waits on.

use crate::NvmeError;
use crate::queue::{Completed, QueuePair};
use joulio_device::Device;
use joulio_units::Nanos;
use joulio_wait::{Blocked, Step, StepKind, WaitError, Waiter, Watched, Woken, now};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::error::Error;

/// Queues that one core waits on. The core waits, not the queue: the steps that the queues'
/// policies plan are merged into one.
pub struct PollGroup<D: Device> {
    queues: Vec<QueuePair<D>>,
    waiter: Waiter,
}

impl<D: Device> PollGroup<D> {
    /// A group of `queues`; one queue is a group of one.
    pub fn new(queues: Vec<QueuePair<D>>) -> PollGroup<D> {
        PollGroup {
            queues,
            waiter: Waiter::new(),
        }
    }

    /// The queues.
    #[inline]
    pub fn queues(&mut self) -> &mut [QueuePair<D>] {
        &mut self.queues
    }

    /// Commands outstanding on all queues.
    pub fn outstanding(&self) -> usize {
        self.queues.iter().map(QueuePair::outstanding).sum()
    }

    /// Hands out completions, with the index of their queue, until at least `min` were delivered
    /// or `deadline` has come; between looks it waits as the queues' policies say.
    ///
    /// `min` = 0 is one look. Without a deadline it returns early when nothing is outstanding; with
    /// one, a core that has nothing outstanding waits the way its policies wait.
    #[inline]
    pub fn reap(
        &mut self,
        min: usize,
        deadline: Option<Nanos>,
        mut sink: impl FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        let mut delivered = 0;
        loop {
            for (index, queue) in self.queues.iter_mut().enumerate() {
                delivered += queue.reap(usize::MAX, |completed| sink(index, completed))?;
            }
            if delivered >= min {
                return Ok(delivered);
            }
            if self.wait(deadline)?.is_none() {
                return Ok(delivered);
            }
        }
    }

    /// Waits once; `None` when there is nothing to wait for any more.
    fn wait(&mut self, deadline: Option<Nanos>) -> Result<Option<Woken>, NvmeError> {
        if deadline.is_none() && self.outstanding() == 0 {
            return Ok(None);
        }
        let Some(step) = self.plan()? else {
            return Ok(None);
        };
        let deadline = deadline.unwrap_or(Nanos::MAX);
        let step = step.bounded(deadline);
        let woken = if step.kind == StepKind::Sleep {
            self.sleep(step)?
        } else {
            self.waiter.run(
                step,
                &mut Core {
                    queues: &mut self.queues,
                },
            )?
        };
        // Also after an interrupt, which a device may raise for nothing.
        if woken != Woken::Ready && deadline != Nanos::MAX && now() >= deadline {
            return Ok(None);
        }
        Ok(Some(woken))
    }

    /// What the queues' policies want, merged. Queues with nothing outstanding only count when
    /// none has.
    fn plan(&mut self) -> Result<Option<Step>, WaitError> {
        let idle = self.outstanding() == 0;
        let at = if self.queues.iter().any(QueuePair::timed) {
            now()
        } else {
            Nanos::ZERO
        };
        let can = self.waiter.can();
        let mut merged: Option<Step> = None;
        for queue in &mut self.queues {
            if idle || queue.outstanding() > 0 {
                let step = queue.plan(can, at)?;
                merged = Some(merged.map_or(step, |other| other.merge(step)));
            }
        }
        Ok(merged)
    }

    fn sleep(&mut self, step: Step) -> Result<Woken, NvmeError> {
        let start = now();
        let mut core = Core {
            queues: &mut self.queues,
        };
        let woken = self.waiter.run(step, &mut core)?;
        let end = now();
        let over = core.queues.iter_mut().any(QueuePair::look);
        if let Some(queue) = self.queues.first_mut() {
            queue.slept_for(end - start, end - step.until, over);
        }
        Ok(woken)
    }
}

/// The core's view of its queues during a wait.
struct Core<'a, D: Device> {
    queues: &'a mut [QueuePair<D>],
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl<D: Device> Watched for Core<'_, D> {
    #[inline]
    fn ready(&mut self) -> bool {
        self.queues.iter_mut().any(QueuePair::look)
    }

    fn arm(&mut self) -> Outcome<()> {
        for queue in self.blocking() {
            queue.arm()?;
        }
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Outcome<Blocked> {
        let start = now();
        let vectors: Vec<_> = self
            .queues
            .iter()
            .filter_map(QueuePair::blocking_vector)
            .collect();
        let mut fds: Vec<_> = vectors
            .iter()
            .map(|vector| PollFd::from_borrowed_fd(vector.event(), PollFlags::IN))
            .collect();
        let timeout = (until != Nanos::MAX).then(|| timespec(until - start));
        match poll(&mut fds, timeout.as_ref()) {
            // A signal: the policy is asked again.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Box::new(error)),
        }
        let mut interrupted = false;
        for queue in self.blocking() {
            interrupted |= queue.claim();
        }
        // Told once for the core, on its first queue.
        if let Some(queue) = self.queues.first_mut() {
            queue.blocked_for(now() - start, interrupted);
        }
        Ok(if interrupted {
            Blocked::Interrupted
        } else {
            Blocked::TimedOut
        })
    }
}

impl<D: Device> Core<'_, D> {
    fn blocking(&mut self) -> impl Iterator<Item = &mut QueuePair<D>> {
        self.queues
            .iter_mut()
            .filter(|queue| queue.blocking_vector().is_some())
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec {
        tv_sec: (time.0 / 1_000_000_000) as i64,
        tv_nsec: (time.0 % 1_000_000_000) as _,
    }
}
