//! The kernel's scheduler on one CPU: EEVDF (kernel/sched/fair.c, since Linux 6.6), with equal weights of all
//! threads.
//!
//! The virtual time of a thread is the CPU time that it had. A thread is eligible if it had no more than the mean
//! of all runnable threads. Of the eligible threads the one with the earliest deadline runs; the deadline is one
//! slice after the thread's virtual time. A thread that wakes keeps the lag, positive or negative, with which it
//! went to sleep. If it is chosen then, it takes the CPU at once from a thread that is no longer eligible: a thread
//! that mostly sleeps takes it from one that always computes. An eligible thread keeps the CPU for its slice
//! (RUN_TO_PARITY). The end of a slice is noticed at the next tick.

use joulio_units::Nanos;

/// Answer to a thread that requests its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The thread has the CPU.
    Has,
    /// Another thread has the CPU; [`RunQueue::give_up`] returns this thread when its turn comes.
    Waits,
}

/// The threads of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct RunQueue {
    threads: Vec<Entity>,
    /// Index in `threads`, by the thread's number.
    indices: Vec<usize>,
    /// Sum of the virtual times of the threads that are counted: the runnable ones, and those in
    /// [`State::Delayed`].
    sum: i128,
    /// Number of those threads.
    count: i64,
    /// Index in `threads` of the thread that has the CPU.
    current: Option<usize>,
    /// Index of the thread that was last preempted.
    preempted: Option<usize>,
    /// Time up to which the virtual time of the current thread has been counted.
    counted: Nanos,
    /// Time of the first tick that has not been handled.
    next_tick: Nanos,
    /// True if another thread is to have the CPU as soon as the current one can be stopped.
    resched: bool,
    /// Virtual time of a thread that becomes runnable when no other is counted.
    origin: i64,
    slice: Nanos,
    tick: Nanos,
}

/// A thread, as the scheduler keeps it.
#[derive(Clone, Copy, Debug)]
struct Entity {
    /// The thread's number in the run.
    thread: usize,
    /// True if the thread goes on until all others have ended.
    endless: bool,
    state: State,
    /// CPU time in nanoseconds, from an origin of the queue; [`RunQueue::NOT_THERE`] for a thread that is not
    /// counted.
    vruntime: i64,
    /// Virtual time at which its slice is over.
    deadline: i64,
    /// Virtual time up to which no other thread takes the CPU from it while it is eligible.
    protected: i64,
    /// Virtual time by which the thread was behind the mean when it went to sleep.
    lag: i64,
    /// Time of its wake-up, while it is asleep.
    wakes: Nanos,
    /// Time since which the thread is runnable without the CPU, while it is.
    ready: Nanos,
    /// Earlier time for which the thread was runnable without the CPU.
    run_delay: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Asleep, or not started.
    Off,
    /// Asleep, but counted until its turn comes, since it had more than its share (DELAY_DEQUEUE, since Linux
    /// 6.12).
    Delayed,
    /// Runnable, or running.
    Runnable,
    /// Ended.
    Ended,
}

impl RunQueue {
    /// Virtual time of threads that are not counted: later than that of all that are.
    const NOT_THERE: i64 = i64::MAX;

    /// Returns a queue without threads, with turns of `slice` that end at a multiple of `tick`.
    pub(crate) fn new(slice: Nanos, tick: Nanos) -> RunQueue {
        let tick = tick.max(Nanos(1));
        RunQueue {
            threads: Vec::new(),
            indices: Vec::new(),
            sum: 0,
            count: 0,
            current: None,
            preempted: None,
            counted: Nanos::ZERO,
            next_tick: tick,
            resched: false,
            origin: 0,
            slice,
            tick,
        }
    }

    /// Adds the run's thread number `thread`, which wakes at 0; an `endless` one ends with the others.
    pub(crate) fn add(&mut self, thread: usize, endless: bool) {
        let numbers = self.indices.len().max(thread + 1);
        self.indices.resize(numbers, 0);
        self.indices[thread] = self.threads.len();
        self.threads.push(Entity {
            thread,
            endless,
            state: State::Off,
            vruntime: RunQueue::NOT_THERE,
            deadline: 0,
            protected: 0,
            lag: 0,
            wakes: Nanos::ZERO,
            ready: Nanos::ZERO,
            run_delay: Nanos::ZERO,
        });
    }

    /// Returns how long `thread`, which has the CPU, was runnable without it, as the kernel counts it in
    /// /proc/PID/schedstat.
    pub(crate) fn run_delay(&self, thread: usize) -> Nanos {
        self.threads[self.index(thread)].run_delay
    }

    /// Returns true if more than one thread is on the CPU.
    pub(crate) fn shared(&self) -> bool {
        self.threads.len() > 1
    }

    /// Returns true if a thread other than `thread` is runnable.
    pub(crate) fn others_runnable(&self, thread: usize) -> bool {
        let runnable = |one: &Entity| one.state == State::Runnable && one.thread != thread;
        self.threads.iter().any(runnable)
    }

    /// Makes `thread` runnable at `at`, if it is not yet, and returns whether it has the CPU.
    pub(crate) fn wants(&mut self, thread: usize, at: Nanos) -> Turn {
        let index = self.index(thread);
        if self.current == Some(index) {
            return Turn::Has;
        }
        if self.threads[index].state != State::Runnable {
            self.tick_before(at);
            // Before the CPU time of the current thread is counted (ttwu_runnable).
            let counts = self.threads[index].state == State::Delayed;
            if counts {
                self.requeue(index);
            }
            self.count(at);
            self.update_deadline();
            if !counts {
                self.place(index);
            }
            self.threads[index].ready = at;
        }
        match self.current {
            None => {
                self.run(index, at);
                Turn::Has
            }
            Some(_) => {
                self.resched |= self.pick() == Some(index);
                Turn::Waits
            }
        }
    }

    /// Returns true if the thread that has the CPU at `at` must give it up, with [`RunQueue::give_up`].
    #[inline]
    pub(crate) fn must_give_up(&mut self, at: Nanos) -> bool {
        (self.resched || at >= self.next_tick) && self.is_over(at)
    }

    /// Decides [`RunQueue::must_give_up`] at a tick, or when a thread has become runnable.
    fn is_over(&mut self, at: Nanos) -> bool {
        self.count(at);
        if at >= self.next_tick {
            self.next_tick = self.after(at);
            self.update_deadline();
            // A thread that goes on after its slice is not protected again: at each tick another may be chosen.
            self.resched |= self.is_unprotected();
        }
        if !self.resched {
            return false;
        }
        // If the thread is asked again before it gives up, the answer is the same.
        self.resched = self.pick() != self.current;
        self.resched
    }

    /// Stops the thread that has the CPU, which stays runnable, at `at`; returns the next thread.
    pub(crate) fn give_up(&mut self, at: Nanos) -> Option<usize> {
        self.count(at);
        if let Some(index) = self.current.take() {
            self.threads[index].ready = at;
            self.preempted = Some(index);
        }
        self.next(at)
    }

    /// Charges `time` of a handler to the thread that was preempted. The handler ran while that thread had the CPU,
    /// so that the time counts as that thread's, and not as the present thread's (the kernel without
    /// IRQ_TIME_ACCOUNTING).
    #[cold]
    #[inline(never)]
    pub(crate) fn handled(&mut self, time: Nanos) {
        let both = self.current.zip(self.preempted);
        let Some((own, other)) = both.filter(|(own, other)| own != other) else {
            return;
        };
        if self.threads[other].state == State::Runnable {
            self.adds(own, -(time.0 as i64));
            self.adds(other, time.0 as i64);
        }
    }

    /// Puts the thread that has the CPU to sleep from `at` until `wakes`; returns the next thread.
    pub(crate) fn sleeps(&mut self, at: Nanos, wakes: Nanos) -> Option<usize> {
        if let Some(index) = self.current {
            self.threads[index].wakes = wakes;
        }
        self.leaves(at, State::Off)
    }

    /// Ends the thread that has the CPU, at `at`; returns the next thread.
    pub(crate) fn ends(&mut self, at: Nanos) -> Option<usize> {
        self.leaves(at, State::Ended)
    }

    /// Returns the time until which no thread can take the CPU from the one that has it at `at`: the next tick if
    /// another thread is runnable, or the next wake-up; `Nanos::MAX` if there is neither.
    pub(crate) fn undisturbed(&self, at: Nanos) -> Nanos {
        let (mut wakes, mut runnable) = (Nanos::MAX, 0);
        for entity in &self.threads {
            match entity.state {
                State::Runnable => runnable += 1,
                State::Off | State::Delayed => wakes = wakes.min(entity.wakes),
                State::Ended => {}
            }
        }
        let own = self.current.map(|index| self.threads[index].state);
        let others = runnable - usize::from(own == Some(State::Runnable));
        let tick = if others > 0 {
            self.after(at)
        } else {
            Nanos::MAX
        };
        wakes.max(at).min(tick)
    }

    /// Returns true if all threads have ended except for the endless ones.
    pub(crate) fn deserted(&self) -> bool {
        let mut threads = self.threads.iter();
        threads.all(|one| one.endless || one.state == State::Ended)
    }

    /// Returns the first tick after `at`.
    fn after(&self, at: Nanos) -> Nanos {
        Nanos(
            (at.0 / self.tick.0)
                .saturating_add(1)
                .saturating_mul(self.tick.0),
        )
    }

    fn index(&self, thread: usize) -> usize {
        // Every thread is added before the run begins.
        self.indices[thread]
    }

    /// Counts the CPU time of the thread that has the CPU, up to `at`.
    fn count(&mut self, at: Nanos) {
        let time = at.since(self.counted);
        self.counted = self.counted.max(at);
        if let Some(index) = self.current {
            let time = i64::try_from(time.0).unwrap_or(i64::MAX);
            self.adds(index, time);
        }
    }

    /// Adds `time` to the virtual time of the thread at `index`, which is counted.
    fn adds(&mut self, index: usize, time: i64) {
        let entity = &mut self.threads[index];
        let before = entity.vruntime;
        entity.vruntime = before.saturating_add(time);
        self.sum += i128::from(entity.vruntime - before);
    }

    /// Puts the thread at `index`, which is counted, into `state`, in which it is not.
    fn goes(&mut self, index: usize, state: State) {
        let entity = &mut self.threads[index];
        self.count -= 1;
        self.sum -= i128::from(entity.vruntime);
        entity.state = state;
        entity.vruntime = RunQueue::NOT_THERE;
    }

    /// Makes the thread at `index`, which is not counted, runnable, with this virtual time and a slice.
    fn comes(&mut self, index: usize, vruntime: i64) {
        let entity = &mut self.threads[index];
        self.count += 1;
        self.sum += i128::from(vruntime);
        entity.state = State::Runnable;
        entity.vruntime = vruntime;
        entity.deadline = vruntime + self.slice.0 as i64;
    }

    /// Gives the thread that has the CPU a new deadline if its slice is over.
    fn update_deadline(&mut self) {
        let slice = self.slice.0 as i64;
        let Some(index) = self.current else { return };
        let entity = &mut self.threads[index];
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime.saturating_add(slice);
            self.resched = true;
        }
    }

    /// Returns the sum of the virtual times over `than` of all counted threads.
    fn ahead(&self, than: i64) -> i128 {
        self.sum - i128::from(self.count) * i128::from(than)
    }

    /// Returns the mean of the counted threads' virtual times, less `than`.
    fn mean_ahead(&self, than: i64) -> i64 {
        let (ahead, count) = (self.ahead(than), self.count.max(1));
        match i64::try_from(ahead) {
            Ok(ahead) => ahead / count,
            Err(_) => (ahead / i128::from(count)) as i64,
        }
    }

    /// Returns the latest virtual time of an eligible thread, if some threads are counted.
    fn limit(&self) -> i64 {
        let count = self.count.max(1);
        match i64::try_from(self.sum) {
            Ok(sum) => sum.div_euclid(count),
            Err(_) => self.sum.div_euclid(i128::from(count)) as i64,
        }
    }

    /// Returns true if the thread that has the CPU has run for the slice that it got with it.
    fn is_unprotected(&self) -> bool {
        let current = self.current.map(|index| &self.threads[index]);
        current.is_some_and(|one| one.vruntime >= one.protected)
    }

    fn eligible(&self, entity: &Entity) -> bool {
        self.ahead(entity.vruntime) >= 0
    }

    /// Handles the latest tick up to `at` for a thread that has the CPU alone: its time is counted, and a sleeping
    /// thread that has paid its debt by then is no longer counted.
    fn tick_before(&mut self, at: Nanos) {
        let tick = Nanos(at.0 / self.tick.0 * self.tick.0);
        let Some(current) = self.current.filter(|_| tick > self.counted) else {
            return;
        };
        let mut others = self.threads.iter().enumerate();
        if others.any(|(other, one)| other != current && one.state == State::Runnable) {
            return;
        }
        self.count(tick);
        self.update_deadline();
        while (self.resched || self.is_unprotected())
            && let Some(index) = self.pick().filter(|index| *index != current)
        {
            self.owes_nothing(index);
        }
    }

    /// Stops counting the thread at `index`, which is asleep, if it has paid its debt.
    fn owes_nothing(&mut self, index: usize) {
        let vruntime = self.threads[index].vruntime;
        self.origin = vruntime + self.mean_ahead(vruntime);
        self.goes(index, State::Off);
        self.threads[index].lag = 0;
    }

    /// Puts a thread that wakes while it is still counted back among the runnable ones. Part of its debt is paid
    /// off; a thread that is behind the mean is put at the mean, since it is owed nothing for a sleep (DELAY_ZERO).
    fn requeue(&mut self, index: usize) {
        let vruntime = self.threads[index].vruntime;
        if self.ahead(vruntime) > 0 {
            self.goes(index, State::Off);
            self.comes(index, vruntime + self.mean_ahead(vruntime));
        } else {
            self.threads[index].state = State::Runnable;
        }
    }

    /// Places a thread that wakes so that it keeps its lag.
    fn place(&mut self, index: usize) {
        let lag = self.threads[index].lag;
        let count = self.count;
        // The virtual time with which the thread has this lag once it is counted.
        let vruntime = match count {
            0 => self.origin,
            _ => self.origin + self.mean_ahead(self.origin) - lag * (count + 1) / count,
        };
        self.comes(index, vruntime);
    }

    /// Takes the CPU from the current thread, which is no longer runnable; returns the next thread.
    fn leaves(&mut self, at: Nanos, to: State) -> Option<usize> {
        self.count(at);
        self.update_deadline();
        if let Some(index) = self.current.take() {
            let ahead = self.mean_ahead(self.threads[index].vruntime);
            let limit = (2 * self.slice.0).max(self.tick.0) as i64;
            let entity = &mut self.threads[index];
            self.origin = entity.vruntime + ahead;
            entity.lag = ahead.clamp(-limit, limit);
            match to {
                State::Off if entity.lag < 0 => entity.state = State::Delayed,
                to => self.goes(index, to),
            }
        }
        self.next(at)
    }

    /// Returns the index of the thread that should have the CPU.
    fn pick(&self) -> Option<usize> {
        let current = self.current.map(|index| (index, &self.threads[index]));
        if let Some((index, entity)) = current
            && entity.vruntime < entity.protected
            && self.eligible(entity)
        {
            return Some(index);
        }
        if self.count == 0 {
            return None;
        }
        let limit = self.limit();
        let (mut first, mut deadline) = (None, i64::MAX);
        for (index, one) in self.threads.iter().enumerate() {
            if one.vruntime <= limit && one.deadline < deadline {
                (first, deadline) = (Some(index), one.deadline);
            }
        }
        first
    }

    /// Gives the CPU to the thread that should have it; returns that thread.
    fn next(&mut self, at: Nanos) -> Option<usize> {
        self.resched = false;
        loop {
            let index = self.pick()?;
            if self.threads[index].state == State::Delayed {
                self.owes_nothing(index);
                continue;
            }
            self.run(index, at);
            return Some(self.threads[index].thread);
        }
    }

    fn run(&mut self, index: usize, at: Nanos) {
        self.current = Some(index);
        self.counted = self.counted.max(at);
        let entity = &mut self.threads[index];
        entity.run_delay += at.since(entity.ready);
        if at >= self.next_tick {
            self.next_tick = self.after(at);
        }
        self.protect();
    }

    /// Protects the thread that gets the CPU for the length of its slice.
    fn protect(&mut self) {
        self.resched = false;
        if let Some(index) = self.current {
            self.threads[index].protected = self.threads[index].deadline;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Nanos = Nanos::from_millis(3);
    const TICK: Nanos = Nanos::from_millis(4);

    fn queue(threads: usize) -> RunQueue {
        let mut queue = RunQueue::new(SLICE, TICK);
        (0..threads).for_each(|thread| queue.add(thread, false));
        queue
    }

    /// Lists the times before `end` at which the CPU changes hands, with the thread that gets it, for threads that
    /// never sleep.
    fn turns(queue: &mut RunQueue, threads: usize, end: Nanos) -> Vec<(Nanos, usize)> {
        let mut at = Nanos::ZERO;
        let wants: Vec<_> = (0..threads).map(|one| queue.wants(one, at)).collect();
        assert_eq!(wants[0], Turn::Has);
        assert!(wants[1..].iter().all(|turn| *turn == Turn::Waits));
        let mut turns = vec![(at, 0)];
        while at < end {
            at = queue.undisturbed(at);
            if queue.must_give_up(at) {
                turns.push((at, queue.give_up(at).unwrap()));
            }
        }
        turns
    }

    #[test]
    fn who_computes_all_the_time_takes_turns_that_end_at_ticks() {
        let mut two = queue(2);
        let turns = turns(&mut two, 2, Nanos::from_millis(40));
        let lengths: Vec<_> = turns.windows(2).map(|two| two[1].0 - two[0].0).collect();
        assert!(lengths.iter().all(|one| *one == TICK), "{lengths:?}");
        let who: Vec<_> = turns.iter().map(|turn| turn.1).collect();
        assert_eq!(who[..6], [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn four_that_compute_all_the_time_have_a_quarter_each() {
        let end = Nanos::from_millis(1600);
        let turns = turns(&mut queue(4), 4, end);
        let mut had = [0_u64; 4];
        for two in turns.windows(2) {
            had[two[0].1] += (two[1].0 - two[0].0).0;
        }
        for time in had {
            assert!(time.abs_diff(end.0 / 4) <= 2 * TICK.0, "{had:?}");
        }
    }

    /// Returns how long a thread that alternately runs for `work` and sleeps for `sleep` waited for the CPU each
    /// time, beside a thread that always computes.
    fn waits(work: Nanos, sleep: Nanos) -> Vec<Nanos> {
        let (mut queue, mut at) = (queue(2), Nanos::ZERO);
        assert_eq!(queue.wants(1, at), Turn::Has);
        let mut waits = Vec::new();
        let mut wakes = Nanos(1);
        // Thread 0 sleeps until `wakes`, then needs the CPU for `work`.
        for _ in 0..200 {
            assert_eq!(queue.wants(0, wakes), Turn::Waits);
            at = at.max(wakes);
            while !queue.must_give_up(at) {
                at = queue.undisturbed(at);
            }
            assert_eq!(queue.give_up(at), Some(0));
            waits.push(at - wakes);
            let mut left = work;
            loop {
                let until = queue.undisturbed(at).min(at + left);
                left = left - (until - at);
                at = until;
                if left == Nanos::ZERO {
                    break;
                }
                if queue.must_give_up(at) {
                    assert_eq!(queue.give_up(at), Some(1));
                    while !queue.must_give_up(at) {
                        at = queue.undisturbed(at);
                    }
                    assert_eq!(queue.give_up(at), Some(0));
                }
            }
            wakes = at + sleep;
            assert_eq!(queue.sleeps(at, wakes), Some(1));
        }
        waits
    }

    #[test]
    fn who_mostly_sleeps_has_the_cpu_when_it_wakes() {
        let waits = waits(Nanos(20_000), Nanos(80_000));
        // The first wait happens before the thread's lag is known.
        assert!(
            waits[1..].iter().all(|wait| *wait == Nanos::ZERO),
            "{waits:?}"
        );
    }

    #[test]
    fn who_hardly_sleeps_waits_for_its_turn_now_and_then() {
        let waits = waits(Nanos(80_000), Nanos(20_000));
        let waited = waits.iter().filter(|wait| **wait > Nanos::ZERO).count();
        // It needs four fifths of the CPU and gets half: it waits, though not every time.
        assert!((2..100).contains(&waited), "{waited}: {waits:?}");
        assert!(waits.iter().max() <= Some(&(TICK + TICK)), "{waits:?}");
    }

    #[test]
    fn nobody_disturbs_a_thread_that_is_alone() {
        let mut one = queue(1);
        assert!(!one.shared());
        assert_eq!(one.wants(0, Nanos(5)), Turn::Has);
        assert_eq!(one.undisturbed(Nanos(7)), Nanos::MAX);
        assert!(!one.must_give_up(Nanos::from_millis(50)));
        assert_eq!(
            one.sleeps(Nanos::from_millis(50), Nanos::from_millis(51)),
            None
        );
        assert_eq!(one.wants(0, Nanos::from_millis(51)), Turn::Has);
        assert_eq!(one.ends(Nanos::from_millis(52)), None);
    }

    #[test]
    fn a_handler_counts_for_the_thread_that_it_stopped() {
        // The thread that computes has the CPU up to a tick; then the other gets it, and sleeps.
        let lag = |handler: u64| {
            let mut queue = queue(2);
            let at = Nanos::from_micros;
            assert_eq!(queue.wants(1, at(0)), Turn::Has);
            assert_eq!(queue.wants(0, at(100)), Turn::Waits);
            assert!(queue.must_give_up(TICK));
            assert_eq!(queue.give_up(TICK), Some(0));
            queue.handled(at(handler));
            queue.sleeps(TICK + at(50), TICK + at(150));
            queue.threads[0].lag
        };
        // Of its 50 us, 20 were the handler's: it is owed 20 more of the time that the two shared.
        assert_eq!(lag(20) - lag(0), 20_000);
    }
}
