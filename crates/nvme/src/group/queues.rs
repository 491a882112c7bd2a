//! The queues of a group, and which of them have commands outstanding.

use super::PollGroup;
use crate::PolicyError;
use crate::controller::recovery::generations;
use crate::queue::completion::Posted;
use crate::queue::{Completed, CompletionFault, QueuePair, Taken, Transfer};
use joulio_device::{Device, DeviceError, DmaBuffer, DmaMemory};
use joulio_trace::Recorded;
use joulio_wait::WaitCounters;
use std::ops::{Deref, Index, IndexMut};
use std::slice::IterMut;
use std::sync::Arc;

/// Queues of a group, in the order in which they joined: like a slice, except that the group notices which queues are
/// borrowed mutably. Only those may have commands outstanding; the others cost the group nothing, however many there
/// are.
pub struct Queues<D: Device> {
    all: Vec<QueuePair<D>>,
    /// Bits by queue, 64 to a word; set: the queue may have commands outstanding.
    active: Vec<u64>,
    /// Number of the other queues.
    idle: usize,
    notes: Box<Notes>,
    /// Number of rounds in which all queues that may have commands outstanding were polled once.
    rounds: u64,
}

/// Memory of a wait for the next one. On the heap, so that the compiler reaches the queues with as few
/// instructions as without it: ten fewer for each of 32 reads submitted together.
#[derive(Default)]
struct Notes {
    /// Indices of active queues that were reaped since the last arming, or became active.
    touched: Vec<usize>,
    /// Interrupts of all other active queues are unmasked, and each that came is claimed.
    others_armed: bool,
    /// Value of [`generations`] at which every active queue was known to its controller; 0: none.
    current_at: u64,
    /// Queue at which the last poll found a completion.
    found: Option<usize>,
}

/// Number of queues in a word of bits.
const BITS: usize = u64::BITS as usize;
/// Number of queues that are polled without a loop.
const FOUR: usize = 4;

/// A queue of a group for the short path of most I/Os alone, see [`Queues::usual`].
pub struct UsualQueue<'a, D: Device>(&'a mut QueuePair<D>);

impl<D: Device> UsualQueue<'_, D> {
    /// Calls [`QueuePair::transfer_page`]. A queue that the group has not noticed yet takes no usual commands.
    ///
    /// # Errors
    /// The buffer; nothing was submitted.
    #[inline(always)]
    pub fn transfer_page(
        &mut self,
        kind: Transfer,
        range: (u64, u32),
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), DmaBuffer> {
        self.0.transfer_page(kind, range, buffer, tag)
    }

    /// Calls [`QueuePair::reap_usual`].
    #[inline(always)]
    pub fn reap_usual(
        &mut self,
        sink: impl FnMut(u64, &mut Option<DmaBuffer>, u32) -> bool,
    ) -> (usize, bool) {
        self.0.reap_usual(sink)
    }

    /// Calls [`QueuePair::take_usual`].
    #[inline(always)]
    pub fn take_usual(
        &mut self,
        min: impl FnOnce() -> usize,
        max: usize,
        sink: impl FnMut(u64, &mut Option<DmaBuffer>, u32) -> bool,
    ) -> Taken {
        self.0.take_usual(min, max, sink)
    }

    /// Calls [`QueuePair::release`].
    #[inline(always)]
    pub fn release(&mut self) {
        self.0.release();
    }

    /// Rings the doorbell, see [`QueuePair::ring`].
    #[inline]
    pub fn ring(&mut self) {
        self.0.ring();
    }
}

impl<D: Device> Queues<D> {
    pub(super) fn new(all: Vec<QueuePair<D>>) -> Queues<D> {
        let mut queues = Queues {
            active: Vec::new(),
            idle: 0,
            notes: Box::default(),
            rounds: 0,
            all: Vec::with_capacity(all.len()),
        };
        all.into_iter().for_each(|queue| queues.push(queue));
        queues
    }

    pub(super) fn push(&mut self, mut queue: QueuePair<D>) {
        if self.all.len().is_multiple_of(BITS) {
            self.active.push(0);
        }
        queue.set_noticed(false);
        queue.touched = false;
        let waits = queue.outstanding() > 0;
        self.all.push(queue);
        // Reserved so that a wait allocates nothing.
        let room = self.all.len() - self.notes.touched.len();
        self.notes.touched.reserve(room);
        self.idle += 1;
        if waits {
            self.mark(self.all.len() - 1);
        }
    }

    /// Removes queue `index`; the queues after it move up by one.
    pub(super) fn remove(&mut self, index: usize) -> QueuePair<D> {
        self.settle();
        let mut queue = self.all.remove(index);
        let left = std::mem::take(&mut self.all);
        (self.idle, self.active) = (0, Vec::new());
        (self.notes.touched, self.notes.found) = (Vec::new(), None);
        self.notes.others_armed = false;
        left.into_iter().for_each(|queue| self.push(queue));
        queue.set_noticed(true);
        queue
    }

    /// Returns the queues mutably; commands may be submitted to each.
    pub fn iter_mut(&mut self) -> IterMut<'_, QueuePair<D>> {
        self.mark_all();
        self.all.iter_mut()
    }

    /// Returns the queue `index` for its short path, for which the group does not have to notice it; `None` if there is
    /// none.
    #[inline(always)]
    pub fn usual(&mut self, index: usize) -> Option<UsualQueue<'_, D>> {
        self.all.get_mut(index).map(UsualQueue)
    }

    /// All queues, for callers that submit no commands.
    pub(super) fn all_mut(&mut self) -> &mut [QueuePair<D>] {
        &mut self.all
    }

    #[cold]
    #[inline(never)]
    fn mark(&mut self, index: usize) {
        if let Some(word) = self.active.get_mut(index / BITS) {
            *word |= 1 << (index % BITS);
            let queue = &mut self.all[index];
            queue.set_noticed(true);
            queue.not_polled_in(self.rounds);
            self.idle -= 1;
            self.notes.current_at = 0;
            touch(&mut self.notes.touched, queue, index);
        }
    }

    fn mark_all(&mut self) {
        for index in 0..self.all.len() {
            if !self.all[index].is_noticed() {
                self.mark(index);
            }
        }
    }

    /// Passes over the queue from now on: it has no commands outstanding.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, index: usize) {
        if self.all[index].is_noticed()
            && let Some(word) = self.active.get_mut(index / BITS)
        {
            *word &= !(1 << (index % BITS));
            let queue = &mut self.all[index];
            queue.set_noticed(false);
            queue.polled_in(self.rounds);
            self.idle += 1;
        }
    }

    /// Hands out the completions of the queues that may have commands outstanding, with the index of
    /// their queue.
    #[inline(always)]
    pub(super) fn reap(
        &mut self,
        sink: &mut impl FnMut(usize, Completed),
    ) -> Result<usize, CompletionFault> {
        match self.all.as_mut_slice() {
            [queue] => queue.reap_all(|completed| sink(0, completed)),
            _ => self.reap_several(sink),
        }
    }

    #[inline(always)]
    fn reap_several(
        &mut self,
        sink: &mut impl FnMut(usize, Completed),
    ) -> Result<usize, CompletionFault> {
        self.rounds += 1;
        if self.idle > 0 {
            return self.reap_among(sink);
        }
        let (mut delivered, mut from) = (0, 0);
        while let Some((index, posted)) = self.next_posted(from) {
            let Some(queue) = self.all.get_mut(index) else {
                break;
            };
            queue.not_polled_in(1);
            delivered += queue.drain(posted, |_| true, |completed| sink(index, completed))?;
            touch(&mut self.notes.touched, queue, index);
            from = index + 1;
        }
        Ok(delivered)
    }

    /// Hands out completions as [`Queues::reap`] does, where some queues are passed over.
    #[inline(never)]
    fn reap_among(
        &mut self,
        sink: &mut impl FnMut(usize, Completed),
    ) -> Result<usize, CompletionFault> {
        let mut delivered = 0;
        for (word, &active) in self.active.iter().enumerate() {
            for bit in (Indices { left: active }) {
                let index = word * BITS + bit;
                if let Some(queue) = self.all.get_mut(index)
                    && let Some(posted) = queue.posted()
                {
                    queue.not_polled_in(1);
                    delivered +=
                        queue.drain(posted, |_| true, |completed| sink(index, completed))?;
                    touch(&mut self.notes.touched, queue, index);
                }
            }
        }
        Ok(delivered)
    }

    /// Hands out the completions of the queue `index`.
    #[inline(never)]
    pub(super) fn reap_one(
        &mut self,
        index: usize,
        sink: &mut impl FnMut(usize, Completed),
    ) -> Result<usize, CompletionFault> {
        let Some(queue) = self.all.get_mut(index) else {
            return Ok(0);
        };
        let delivered = queue.reap_all(|completed| sink(index, completed));
        touch(&mut self.notes.touched, queue, index);
        delivered
    }

    /// Polls the queues that may have commands outstanding, up to the first that has a completion; returns whether
    /// one has.
    #[inline]
    pub(super) fn poll(&mut self) -> bool {
        match self.all.as_mut_slice() {
            [queue] => queue.poll(),
            _ => {
                self.notes.found = match self.idle {
                    0 => self.next_posted(0).map(|(index, _)| index),
                    _ => self.next_posted_among(),
                };
                let found = self.notes.found.is_some();
                self.rounds += u64::from(!found);
                found
            }
        }
    }

    /// Takes the queue at which the last poll of several queues found a completion.
    #[inline]
    pub(super) fn take_found(&mut self) -> Option<usize> {
        self.notes.found.take()
    }

    /// Returns the first queue that has a completion, if some queues are passed over.
    fn next_posted_among(&self) -> Option<usize> {
        self.active_indices()
            .find(|&index| self.all[index].has_completion())
    }

    /// Returns the first queue from `from` on that has a completion, if none is passed over, and the completion.
    #[inline]
    fn next_posted(&self, from: usize) -> Option<(usize, Posted)> {
        let queues = self.all.get(from..)?;
        // Most polls find nothing: four at a time make the loop cheaper.
        let mut fours = queues.chunks_exact(FOUR);
        let mut index = from;
        for four in &mut fours {
            for (nth, queue) in four.iter().enumerate() {
                if let Some(posted) = queue.posted() {
                    return Some((index + nth, posted));
                }
            }
            index += FOUR;
        }
        for queue in fours.remainder() {
            if let Some(posted) = queue.posted() {
                return Some((index, posted));
            }
            index += 1;
        }
        None
    }

    /// Adds the rounds so far to the queues' own counts.
    pub(super) fn settle(&mut self) {
        let rounds = std::mem::take(&mut self.rounds);
        for queue in self.all.iter_mut().filter(|queue| queue.is_noticed()) {
            queue.polled_in(rounds);
        }
    }

    /// Returns what the queues that may have commands outstanding wait for. Queues that were reaped and have none are
    /// passed over from now on.
    #[inline]
    pub(super) fn survey(&mut self) -> Waiting {
        for nth in 0..self.notes.touched.len() {
            let index = self.notes.touched[nth];
            if self.all[index].outstanding() == 0 {
                self.forget(index);
            }
        }
        let outstanding = self.any_active(|queue| queue.outstanding() > 0);
        if !outstanding && self.idle < self.all.len() {
            self.forget_done();
        }
        Waiting {
            outstanding,
            reconnects: self.notes.current_at != generations() && self.find_reconnects(),
        }
    }

    /// Returns whether commands wait for a controller that was reset.
    #[cold]
    fn find_reconnects(&mut self) -> bool {
        let generations = generations();
        if !self.any_active(|queue| !queue.is_current()) {
            self.notes.current_at = generations;
        }
        self.any_active(QueuePair::needs_reconnect)
    }

    /// Passes over every queue that has no commands outstanding, noted or not: the caller may have reaped it
    /// directly.
    #[cold]
    pub(super) fn forget_done(&mut self) {
        for index in 0..self.all.len() {
            if self.all[index].outstanding() == 0 {
                self.forget(index);
            }
        }
    }

    /// Unmasks the interrupts of the queues that may have commands outstanding. Returns whether there is such a
    /// queue, and whether the interrupts of one were masked before, or not all of them claimed.
    #[inline]
    pub(super) fn arm(&mut self) -> Result<(bool, bool), DeviceError> {
        let any = self.idle < self.all.len();
        if !self.notes.others_armed {
            return self.arm_all().map(|changed| (any, changed));
        }
        let mut changed = false;
        while let Some(index) = self.notes.touched.pop() {
            let queue = &mut self.all[index];
            queue.touched = false;
            if queue.is_noticed() {
                changed |= queue.interrupt().arm()?;
            }
        }
        Ok((any, changed))
    }

    #[inline(never)]
    fn arm_all(&mut self) -> Result<bool, DeviceError> {
        let mut changed = false;
        self.each_active(|queue| {
            changed |= queue.interrupt().arm()?;
            Ok::<_, DeviceError>(())
        })?;
        self.forget_touched();
        self.notes.others_armed = !self.any_active(|queue| !queue.is_armed());
        Ok(changed)
    }

    fn forget_touched(&mut self) {
        for index in self.notes.touched.drain(..) {
            self.all[index].touched = false;
        }
    }

    /// Makes the next arming go over all queues, since interrupts may be masked or policies changed.
    #[inline]
    pub(super) fn disarmed(&mut self) {
        self.notes.others_armed = false;
        if !self.notes.touched.is_empty() {
            self.forget_touched();
        }
    }

    /// Calls a function for each queue that may have commands outstanding, in order; ends with the first error.
    #[inline]
    pub(super) fn each_active<E>(
        &mut self,
        mut each: impl FnMut(&mut QueuePair<D>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.idle == 0 {
            return self.all.iter_mut().try_for_each(each);
        }
        for (word, &active) in self.active.iter().enumerate() {
            for bit in (Indices { left: active }) {
                if let Some(queue) = self.all.get_mut(word * BITS + bit) {
                    each(queue)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether `is` holds for a queue that may have commands outstanding.
    #[inline]
    pub(super) fn any_active(&self, is: impl Fn(&QueuePair<D>) -> bool) -> bool {
        match self.idle {
            0 => self.all.iter().any(is),
            _ => self.active().any(is),
        }
    }

    /// Returns the queues that may have commands outstanding.
    #[inline]
    pub(super) fn active(&self) -> impl Iterator<Item = &QueuePair<D>> {
        self.active_indices().map(|index| &self.all[index])
    }

    #[inline]
    fn active_indices(&self) -> impl Iterator<Item = usize> {
        let words = self.active.iter().enumerate();
        words.flat_map(|(word, &active)| {
            let indices = Indices { left: active };
            indices.map(move |bit| word * BITS + bit)
        })
    }
}

/// Records in `touched` that `queue`, which has that `index`, was reaped or became active.
#[inline]
fn touch<D: Device>(touched: &mut Vec<usize>, queue: &mut QueuePair<D>, index: usize) {
    if !queue.touched {
        queue.touched = true;
        touched.push(index);
    }
}

/// Outstanding work of a group's queues, taken together.
#[derive(Default)]
pub(super) struct Waiting {
    /// Commands are outstanding.
    pub(super) outstanding: bool,
    /// Some of the commands wait for a controller that has been reset.
    pub(super) reconnects: bool,
}

/// Indices of the bits of a word that are set.
struct Indices {
    left: u64,
}

impl Iterator for Indices {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(bit)
    }
}

impl<D: Device> Deref for Queues<D> {
    type Target = [QueuePair<D>];

    #[inline]
    fn deref(&self) -> &[QueuePair<D>] {
        &self.all
    }
}

impl<D: Device> Index<usize> for Queues<D> {
    type Output = QueuePair<D>;

    #[inline]
    fn index(&self, index: usize) -> &QueuePair<D> {
        &self.all[index]
    }
}

impl<D: Device> IndexMut<usize> for Queues<D> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut QueuePair<D> {
        if !self.all[index].is_noticed() {
            self.mark(index);
        }
        &mut self.all[index]
    }
}

impl<'a, D: Device> IntoIterator for &'a mut Queues<D> {
    type Item = &'a mut QueuePair<D>;
    type IntoIter = IterMut<'a, QueuePair<D>>;

    fn into_iter(self) -> IterMut<'a, QueuePair<D>> {
        self.iter_mut()
    }
}

impl<D: Device> PollGroup<D> {
    /// Returns the polls and interrupts of each queue since it was made, in the order in which they joined.
    pub fn queue_counters(&mut self) -> Vec<WaitCounters> {
        self.queues.settle();
        let queues = self.queues.all_mut().iter_mut();
        queues.map(QueuePair::counters).collect()
    }

    /// Starts a recording of the last `capacity` events of each queue.
    pub fn start_trace(&mut self, capacity: usize) {
        for queue in self.queues.all_mut() {
            queue.start_trace(capacity);
        }
        self.forget_known();
    }

    /// Ends the recordings and returns what each queue recorded.
    pub fn take_trace(&mut self) -> Vec<Recorded> {
        self.forget_known();
        let queues = self.queues.all_mut().iter_mut();
        queues.map(QueuePair::take_trace).collect()
    }

    /// Redirects the vector of queue `index` to the word at `offset` of `memory`: from now on a completion writes
    /// `data` there, after its entry in the completion queue, and raises no interrupt. A change of policy ends the
    /// redirection. [`PollGroup::shared_cache_line`] redirects all queues.
    ///
    /// # Errors
    /// The policy takes interrupts or `memory` is another device's ([`PolicyError::NotRedirectable`]),
    /// the queue has no vector, or the device does not let it be redirected.
    ///
    /// # Panics
    /// When there is no such queue, or the word is not inside `memory`, or not aligned.
    pub fn redirect(
        &mut self,
        index: usize,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), PolicyError> {
        self.queues[index].redirect(memory, offset, data)
    }
}
