//! The least energy that keeps a promise.

mod account;
mod costs;
mod deep;
mod gaps;
mod goal;
mod history;
mod lateness;
mod plan;
mod points;
mod promise;
mod quantile;
mod shared;
#[cfg(test)]
mod tests;

pub use costs::{IdleCost, WaitCosts};
pub use goal::{Goal, Objective, Promised};

use crate::{
    Class, ExpectedCost, Outstanding, PlannedWait, Policy, Slept, Step, StepKind, StepSet,
};
use account::Account;
use gaps::Gaps;
use history::{FEW, History};
use joulio_units::{Joules, Nanos};
use lateness::{Lateness, SLOWEST};
use plan::{Cost, DEEPEST, Plan, Pricing, Then, Watch};
use points::{POINTS, Points};
use promise::{Cause, Promise};
use shared::Shared;
use std::borrow::Cow;

/// Plans each wait from what I/Os took lately and from what each step costs: rests until a completion is
/// likely, watches, blocks when it takes longer than any lately. A plan is priced in joules and in
/// delay, which is dearer the nearer the promise is to be broken.
#[derive(Clone, Debug)]
pub struct Adaptive(Box<State>);

/// What the policy knows, and what it plans.
#[derive(Clone, Debug)]
struct State {
    costs: WaitCosts,
    /// Watts that flow as long as an I/O of a closed loop takes, whatever the core does.
    share: f64,
    steps: StepSet,
    watches: Vec<Watch>,
    history: [History; Class::KEPT],
    plans: [ClassPlan; Class::KEPT],
    unknown: ClassPlan,
    promise: Promise,
    gaps: Gaps,
    /// How late timers and interrupts are, as measured lately.
    lateness: Lateness,
    /// Commands out at a wait, lately.
    depth: f64,
    /// What that was when plans were made.
    planned: f64,
    /// Nanoseconds from a submission to the first wait after it.
    begin: f64,
    /// The I/O that was submitted last: the place of its class, and when.
    newest: (u8, Nanos),
    /// True if the plan of some class begins with a rest.
    rests: bool,
    /// Who else has the core.
    shared: Shared,
    /// What waits have cost, where nothing is promised.
    account: Account,
    /// Waits until plans are made anew.
    waits: u32,
    /// When they may be.
    again: Nanos,
    /// The step that was taken last, its end at the latest, and its begin.
    last: (StepKind, Nanos, Nanos),
    /// When the completions of the last poll were seen.
    polled: Nanos,
    /// I/Os that are out and had to wait before their submission: when that was, nanoseconds that they
    /// waited, and how much of it may be the policy's doing.
    waiting: Vec<(Nanos, u64, u64)>,
    /// Nanoseconds that the next one waited.
    waited: u64,
    /// Nanoseconds by which the policy may have delayed I/Os since nothing was out.
    delayed: u64,
    /// Nanoseconds by which a nap may have delayed I/Os since then.
    napped: u64,
    /// Nanoseconds that the slowest I/O took lately, from its request on.
    worst: f64,
    /// Nanoseconds that the core was idle since the last completion.
    idle: f64,
}

/// What the sight of a completion says.
struct Seen {
    /// Nanoseconds by which it is late by the policy's doing, as expected and at most.
    own: u64,
    most: u64,
    /// True if the class's history was forgotten.
    forgotten: bool,
}

/// The plan of the I/Os of a class, by nanoseconds after the submission.
#[derive(Clone, Copy, Debug)]
struct ClassPlan {
    plan: Plan,
    rest: StepKind,
    rest_until: u64,
    watch_until: u64,
    /// I/Os in a row that have completed when the core wakes before that is a surprise.
    many: u8,
    /// The shortest that one of them took lately, and the median.
    shortest: u64,
    median: f64,
    /// Nanoseconds between the quarters of them.
    spread: f64,
    /// What an I/O is expected to cost, where that is known.
    cost: Option<Cost>,
}

impl ClassPlan {
    /// The plan of a class without a history, of which an I/O is watched for `watch` nanoseconds.
    const fn unknown(watch: u64) -> ClassPlan {
        ClassPlan {
            plan: Plan::unknown(false),
            rest: StepKind::Sleep,
            rest_until: 0,
            watch_until: watch,
            many: u8::MAX,
            shortest: 0,
            median: 0.0,
            spread: 0.0,
            cost: None,
        }
    }

    /// The plan as others see it.
    fn planned(&self) -> PlannedWait {
        PlannedWait {
            rest: (self.rest_until > 0).then_some((self.rest, Nanos(self.rest_until))),
            watch: self.plan.watch,
            watch_until: Nanos(self.watch_until),
            expected: self.cost.map(|cost| ExpectedCost {
                energy: Joules(cost.joules * 1e-9),
                delay: Nanos(cost.delay as u64),
            }),
        }
    }
}

/// Waits between two plans.
const WAITS: u32 = 32;
/// Time between two plans above depth 1, for each pair of I/Os that are out.
const REST: Nanos = Nanos::from_micros(16);
/// I/Os of which it is remembered how long they waited to be submitted.
const WAITING: usize = 256;
/// Price in watts at which no delay pays.
const FORBIDDEN: f64 = 1e12;
/// Commands out from which on it is enough to look at the newest where no plan has a rest.
const MANY: usize = 4;
/// Points of the history at which a rest may end.
const LEVELS: [usize; 6] = [0, 2, 5, 8, 12, 15];
/// Factor on what a delay is worth where the load comes by itself: what waits behind a delayed I/O is
/// delayed too, and the policy does not see it.
const OPEN: f64 = 8.0;

impl Adaptive {
    /// Creates a policy that reaches `goal` for one of so many `jobs` on a machine of `costs`, by `steps`;
    /// [`Adaptive::STEPS`] are among them.
    ///
    /// # Panics
    /// `costs` has no idle state.
    pub fn new(costs: WaitCosts, goal: Goal, jobs: usize, steps: StepSet) -> Adaptive {
        Adaptive(Box::new(State::new(costs, goal, jobs, steps)))
    }

    /// Creates a policy for a machine whose costs are not known, with the latency budget and the
    /// objective by default, that spins, sleeps and blocks.
    pub fn generic() -> Adaptive {
        Adaptive::new(WaitCosts::generic(), Goal::default(), 1, Adaptive::STEPS)
    }

    /// Steps that every machine has.
    pub const STEPS: StepSet = StepSet::NONE
        .with(StepKind::Spin)
        .with(StepKind::Sleep)
        .with(StepKind::Block);
}

impl State {
    fn new(costs: WaitCosts, goal: Goal, jobs: usize, steps: StepSet) -> State {
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
        let promise = Promise::new(goal.promised, costs.around, spin);
        let unknown = ClassPlan::unknown(promise.watch(costs.break_even()));
        State {
            watches: watches.collect(),
            history: [History::default(); Class::KEPT],
            plans: [unknown; Class::KEPT],
            unknown,
            promise,
            gaps: Gaps::default(),
            lateness: Lateness::new(),
            depth: 1.0,
            planned: 1.0,
            begin: 0.0,
            newest: (0, Nanos::ZERO),
            rests: false,
            shared: Shared::new(&costs),
            account: Account::default(),
            waits: 0,
            again: Nanos::ZERO,
            last: (StepKind::Spin, Nanos::ZERO, Nanos::ZERO),
            polled: Nanos::ZERO,
            waiting: Vec::with_capacity(WAITING),
            waited: 0,
            delayed: 0,
            napped: 0,
            worst: 0.0,
            idle: 0.0,
            share: costs.share(goal.objective, jobs),
            costs,
            steps,
        }
    }

    /// Makes the plans anew.
    #[cold]
    fn replan(&mut self, now: Nanos) {
        self.promise.relax();
        self.lateness.forget();
        self.delayed -= self.delayed / 8;
        self.unknown = ClassPlan::unknown(self.promise.watch(self.costs.break_even()));
        let depth = self.depth.round().max(1.0) as u32;
        self.planned = self.depth;
        let deep = u64::from(depth.min(DEEPEST as u32));
        let rest = if depth == 1 { 0 } else { REST.0 * deep * deep };
        (self.waits, self.again) = (WAITS, now + Nanos(rest));
        let open = self.gaps.open();
        let factor = if open { OPEN } else { 1.0 };
        let median = self.plans.iter().map(|class| class.median);
        let median = median.filter(|time| *time > 0.0).fold(f64::MAX, f64::min);
        let negligible = self.promise.negligible() as f64;
        let slack = self.promise.shortest() as f64 - 2.5 * self.worst;
        let behind = Promise::negligible_of(median).min(negligible).max(slack);
        let negligible = negligible.max(slack);
        let crowded = self.shared.is_crowded(now);
        let (costs, watches) = match crowded {
            true => (self.shared.costs(), self.shared.watches()),
            false => (&self.costs, &*self.watches),
        };
        let tight = self.promise.is_tight() && !crowded;
        // Where others want the core a delay is worth the same whatever is promised.
        let worth = |price: f64| if crowded { shared::PRICE } else { price };
        let pricing = Pricing {
            costs,
            watches,
            begin: if depth == 1 { self.begin } else { 0.0 },
            late: self.lateness.timer(),
            slow: self.lateness.slow(),
            share: if open || crowded { 0.0 } else { self.share },
            price: match open && tight {
                true => FORBIDDEN,
                false => worth(self.promise.price(Cause::Wait) * factor),
            },
            least: worth(self.promise.least() * factor),
            negligible,
            promised: if tight {
                self.promise.watch(costs.break_even()) as f64
            } else {
                0.0
            },
        };
        let nap = Pricing {
            price: match tight {
                true => FORBIDDEN,
                false => worth(self.promise.price(Cause::Nap) * OPEN),
            },
            least: worth(self.promise.least() * OPEN),
            // One delay for all that wait behind it.
            negligible: behind.max(self.promise.slack() as f64 * self.gaps.idle_share() / 2.0),
            ..pricing
        };
        self.gaps.plan(&nap, self.promise.is_any());
        let negligible = if open { behind } else { pricing.negligible };
        let pricing = Pricing {
            negligible,
            ..pricing
        };
        // What a plan by time of the core costs in joules.
        let joules = Pricing {
            costs: &self.costs,
            watches: &self.watches,
            ..pricing
        };
        for (history, class) in self.history.iter_mut().zip(&mut self.plans) {
            if history.len() == 0 {
                *class = self.unknown;
                continue;
            }
            if !history.is_fresh() {
                continue;
            }
            let points = history.points();
            let (plan, cost) = match history.len() < FEW {
                true => (Plan::unknown(self.promise.is_any()), None),
                false if self.account.is_overdrawn() => (Plan::unknown(false), None),
                false => {
                    let levels: &[usize] = if open { &[0] } else { &LEVELS };
                    choose(&pricing, self.steps, (&points, levels), depth as usize)
                }
            };
            let cost = match crowded {
                true => cost.map(|_| joules.cost(plan, &points, depth as usize)),
                false => cost,
            };
            let longest = history.longest().0 as f64;
            let (rest, rest_until) = match plan.rest {
                Some((kind, point)) => {
                    let time = match point {
                        // It is to be awake when the shortest completes.
                        0 => history.shortest() as f64 - 2.0 * self.costs.poll.0 as f64,
                        point => points[point],
                    };
                    let until = pricing.rest_until(kind, time);
                    (
                        kind,
                        if until > pricing.shortest(kind) {
                            until
                        } else {
                            0.0
                        },
                    )
                }
                None => (StepKind::Sleep, 0.0),
            };
            *class = ClassPlan {
                plan,
                rest,
                rest_until: rest_until as u64,
                watch_until: pricing.watch_until(plan, longest) as u64,
                many: plan
                    .rest
                    .map_or(u8::MAX, |(_, point)| surprising(point, depth)),
                shortest: history.shortest(),
                median: points.median(),
                spread: points.spread(),
                cost,
            };
        }
        self.rests = self.plans.iter().any(|class| class.rest_until > 0);
    }

    /// An I/O comes by itself at `at`: nothing has completed since the last wait.
    #[cold]
    fn arrived(&mut self, at: Nanos) {
        self.gaps.arrived();
        if self.gaps.is_one() {
            let gap = self.gaps.ended(at) as f64;
            self.delayed = 0;
            if self.last.0 == StepKind::Block {
                self.idle = gap;
            }
            // What arrives while the core is blocked waits until it is awake.
            self.napped = match self.last.0 {
                StepKind::Block => (self.costs.nap_delay(gap) * self.lateness.slow()) as u64,
                _ => 0,
            };
        }
    }

    /// The I/O that is submitted at `at` had to wait.
    #[cold]
    fn waiting(&mut self, at: Nanos) {
        let waited = std::mem::take(&mut self.waited);
        let own = self.delayed.saturating_add(self.napped);
        if self.waiting.len() == WAITING {
            // Commands that a reset ended are still there.
            self.waiting.clear();
        }
        self.waiting.push((at, waited, waited.min(own)));
    }

    /// Nanoseconds that an I/O which was submitted at `submitted` waited before, and how much of it may be
    /// the policy's doing.
    #[cold]
    fn take_waiting(&mut self, submitted: Nanos) -> (u64, u64) {
        let mut waiting = self.waiting.iter();
        match waiting.position(|one| one.0 == submitted) {
            Some(index) => {
                let (_, waited, own) = self.waiting.swap_remove(index);
                (waited, own)
            }
            None => (0, 0),
        }
    }

    /// Returns true if there are many more or fewer I/Os out than plans were made for.
    fn has_changed(&self) -> bool {
        self.depth > 1.5 * self.planned || self.planned > 1.5 * self.depth
    }

    /// Nothing is out.
    fn nap(&mut self, now: Nanos) -> Step {
        self.waiting.clear();
        let since = self.gaps.began(now);
        self.gaps.step(since, now)
    }
}

/// I/Os in a row that have completed when the core wakes, by chance in one case of a thousand, where it
/// rests until `point` and `depth` are out.
fn surprising(point: usize, depth: u32) -> u8 {
    let share = (2 * point + 1) as f64 / (2 * POINTS) as f64;
    let many = (0.001_f64.ln() / share.ln()).ceil() * f64::from(depth);
    many.clamp(4.0, f64::from(u8::MAX)) as u8
}

/// The cheapest plan for I/Os that take `points`, `depth` of which are out.
fn choose(
    pricing: &Pricing<'_>,
    steps: StepSet,
    (points, levels): (&Points, &[usize]),
    depth: usize,
) -> (Plan, Option<Cost>) {
    let mut best = (f64::MAX, Plan::unknown(false), None);
    let consider = |best: &mut (f64, Plan, Option<Cost>), plan: Plan| {
        let cost = pricing.cost(plan, points, depth);
        let value = pricing.value(cost, depth);
        if value < best.0 {
            *best = (value, plan, Some(cost));
        }
    };
    for watch in pricing.watches.iter().map(|watch| watch.kind) {
        for then in [Then::Longest, Then::BreakEven] {
            consider(
                &mut best,
                Plan {
                    rest: None,
                    watch,
                    then,
                },
            );
        }
    }
    if steps.has(StepKind::Block) {
        consider(
            &mut best,
            Plan {
                rest: None,
                watch: StepKind::Spin,
                then: Then::Block,
            },
        );
    }
    let watch = best.1.watch;
    for kind in [StepKind::Pause, StepKind::Sleep] {
        if !steps.has(kind) {
            continue;
        }
        for &point in levels {
            let until = pricing.rest_until(kind, points[point]);
            if until <= pricing.shortest(kind) {
                continue;
            }
            let others = [StepKind::Spin, watch];
            let others = &others[usize::from(watch == StepKind::Spin)..];
            for &watch in others {
                consider(
                    &mut best,
                    Plan {
                        rest: Some((kind, point)),
                        watch,
                        then: Then::Longest,
                    },
                );
            }
        }
    }
    (best.1, best.2)
}

impl Policy for Adaptive {
    fn name(&self) -> Cow<'static, str> {
        "adaptive".into()
    }

    fn steps(&self) -> StepSet {
        self.0.steps
    }

    fn timed(&self) -> bool {
        true
    }

    fn waited(&mut self, time: Nanos, _: Nanos) {
        self.0.waited(time);
    }

    #[inline]
    fn submitted(&mut self, class: Class, at: Nanos) {
        self.0.submitted(class, at);
    }

    #[inline]
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.0.completed(class, submitted, at);
    }

    fn planned(&self, class: Class) -> Option<PlannedWait> {
        let class = class.kept()?;
        Some(self.0.plans[class].planned())
    }

    fn asks_lost(&self) -> bool {
        true
    }

    fn lost(&mut self, time: Nanos, at: Nanos) {
        self.0.lost(time, at);
    }

    fn woke(&mut self, _: Slept, at: Nanos) {
        self.0.woke(at);
    }

    #[inline]
    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        self.0.plan(outstanding, now)
    }
}

impl State {
    fn waited(&mut self, time: Nanos) {
        self.waited = time.0;
    }

    #[inline]
    fn submitted(&mut self, class: Class, at: Nanos) {
        if let Some(kept) = class.kept() {
            self.newest = (kept as u8, at);
        }
        if self.polled == Nanos::MAX || self.gaps.is_one() {
            self.arrived(at);
        }
        if self.waited > 0 {
            self.waiting(at);
        }
    }

    #[inline]
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        let time = at.since(submitted).0;
        let first = std::mem::replace(&mut self.polled, at) == Nanos::MAX;
        let awake = self.last.0 == StepKind::Spin && self.idle == 0.0;
        let kept = class.kept();
        if kept.is_some() && !self.promise.is_any() {
            self.account.completed(&self.costs, at, time);
        }
        match kept {
            Some(kept) if awake && self.waiting.is_empty() => {
                let forgotten = self.history[kept].add(time);
                self.promise.learn(time);
                self.saw(time, (0, Cause::Wait), forgotten);
            }
            kept => self.completed_late(kept, (submitted, time), at, first),
        }
    }

    /// An I/O is seen that the policy, or what was before it, may have delayed.
    fn completed_late(
        &mut self,
        kept: Option<usize>,
        (submitted, time): (Nanos, u64),
        at: Nanos,
        first: bool,
    ) {
        let waited = match self.waiting.is_empty() {
            true => (0, 0),
            false => self.take_waiting(submitted),
        };
        let Some(kept) = kept else { return };
        let (kind, until, since) = self.last;
        if first && kind == StepKind::Block {
            self.idle += at.since(since).0 as f64;
        }
        let seen = self.seen(kept, time, at);
        let (mut own, mut whole) = (seen.own, time);
        if self.idle > 0.0 {
            let cold = self.costs.cold_after(self.idle) as u64;
            own = own.saturating_add(cold);
            whole = whole.saturating_add(cold);
        }
        whole = whole.saturating_add(waited.0);
        let blame = own.max(seen.most).saturating_add(waited.1);
        let cause = match self.napped > self.delayed.max(own) {
            true => Cause::Nap,
            false => Cause::Wait,
        };
        if !matches!(kind, StepKind::Sleep | StepKind::Pause) || at < until {
            self.promise
                .learn(whole.saturating_sub(own.saturating_add(waited.1)));
        }
        self.delayed = self.delayed.saturating_add(own);
        self.saw(whole, (blame, cause), seen.forgotten);
    }

    /// Counts an I/O that took `whole` from its request on, of which so much at most was the policy's
    /// doing by that cause.
    #[inline]
    fn saw(&mut self, whole: u64, (blame, cause): (u64, Cause), forgotten: bool) {
        let shorter = self.worst - whole as f64;
        self.worst -= match shorter > 0.0 {
            true => shorter / 64.0,
            false => shorter,
        };
        self.shared.completed();
        if forgotten {
            self.again = Nanos::ZERO;
        }
        if self.promise.seen(whole, blame, cause) || forgotten {
            self.waits = 0;
        }
    }

    /// Remembers that an I/O of the class at `kept` was seen at `at`, `time` after its submission.
    #[inline]
    fn seen(&mut self, kept: usize, time: u64, at: Nanos) -> Seen {
        let (history, plan) = (&mut self.history[kept], &self.plans[kept]);
        let (kind, until, since) = self.last;
        let exact = |history: &mut History, own: u64, most: u64| Seen {
            own,
            most,
            forgotten: history.add(time.saturating_sub(own)),
        };
        match kind {
            StepKind::Spin => exact(history, 0, 0),
            StepKind::Monitor => exact(history, self.costs.pause_exit.0, 0),
            StepKind::UserInterrupt => exact(history, self.costs.user_interrupt.0, 0),
            StepKind::Block => {
                let expected = self.costs.block_delay(at.since(since).0 as f64);
                // A block of the tail says nothing of it, nor one among I/Os that differ by more.
                let tells = plan.plan.then == Then::Block && plan.spread < 4.0 * expected;
                if tells && plan.median > 0.0 {
                    self.lateness
                        .block_was((time as f64 - plan.median) / expected);
                }
                let own = (expected * self.lateness.slow()) as u64;
                // Nobody knows how late it really is.
                exact(history, own, (expected * SLOWEST) as u64)
            }
            // Another queue of the core had it awake before.
            StepKind::Sleep | StepKind::Pause if at < until => exact(history, 0, 0),
            StepKind::Sleep | StepKind::Pause => Seen {
                own: time.saturating_sub(plan.shortest).max(1),
                most: 0,
                forgotten: history.add_within(time, plan.many),
            },
        }
    }

    fn lost(&mut self, time: Nanos, at: Nanos) {
        if self.shared.lost(time, at) {
            (self.waits, self.again) = (0, Nanos::ZERO);
        }
    }

    fn woke(&mut self, at: Nanos) {
        // One that ended early was cut short by a deadline.
        let (kind, until, since) = self.last;
        if kind == StepKind::Sleep && at >= until {
            let length = until.since(since + self.costs.sleep_before).0 as f64;
            let expected = self.costs.timer_delay(length);
            self.lateness.timer_was((at - until).0 as f64, expected);
        }
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, now: Nanos) -> Step {
        self.waited = 0;
        let count = outstanding.count();
        if count == 0 {
            let step = self.nap(now);
            self.account.pause(&self.costs, now);
            self.took(step, now);
            return step;
        }
        self.depth += (count as f64 - self.depth) / 16.0;
        // The first wait after a completion, and after a submission that followed it.
        if self.newest.1 >= self.polled {
            let begin = now.since(self.newest.1).0 as f64;
            self.begin += (begin - self.begin) / 16.0;
        }
        self.gaps.waited();
        match self.waits {
            0 if now >= self.again || self.has_changed() => self.replan(now),
            0 => {}
            _ => self.waits -= 1,
        }
        let step = match self.watch_newest(count, now) {
            Some(step) => step,
            None => self.look_at(outstanding, now),
        };
        if !self.promise.is_any() {
            self.account.took(&self.costs, step, now);
        }
        self.took(step, now);
        step
    }

    /// Watches where many I/Os are out and no plan has a rest, as long as the newest of them says.
    #[inline]
    fn watch_newest(&self, count: usize, now: Nanos) -> Option<Step> {
        if count < MANY || self.rests {
            return None;
        }
        let (kept, submitted) = self.newest;
        let plan = &self.plans[usize::from(kept)];
        let until = submitted + Nanos(plan.watch_until);
        (until > now).then(|| Step::new(plan.plan.watch, until))
    }

    /// What the plans of all I/Os that are out say.
    fn look_at(&self, outstanding: &dyn Outstanding, now: Nanos) -> Step {
        let (mut rest, mut watch) = (Nanos::MAX, Nanos::ZERO);
        let (mut rest_kind, mut watch_kind) = (StepKind::Sleep, StepKind::Spin);
        outstanding.for_each(&mut |class, submitted| {
            let plan = match class.kept() {
                Some(kept) => &self.plans[kept],
                None => &self.unknown,
            };
            let until = submitted + Nanos(plan.watch_until);
            if until <= now {
                // It takes longer than any lately: nobody watches for it alone.
                return;
            }
            if until > watch {
                watch = until;
                watch_kind = plan.plan.watch;
            }
            let until = submitted + Nanos(plan.rest_until);
            if until < rest {
                rest = until;
                rest_kind = plan.rest;
            }
        });
        if watch == Nanos::ZERO {
            rest = Nanos::ZERO;
        }
        let before = match rest_kind {
            StepKind::Sleep => self.costs.sleep_before,
            _ => self.costs.poll,
        };
        if rest != Nanos::MAX && rest > now + before {
            Step::new(rest_kind, rest)
        } else if watch > now {
            Step::new(watch_kind, watch)
        } else {
            Step::BLOCK
        }
    }

    fn took(&mut self, step: Step, now: Nanos) {
        if self.polled != Nanos::MAX {
            // The first wait after a completion.
            self.polled = Nanos::MAX;
            self.idle = 0.0;
        }
        if step.kind == StepKind::Sleep {
            self.idle += step.until.since(now).0 as f64;
        }
        self.last = (step.kind, step.until, now);
    }
}
