//! State of the policy: what it learns from each I/O, and what its plans mean for a wait.

use super::account::Account;
use super::batches::Batches;
use super::class_plan::ClassPlan;
use super::costing::Watch;
use super::costs::WaitCosts;
use super::delays::{Before, Delays};
use super::ends::{Ends, watch};
use super::gaps::Gaps;
use super::goal::Goal;
use super::history::History;
use super::hot::Hot;
use super::lateness::Lateness;
use super::promise::Promise;
use super::replan::WAITS;
use super::shared::Shared;
use crate::{Class, Outstanding, PlannedWait, Step, StepKind, StepSet};
use joulio_units::Nanos;

/// State of the policy: what it has learnt, and its plans.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct State {
    pub(super) hot: Hot,
    /// Nanoseconds for which an I/O of each class is watched for, if every plan is a close spin and nothing else;
    /// otherwise 0.
    pub(super) watch: [u64; Class::KEPT],
    pub(super) costs: WaitCosts,
    /// Watts that are drawn while an I/O of a closed loop lasts, whatever the core does.
    pub(super) share: f64,
    pub(super) steps: StepSet,
    pub(super) watches: Vec<Watch>,
    pub(super) history: [History; Class::KEPT],
    pub(super) plans: [ClassPlan; Class::KEPT],
    pub(super) unknown: ClassPlan,
    pub(super) promise: Promise,
    pub(super) gaps: Gaps,
    /// Delays that I/Os pass on to those that wait for them.
    pub(super) delays: Delays,
    /// I/Os that were submitted together.
    batches: Batches,
    /// Lateness of timers and interrupts, as measured lately.
    pub(super) lateness: Lateness,
    /// Other threads that want the core.
    pub(super) shared: Shared,
    /// Costs of the waits so far, where nothing is promised.
    pub(super) account: Account,
    /// Recent number of commands out at a wait, and its value when plans were made.
    pub(super) depth: f64,
    pub(super) planned: f64,
    /// Nanoseconds from a submission to the first wait after it.
    pub(super) begin: f64,
    /// Nanoseconds by which one of the slowest I/Os is late because of its plan.
    pub(super) tail: f64,
    /// True if the plan of at least one class has a rest or a loose watch.
    pub(super) rests: bool,
    /// True if none has, and some classes' I/Os are blocked for at once, others' watched for.
    pub(super) mixed: bool,
    /// Number of plans in a row of the same kinds as those before.
    pub(super) confirmed: u32,
    /// Earliest time at which plans may be made again.
    pub(super) again: Nanos,
    /// Step that was taken last, its latest end, and its beginning.
    last: (StepKind, Nanos, Nanos),
    /// True until that step ends.
    waiting: bool,
    /// True if the last poll found a single completion.
    single: bool,
    /// Submission of the I/O that ended the last gap.
    ended: Nanos,
    /// Nanoseconds that the core has been idle since the last completion.
    idle: f64,
    /// Number of I/Os until the load counts as a closed loop.
    pub(super) came: u32,
    /// True if I/Os that are seen before the next wait are not late, unless they were submitted together.
    plain: bool,
    /// True if others had the core since the last wait.
    lost: bool,
}

/// Findings from one completion that was seen.
struct Seen {
    /// Nanoseconds by which the policy made it late.
    own: u64,
    /// True if the class's history was forgotten.
    forgotten: bool,
}

/// Number of I/Os after one that came by itself for which the load does not count as a closed loop.
const CAME: u32 = 16_384;
/// Number of commands out from which on the newest alone decides, if no plan has a rest or a loose watch.
const MANY: usize = 4;

impl State {
    pub(super) fn new(costs: WaitCosts, goal: Goal, jobs: usize, steps: StepSet) -> State {
        let spin = costs.spin.0;
        let exit = costs.pause_exit.0 as f64;
        let watches = [
            (StepKind::Spin, spin, 0.0),
            (StepKind::Monitor, costs.monitor.0, exit),
            (
                StepKind::UserInterrupt,
                costs.pause.0,
                costs.user_interrupt.0 as f64,
            ),
        ];
        let watches = watches.into_iter();
        let watches = watches.filter(|(kind, ..)| steps.has(*kind));
        let watches = watches.map(|(kind, watts, exit)| Watch { kind, watts, exit });
        let promise = Promise::new(goal.promised, costs.around);
        let unknown = ClassPlan::unknown(
            promise.watch(costs.break_even(), costs.block_delay(f64::INFINITY)) as u64,
        );
        State {
            hot: Hot::new(),
            watch: [0; Class::KEPT],
            watches: watches.collect(),
            history: [History::default(); Class::KEPT],
            plans: [unknown; Class::KEPT],
            unknown,
            promise,
            gaps: Gaps::default(),
            delays: Delays::new(),
            batches: Batches::new(),
            lateness: Lateness::new(),
            shared: Shared::new(&costs),
            account: Account::default(),
            depth: 1.0,
            planned: 1.0,
            begin: 0.0,
            tail: 0.0,
            rests: false,
            mixed: false,
            confirmed: 0,
            again: Nanos::ZERO,
            last: (StepKind::Spin, Nanos::ZERO, Nanos::ZERO),
            waiting: false,
            single: true,
            ended: Nanos::MAX,
            idle: 0.0,
            came: 0,
            plain: false,
            lost: false,
            share: costs.share(goal.objective, jobs),
            costs,
            steps,
        }
    }

    /// Returns how I/Os of the class at `kept` are waited for.
    pub(super) fn planned_of(&self, kept: usize) -> PlannedWait {
        self.plans[kept].planned()
    }

    pub(super) fn waited(&mut self, time: Nanos) {
        self.delays.waited(time.0);
        self.hot.set_waited(true);
    }

    #[inline]
    pub(super) fn submitted(&mut self, class: Class, at: Nanos) {
        if !self.hot.submitted(class.place(), at) {
            self.submitted_late(class, at);
        }
    }

    /// Returns true if the core was awake since the last completion.
    #[inline]
    fn is_awake(&self) -> bool {
        self.last.0 == StepKind::Spin && self.idle == 0.0
    }

    /// Takes in the submission of an I/O that came by itself, was delayed, or was submitted together with the one
    /// before.
    #[cold]
    #[inline(never)]
    fn submitted_late(&mut self, class: Class, at: Nanos) {
        let last = self.hot.submitted_late(class.place(), at);
        self.batches.last_was(last);
        let itself = !self.hot.is_seen() || self.gaps.is_one();
        let own = !itself && !self.is_awake();
        self.batches.submitted(at, own);
        self.came = self.came.saturating_sub(1);
        if self.came > 0 || itself {
            self.delays
                .came_between(itself && !self.gaps.is_one() && at != self.ended);
        }
        if itself {
            self.arrived(at);
        }
        if self.delays.is_next() {
            self.delays.submitted(at);
        }
        self.hot.set_waited(false);
        self.set_plain(self.plain && !self.delays.is_any());
    }

    /// Sets whether I/Os that are seen before the next wait are not late, unless they were submitted together.
    fn set_plain(&mut self, plain: bool) {
        self.plain = plain;
        let usual = plain && self.came == 0;
        self.hot.set_usual(usual.then(|| self.batches.newest()));
    }

    /// Notes that an I/O comes by itself at `at`: nothing has completed since the last wait.
    #[cold]
    fn arrived(&mut self, at: Nanos) {
        self.gaps.arrived();
        self.delays.arrived(at, self.woken());
        self.came = self.came.max(CAME);
        if self.gaps.is_one() {
            let gap = self.gaps.ended(at) as f64;
            self.ended = at;
            if self.last.0 == StepKind::Block {
                self.idle = gap;
            }
        }
    }

    #[inline]
    pub(super) fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.hot.out = self.hot.out.wrapping_sub(1);
        // Wraps to a very long time if a clock goes back.
        let time = at.0.wrapping_sub(submitted.0);
        if submitted > self.hot.late
            && let Some(history) = self.history.get_mut(class.place())
            && history.is_like_most(time)
        {
            history.add_usual(time);
            self.hot.seen(at);
            if self.hot.samples() {
                self.sampled(time);
            }
        } else {
            self.completed_anyhow(class.kept(), submitted, at);
        }
    }

    /// Takes in a sampled I/O, which stands for those like it that were not sampled.
    #[inline(never)]
    fn sampled(&mut self, time: u64) {
        self.hot.sampled();
        self.promise.seen_many(time);
    }

    /// Takes in the completion of an I/O that is not like most, or may have been delayed.
    #[inline(never)]
    fn completed_anyhow(&mut self, kept: Option<usize>, submitted: Nanos, at: Nanos) {
        let time = at.since(submitted).0;
        if self.plain
            && let Some(kept) = kept
            && self.history[kept].is_usual(time)
            && self.batches.is_alone(submitted)
        {
            self.hot.seen(at);
            self.history[kept].add_usual(time);
            if self.promise.seen(time) | (submitted == self.ended) {
                self.noted((submitted, Before::default()), (time, time, time), false);
            }
        } else {
            self.completed_late(kept, (submitted, time), at);
        }
    }

    /// Takes in the completion of an I/O that the policy, or an I/O before it, may have delayed.
    fn completed_late(&mut self, kept: Option<usize>, (submitted, time): (Nanos, u64), at: Nanos) {
        self.set_plain(false);
        self.waiting = false;
        let first = !self.hot.is_seen();
        self.hot.seen(at);
        self.single = first;
        let batch = self.batches.of(submitted);
        // Flushes are waited for, too.
        if !self.promise.is_any() {
            self.account.completed(&self.costs, at, time);
        }
        let before = match self.delays.is_any() {
            true => self.delays.take(submitted),
            false => Before::default(),
        };
        let Some(kept) = kept else { return };
        let (kind, _, since) = self.last;
        if first && kind == StepKind::Block {
            self.idle += self.idle_of(kind, at.since(since));
        }
        let seen = self.seen(kept, time, at);
        // It took longer than an unknown one is watched for, and the next need not be watched for as long.
        if kind == StepKind::Block && self.history[kept].len() == 1 {
            self.plan_soon();
        }
        // All I/Os of a batch are prepared before the first is submitted.
        let making = self.costs.around.0.saturating_mul(u64::from(batch.others));
        let mut own = seen.own.saturating_add(before.own);
        if batch.own {
            own = own.saturating_add(making);
        }
        let mut had = time.saturating_add(before.time).saturating_add(making);
        if self.idle > 0.0 {
            let cold = self.costs.cold_after(self.idle) as u64;
            own = own.saturating_add(cold);
            had = had.saturating_add(cold);
        }
        let polled = had.saturating_sub(own);
        self.saw((submitted, before), (time, polled, had), seen.forgotten);
    }

    /// Counts an I/O that was seen `had` nanoseconds after its request, and that polling would have seen `polled`
    /// after it.
    fn saw(
        &mut self,
        (submitted, before): (Nanos, Before),
        (time, polled, had): (u64, u64, u64),
        forgotten: bool,
    ) {
        self.shared.completed();
        self.delays.leave(before, had - polled);
        let of_note = self.promise.seen(polled);
        if of_note | forgotten | (submitted == self.ended) | (had != polled) {
            self.noted((submitted, before), (time, polled, had), forgotten);
        }
    }

    /// Takes in an I/O that is one of the slowest, late, or otherwise not like most.
    #[inline(never)]
    fn noted(
        &mut self,
        (submitted, before): (Nanos, Before),
        (time, polled, had): (u64, u64, u64),
        forgotten: bool,
    ) {
        if submitted == self.ended {
            self.gaps.took(polled as f64);
            self.delays.took_first(time as f64);
        }
        let sight = self.promise.sight(polled, had);
        if sight.slow {
            let behind = match self.single {
                true => self.hot.polled.since(self.hot.before).0 as f64,
                false => 0.0,
            };
            let behind = (submitted < self.hot.before).then_some(behind);
            self.delays
                .slowest(before, time as f64, behind, self.gaps.open());
        }
        if forgotten || sight.worse {
            self.plan_soon();
        }
    }

    /// Adds to the history an I/O of the class at `kept` that was seen at `at`, `time` after its submission.
    #[inline]
    fn seen(&mut self, kept: usize, time: u64, at: Nanos) -> Seen {
        let (history, plan) = (&mut self.history[kept], &self.plans[kept]);
        let (kind, until, since) = self.last;
        let exact = |history: &mut History, own: u64| Seen {
            own: own.min(time),
            forgotten: history.add(time.saturating_sub(own)),
        };
        match kind {
            // It may have completed at any time since others have had the core.
            _ if self.lost => Seen {
                own: 0,
                forgotten: history.add_within(time, u8::MAX),
            },
            StepKind::Spin => exact(history, 0),
            StepKind::Monitor => exact(history, self.costs.pause_exit.0),
            StepKind::UserInterrupt => exact(history, self.costs.user_interrupt.0),
            StepKind::Block => {
                let expected = self.costs.block_delay(at.since(since).0 as f64);
                // Among I/Os that differ by more, a block shows nothing of the wake-up; and next to others that
                // blocks ended, their times without a wake-up are not known.
                let tells = plan.spread < 4.0 * expected;
                if tells && plan.known > 0.0 {
                    self.lateness
                        .block_was((time as f64 - plan.known) / expected);
                }
                let own = ((expected * self.lateness.slow()) as u64).min(time);
                Seen {
                    own,
                    forgotten: history.add_blocked(time - own, time),
                }
            }
            // Another queue of the core had woken it before.
            StepKind::Sleep | StepKind::Pause if at < until => exact(history, 0),
            StepKind::Sleep | StepKind::Pause => Seen {
                own: time.saturating_sub(plan.shortest).max(1).min(time),
                forgotten: history.add_within(time, plan.many),
            },
        }
    }

    pub(super) fn lost(&mut self, time: Nanos, at: Nanos) {
        self.set_plain(false);
        self.lost = true;
        self.others_had(time, at);
    }

    /// Counts `time` until `at` for which others had the core.
    fn others_had(&mut self, time: Nanos, at: Nanos) {
        if self.shared.lost(time, at) {
            self.plan_soon();
        }
    }

    pub(super) fn woke(&mut self, at: Nanos) {
        // While a queue has nothing out it plans nothing, and the core sleeps as its other queues plan.
        if !std::mem::take(&mut self.waiting) {
            return;
        }
        let (kind, until, since) = self.last;
        if matches!(kind, StepKind::Sleep | StepKind::Block) {
            let idle = self.idle_of(kind, at.since(since));
            if kind == StepKind::Block && at >= until {
                let late = (at - until).0 as f64;
                self.lateness.block_was(late / self.costs.block_delay(idle));
            }
            self.idle += idle;
            // The step is taken into account.
            self.last.2 = at;
        }
        // A sleep that ended early was cut short by a deadline.
        if kind == StepKind::Sleep && at >= until {
            let length = until.since(since + self.costs.sleep_before).0 as f64;
            let expected = self.costs.timer_delay(length);
            let lost = self.lateness.timer_was((at - until).0 as f64, expected);
            self.others_had(Nanos(lost as u64), at);
        }
    }

    /// Returns the longest nanoseconds until the core goes on after the step that it takes.
    fn woken(&self) -> u64 {
        let exit = self
            .costs
            .idle
            .last()
            .map_or(Nanos::ZERO, |state| state.exit);
        let slow = |time: Nanos| (time.0 as f64 * self.lateness.slow()) as u64;
        match self.last.0 {
            StepKind::Spin => 0,
            StepKind::Pause | StepKind::Monitor => self.costs.pause_exit.0,
            StepKind::UserInterrupt => self.costs.user_interrupt.0,
            StepKind::Sleep => slow(exit + self.costs.sleep_after),
            StepKind::Block => slow(exit + self.costs.block_after),
        }
    }

    /// Returns the nanoseconds for which the core was idle in a step of `kind` that took `time`.
    fn idle_of(&self, kind: StepKind, time: Nanos) -> f64 {
        let awake = match kind {
            StepKind::Sleep => self.costs.sleep_before + self.costs.sleep_after,
            _ => self.costs.block_before + self.costs.block_after,
        };
        (time.since(awake).0 as f64).max(1.0)
    }

    #[inline]
    pub(super) fn plan(&mut self, outstanding: &dyn Outstanding, now: Nanos) -> Step {
        if self.hot.waits()
            && let Some(watch) = self.watch.get(self.hot.spun_for())
        {
            let until = Nanos(self.hot.newest.0.wrapping_add(*watch));
            if until > now {
                self.hot.spins();
                return Step::new(StepKind::Spin, until);
            }
        }
        self.plan_anyhow(outstanding, now)
    }

    /// Plans a wait that needs more than a spin for the newest I/O.
    #[inline(never)]
    fn plan_anyhow(&mut self, outstanding: &dyn Outstanding, now: Nanos) -> Step {
        let count = outstanding.count();
        let planned = self.hot.waits_more(count);
        self.delays.pause();
        self.hot.set_waited(false);
        self.sum_up_spins();
        if count == 0 {
            let step = self.nap(now);
            self.account.pause(&self.costs, now);
            self.took(step, now);
            return step;
        }
        self.depth += (f64::from(count as u32) - self.depth) / 16.0;
        // The first wait after a completion, and after a submission that followed it.
        if count == 1 && self.hot.is_seen() && self.hot.newest >= self.hot.polled {
            let begin = now.since(self.hot.newest).0 as f64;
            self.begin += (begin - self.begin) / 16.0;
        }
        self.gaps.waited();
        if !planned {
            if now >= self.again || self.has_changed() {
                self.replan(now);
            } else {
                self.learn();
                self.hot.set_waits(WAITS);
            }
        }
        let step = match self.watch_newest(count, now) {
            Some(step) => step,
            None if self.rests && self.outgrown(count) => {
                Step::new(StepKind::Spin, now + self.costs.around)
            }
            None => self.step_of_all((outstanding, count), now),
        };
        if !self.promise.is_any() {
            self.account.took(&self.costs, step, now);
        }
        self.took(step, now);
        step
    }

    /// Takes in the spins since the last wait of another kind.
    fn sum_up_spins(&mut self) {
        let Some(spins) = self.hot.take_spins() else {
            return;
        };
        // Their mean has the weight of that many single waits.
        let part = f64::min(spins.waits / 16.0, 1.0);
        self.depth += (spins.depth - self.depth) * part;
    }

    /// Lets plans be made again at the next wait.
    fn plan_soon(&mut self) {
        self.hot.plan_soon();
        self.again = Nanos::ZERO;
    }

    /// Returns true if many more or fewer I/Os are out than when plans were made.
    fn has_changed(&self) -> bool {
        self.depth > 1.5 * self.planned || self.planned > 1.5 * self.depth
    }

    /// Returns true if a latency is promised, and so many more I/Os are out than when plans were made that the plans
    /// are of no use.
    fn outgrown(&self, count: usize) -> bool {
        f64::from(count as u32) > 2.0 * self.planned + 1.0 && self.promise.is_any()
    }

    /// Returns the step while no I/O is out.
    fn nap(&mut self, now: Nanos) -> Step {
        self.delays.clear();
        let since = self.gaps.began(now);
        self.gaps.step(since, now)
    }

    /// Watches as the plan of the newest I/O says, if many are out, no plan has a rest or a loose watch, and no block
    /// for the newest keeps the core from a watch for others.
    #[inline]
    fn watch_newest(&self, count: usize, now: Nanos) -> Option<Step> {
        if count < MANY || self.rests {
            return None;
        }
        let plan = self.plans.get(self.hot.class())?;
        if self.mixed && plan.plan.watch == StepKind::Block {
            return None;
        }
        let until = self.hot.newest + Nanos(plan.watch_until);
        (until > now).then(|| watch(plan, until))
    }

    /// Returns the step that the plans of all I/Os that are out ask for.
    fn step_of_all(&self, (outstanding, count): (&dyn Outstanding, usize), now: Nanos) -> Step {
        let waited = self.delays.longest();
        let mut all = Ends::NONE;
        // A single one takes fewer instructions.
        if count == 1 {
            let mut one = None;
            outstanding.for_each(&mut |class, submitted| one = Some((class, submitted)));
            if let Some((class, submitted)) = one {
                all.add(self.plan_of(class), submitted, waited, now);
            }
            return all.step(&self.costs, now);
        }
        outstanding.for_each(&mut |class, submitted| {
            all.add(self.plan_of(class), submitted, waited, now);
        });
        all.step(&self.costs, now)
    }

    /// The plan of the I/Os of `class`.
    #[inline]
    fn plan_of(&self, class: Class) -> &ClassPlan {
        self.plans.get(class.place()).unwrap_or(&self.unknown)
    }

    fn took(&mut self, step: Step, now: Nanos) {
        if self.hot.waits_first() {
            self.single = true;
            self.idle = 0.0;
        }
        self.last = (step.kind, step.until, now);
        (self.waiting, self.lost) = (true, false);
        // A spin changes nothing of that.
        let plain = step.kind == StepKind::Spin
            && self.idle == 0.0
            && self.promise.is_any()
            && !self.gaps.is_one()
            && !self.delays.is_any()
            && !self.shared.counts();
        if plain {
            self.delays.leave_nothing();
        }
        self.set_plain(plain);
    }
}
