//! The interrupt of a queue pair: its vector, masked or not, redirected to memory or not.

use joulio_device::{DeviceError, DmaMemory, Iova, Vector};
use joulio_units::{CpuList, Nanos};
use joulio_wait::{StepKind, StepSet, now, poll_until};
use rustix::event::{PollFd, PollFlags};
use std::sync::Arc;

/// Latest time after a completion at which its interrupt may come without being counted as lost.
const MAX_LATENESS: Nanos = Nanos::from_millis(20);

/// A queue's vector, in the state that the queue's policy needs. Without a vector all functions do nothing.
pub(crate) struct Interrupt {
    vector: Option<Vector>,
    /// The steps of the queue's policy.
    steps: StepSet,
    masked: bool,
    redirected: Option<Redirected>,
    /// Completions seen less interrupts taken: above zero, the eventfd may hold interrupts of completions that were
    /// seen before.
    unclaimed: i64,
    counts: InterruptCounts,
}

/// Counts of a queue's interrupt.
#[derive(Clone, Copy, Default)]
pub(super) struct InterruptCounts {
    /// Number of times that interrupts were unmasked for a block.
    pub(super) arms: u64,
    /// Interrupts that reached the eventfd.
    pub(super) raised: u64,
    /// Completions whose interrupt did not come.
    pub(super) lost: u64,
}

/// A word of memory that a vector writes.
struct Redirected {
    memory: Arc<DmaMemory>,
    at: Iova,
    data: u32,
}

impl Interrupt {
    /// A masked vector, for a policy that only polls. Interrupts that its last owner has left are not counted here.
    pub(super) fn masked(vector: Option<Vector>) -> Interrupt {
        if let Some(vector) = &vector {
            vector.take();
        }
        Interrupt {
            vector,
            steps: StepSet::NONE.with(StepKind::Spin),
            masked: true,
            redirected: None,
            // One of the last owner's may still be on its way.
            unclaimed: 1,
            counts: InterruptCounts::default(),
        }
    }

    /// Reports whether there is a vector.
    pub(super) fn is_there(&self) -> bool {
        self.vector.is_some()
    }

    /// The vector.
    pub(super) fn vector(&self) -> Option<&Vector> {
        self.vector.as_ref()
    }

    /// Reports whether the policy takes interrupts.
    pub(super) fn is_taken(&self) -> bool {
        self.blocks() || self.steps.has(StepKind::UserInterrupt)
    }

    fn blocks(&self) -> bool {
        self.steps.has(StepKind::Block)
    }

    /// The vector, if the policy blocks on it.
    pub(crate) fn blocking_vector(&self) -> Option<&Vector> {
        self.vector.as_ref().filter(|_| self.blocks())
    }

    /// The vector, if the policy takes its interrupts as user interrupts.
    pub(crate) fn user_vector(&self) -> Option<&Vector> {
        let user = self.steps.has(StepKind::UserInterrupt);
        self.vector.as_ref().filter(|_| user)
    }

    /// Directs the interrupts to `cpu` and returns the CPUs that then take them; `None`: no CPU of this machine takes
    /// them, or the policy has no interrupts that the kernel takes.
    pub(super) fn direct(&self, cpu: usize) -> Result<Option<CpuList>, DeviceError> {
        match self.kernels_vector() {
            Some(vector) => vector.direct(cpu),
            None => Ok(None),
        }
    }

    /// Returns the CPUs that take the interrupts; `None` as for [`Interrupt::direct`].
    pub(super) fn cpus(&self) -> Result<Option<CpuList>, DeviceError> {
        match self.kernels_vector() {
            Some(vector) => vector.cpus(),
            None => Ok(None),
        }
    }

    /// Returns the vector, if the policy blocks on it and the kernel takes its interrupts: user interrupts are directed
    /// by the module that delivers them.
    fn kernels_vector(&self) -> Option<&Vector> {
        let user = self.user_vector().is_some();
        self.blocking_vector().filter(|_| !user)
    }

    /// Sets the vector up for a policy with the `steps`; it may be redirected again.
    pub(super) fn set_steps(&mut self, steps: StepSet) -> Result<(), DeviceError> {
        self.restore()?;
        let before = std::mem::replace(&mut self.steps, steps);
        if !self.is_taken() {
            let masked = self.mask();
            if masked.is_err() {
                self.steps = before;
            }
            return masked;
        }
        Ok(())
    }

    pub(super) fn mask(&mut self) -> Result<(), DeviceError> {
        if let Some(vector) = self.vector.as_ref().filter(|_| !self.masked) {
            vector.mask()?;
            self.masked = true;
        }
        Ok(())
    }

    /// Lets interrupts through.
    pub(crate) fn unmask(&mut self) -> Result<(), DeviceError> {
        if let Some(vector) = self.vector.as_ref().filter(|_| self.masked) {
            vector.unmask()?;
            self.masked = false;
        }
        Ok(())
    }

    /// Points the vector at the word at `offset` of `memory`, to write `data`.
    pub(super) fn redirect(
        &mut self,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), DeviceError> {
        let Some(vector) = &self.vector else {
            return Ok(());
        };
        let at = memory.iova().offset(offset);
        vector.redirect(at, data)?;
        self.redirected = Some(Redirected {
            memory: Arc::clone(memory),
            at,
            data,
        });
        self.unmask()
    }

    /// Ends a redirection: the vector is masked and reaches the eventfd again.
    pub(super) fn restore(&mut self) -> Result<(), DeviceError> {
        if self.redirected.is_some() {
            self.mask()?;
            if let Some(vector) = &self.vector {
                vector.restore()?;
            }
            // Only now: until here the device could write the memory.
            self.redirected = None;
        }
        Ok(())
    }

    /// Returns the memory that the vector is redirected to.
    pub(crate) fn target(&self) -> Option<&Arc<DmaMemory>> {
        let redirected = self.redirected.as_ref();
        redirected.map(|redirected| &redirected.memory)
    }

    /// Writes the table entry again if it was changed by another writer; returns whether it was unchanged.
    pub(super) fn keep(&self) -> Result<bool, DeviceError> {
        let Some(vector) = &self.vector else {
            return Ok(true);
        };
        let redirected = self.redirected.as_ref();
        vector.keep(self.masked, redirected.map(|to| (to.at, to.data)))
    }

    /// Sets the vector up as before: a reset of the function may have changed its MSI-X table.
    pub(super) fn set_again(&self) -> Result<(), DeviceError> {
        let Some(vector) = &self.vector else {
            return Ok(());
        };
        if let Some(redirected) = &self.redirected {
            vector.redirect(redirected.at, redirected.data)?;
        }
        if self.masked {
            vector.mask()
        } else {
            vector.unmask()
        }
    }

    /// Unmasks interrupts, if the policy blocks, and forgets those of completions already seen. False if they were
    /// unmasked all along and each that came was claimed: then a completion since the last poll has raised one.
    #[inline]
    pub(crate) fn arm(&mut self) -> Result<bool, DeviceError> {
        if self.is_armed() {
            self.counts.arms += 1;
            return Ok(false);
        }
        match self.blocking_vector() {
            Some(_) => self.arm_anew().map(|()| true),
            None => Ok(true),
        }
    }

    /// Returns whether the interrupts that end the core's blocks are unmasked, and each that came is claimed. False
    /// for user interrupts until the core holds them back: one before that signals no eventfd.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        let user = self.steps.has(StepKind::UserInterrupt);
        !self.masked && self.unclaimed == 0 && self.blocks() && !user
    }

    #[inline(never)]
    fn arm_anew(&mut self) -> Result<(), DeviceError> {
        self.counts.arms += 1;
        if self.unclaimed <= 0 {
            return self.post_unmask();
        }
        // Interrupts of completions while the vector was masked may be pending, and come now; they were seen too.
        self.unmask()?;
        self.take();
        self.unclaimed = 0;
        Ok(())
    }

    /// Unmasks the vector without waiting until the device knows.
    fn post_unmask(&mut self) -> Result<(), DeviceError> {
        if let Some(vector) = self.vector.as_ref().filter(|_| self.masked) {
            vector.post_unmask()?;
            self.masked = false;
        }
        Ok(())
    }

    /// Masks the vector while the core waits by steps that need no interrupt, if a store can mask it: otherwise every
    /// completion that the core finds by polling would raise one.
    #[inline]
    pub(crate) fn disarm(&mut self) -> Result<(), DeviceError> {
        if self.masked {
            return Ok(());
        }
        self.post_mask()
    }

    #[cold]
    fn post_mask(&mut self) -> Result<(), DeviceError> {
        let kept = !self.blocks() || self.steps.has(StepKind::UserInterrupt);
        let vector = self.vector.as_ref();
        if let Some(vector) = vector.filter(|vector| !kept && vector.masks_by_store()) {
            vector.post_mask()?;
            self.masked = true;
        }
        Ok(())
    }

    /// See [`super::QueueInfo::masks_between_blocks`].
    pub(crate) fn masks_between_blocks(&self) -> bool {
        self.blocks()
            && self.steps != StepSet::NONE.with(StepKind::Block)
            && !self.steps.has(StepKind::UserInterrupt)
            && self.vector.as_ref().is_some_and(Vector::masks_by_store)
    }

    /// Adds the interrupts raised since the last call to the counts.
    fn take(&mut self) -> u64 {
        let raised = self.vector.as_ref().map_or(0, Vector::take);
        self.counts.raised += raised;
        self.unclaimed -= raised as i64;
        raised
    }

    /// Adds the interrupts raised since the last call to the counts, with `outstanding` commands; returns whether
    /// there was one. Interrupts without a completion must not add up to a debt.
    pub(super) fn claim(&mut self, outstanding: usize) -> bool {
        let raised = self.take();
        if outstanding == 0 {
            self.unclaimed = self.unclaimed.max(0);
        }
        raised > 0
    }

    /// Notes that `completions` were seen, each of which may raise an interrupt.
    #[inline]
    pub(super) fn seen(&mut self, completions: usize) {
        self.unclaimed += completions as i64;
    }

    /// Waits for the interrupt of a completion that is there, and claims it; returns whether it was lost.
    pub(super) fn is_lost(&mut self, outstanding: usize) -> bool {
        let Some(vector) = self.vector.as_ref() else {
            return false;
        };
        let mut fds = [PollFd::from_borrowed_fd(vector.event(), PollFlags::IN)];
        // An error here counts as no interrupt.
        let _ = poll_until(&mut fds, now() + MAX_LATENESS);
        let lost = !self.claim(outstanding);
        self.counts.lost += u64::from(lost);
        lost
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> InterruptCounts {
        self.counts
    }

    /// Leaves the vector to its next owner, masked and with no interrupt pending. Also returns the memory that the
    /// vector may still be redirected to, which the device keeps.
    pub(super) fn leave(&mut self) -> (Option<Vector>, Option<Arc<DmaMemory>>) {
        if let Some(vector) = &self.vector {
            let _ = vector.unmask().and_then(|()| vector.mask());
        }
        self.take();
        let redirected = self.redirected.take();
        (self.vector.take(), redirected.map(|to| to.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_device::VectorControl;

    /// A vector whose table entry nobody reads.
    struct Ignored;

    impl VectorControl for Ignored {
        fn set_mask(&self, _: u16, _: bool) -> Result<(), DeviceError> {
            Ok(())
        }

        fn redirect(&self, _: u16, _: Option<(Iova, u32)>) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    #[test]
    fn an_interrupt_that_the_last_owner_left_is_not_counted() {
        let raise = |event: &std::os::fd::OwnedFd| {
            rustix::io::write(event, &1u64.to_ne_bytes()).unwrap();
        };
        let event = Vector::eventfd().unwrap();
        let signal = event.try_clone().unwrap();
        raise(&signal);
        let vector = Vector::new(0, event, Arc::new(Ignored));
        let mut interrupt = Interrupt::masked(Some(vector));
        assert!(!interrupt.claim(0));
        assert_eq!(interrupt.counts().raised, 0);
        raise(&signal);
        assert!(interrupt.claim(0));
        assert_eq!(interrupt.counts().raised, 1);
    }
}
