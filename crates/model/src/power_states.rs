//! The behaviour of NVMe power states (Base 8.15): the state of a device, the cost of leaving it, and the time in
//! each state.

use joulio_units::{Direction, Joules, Nanos, Watts};

use crate::DeviceProfile;
use crate::device::{DevicePower, PowerState};

/// Largest number of power states of a controller.
const MAX_STATES: usize = 32;

/// Entry of feature 0Ch, Autonomous Power State Transition, for one power state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Target power state (ITPS).
    pub to: u8,
    /// Idle time in this state after which the transition begins (ITPT); zero: never.
    pub after: Nanos,
}

/// The table of feature 0Ch, with one entry per power state.
pub type Transitions = [Option<Transition>; MAX_STATES];

/// Power states of one device over time.
///
/// There is no clock: the user reports the beginnings and ends of I/Os, and the host's requests. Times must not
/// decrease; an earlier one counts as the latest. Autonomous transitions need no timer: the next report makes those
/// that are due.
///
/// - A transition from state a to state b takes a's exit latency and b's entry latency (Base 8.15),
///   and begins when the one before it is over.
/// - A non-operational state is entered when the last I/O is over. When an I/O comes, the device returns to the last
///   operational state, and the I/O starts at the end of that transition; so it also waits for the rest of an entry.
/// - Idle time is counted from the end of the last I/O or from the entry of the state, whichever is later. Only
///   transitions to deeper non-operational states are made: others could form an endless cycle.
/// - The time of a transition is charged to the shallower of its two states, which draws more.
#[derive(Clone, Debug)]
pub struct PowerStates {
    states: Box<[State]>,
    transitions: Transitions,
    autonomous: bool,
    /// The present state, or the target of the transition under way.
    current: u8,
    /// The state before that.
    left: u8,
    /// The last operational state.
    operational: u8,
    /// The state to which the latest transition is charged.
    charged: u8,
    /// End of the transition before the latest.
    before: Nanos,
    /// Beginning of the latest transition.
    begun: Nanos,
    /// End of the latest transition.
    settled: Nanos,
    /// End of the last I/O.
    idle: Nanos,
    /// Time up to which `residency` is counted.
    counted: Nanos,
    residency: [Nanos; MAX_STATES],
}

/// Figures of one power state.
#[derive(Clone, Copy, Debug)]
struct State {
    operational: bool,
    entry: Nanos,
    exit: Nanos,
    idle: Watts,
    /// Factors on the times of a read and a write.
    stretch: [f64; 2],
}

impl PowerStates {
    /// Returns the states of a device that is switched on at `start`: in power state 0, idle.
    pub fn new(profile: &DeviceProfile, start: Nanos) -> PowerStates {
        let power = &profile.power;
        let states = power.states.iter().take(MAX_STATES);
        PowerStates {
            states: states.map(|state| State::new(state, power)).collect(),
            transitions: [None; MAX_STATES],
            autonomous: false,
            current: 0,
            left: 0,
            operational: 0,
            charged: 0,
            before: start,
            begun: start,
            settled: start,
            idle: start,
            counted: start,
            residency: [Nanos::ZERO; MAX_STATES],
        }
    }

    /// Returns the power state at `at`, or the target of a transition under way, which Get Features 02h reports.
    pub fn current(&mut self, at: Nanos) -> u8 {
        self.advance(at);
        self.current
    }

    /// Reports that an I/O comes at `at`; returns the time at which the device can start it, `at` or later.
    #[inline]
    pub fn submitted(&mut self, at: Nanos) -> Nanos {
        if self.autonomous {
            self.advance(at);
        }
        if !self.operates(self.current) {
            self.go(self.operational, at);
        }
        at.max(self.settled)
    }

    /// Reports that all I/Os so far end by `at`, which may be in the future.
    #[inline]
    pub fn idle_since(&mut self, at: Nanos) {
        self.idle = self.idle.max(at);
    }

    /// Requests power state `ps` at `at`, for the host. Returns `false`, without effect, if the device has no such
    /// state.
    pub fn set(&mut self, ps: u8, at: Nanos) -> bool {
        if usize::from(ps) >= self.states.len() {
            return false;
        }
        self.advance(at);
        if self.operates(ps) {
            self.operational = ps;
        }
        self.go(ps, at);
        true
    }

    /// Sets the table of transitions by idle time at `at`, for the host; if all are `None`, there are no
    /// transitions.
    pub fn apst(&mut self, transitions: &Transitions, at: Nanos) {
        self.advance(at);
        self.transitions = *transitions;
        for (from, transition) in self.transitions.iter_mut().enumerate() {
            *transition = transition.filter(|found| {
                let to = usize::from(found.to);
                let sleeps = self.states.get(to).is_some_and(|state| !state.operational);
                sleeps && to > from && found.after > Nanos::ZERO
            });
        }
        self.autonomous = self.transitions.iter().any(Option::is_some);
    }

    /// Resets the controller at `at`: it is in power state 0 at once, and has no table. Earlier times in states
    /// still count.
    pub fn reset(&mut self, at: Nanos) {
        self.advance(at);
        let now = self.counted;
        self.apst(&[None; MAX_STATES], now);
        (self.current, self.left, self.operational) = (0, 0, 0);
        (self.before, self.begun, self.settled) = (now, now, now);
        self.idle = now;
    }

    /// Returns the factor on the time of an I/O in the current operational state; 1 in power state 0.
    ///
    /// A state that may draw only a fraction of the device's watts in power state 0 serves only that fraction of
    /// I/Os. This is a model, since no vendor publishes how a device keeps its limit. A limit of zero watts means
    /// that it is unknown.
    #[inline]
    pub fn stretch(&self, direction: Direction) -> f64 {
        let state = self.states.get(usize::from(self.operational));
        match direction {
            Direction::Read => state.map_or(1.0, |state| state.stretch[0]),
            Direction::Write => state.map_or(1.0, |state| state.stretch[1]),
            Direction::Other => 1.0,
        }
    }

    /// Returns the time in each state until `at`; their sum is the time since the device was switched on.
    pub fn residency(&self, at: Nanos) -> [Nanos; MAX_STATES] {
        let mut then = self.clone();
        then.advance(at);
        then.residency
    }

    /// Returns the energy until `at` without any I/O: each state's idle power times the time in it. The idle power
    /// is the profile's IDLP, or else MP, if that is less than the idle power of power state 0.
    pub fn idle_energy(&self, at: Nanos) -> Joules {
        let residency = self.residency(at);
        let energies = self.states.iter().zip(residency);
        energies.fold(Joules::default(), |sum, (state, time)| {
            sum + state.idle * time
        })
    }

    fn operates(&self, ps: u8) -> bool {
        let state = self.states.get(usize::from(ps));
        state.is_none_or(|state| state.operational)
    }

    /// Makes the transitions that are due by `to`, and counts residency up to then.
    fn advance(&mut self, to: Nanos) {
        while let Some(transition) = self.transitions[usize::from(self.current)] {
            let due = self.idle.max(self.settled) + transition.after;
            if due > to {
                break;
            }
            self.go(transition.to, due);
        }
        self.count(to);
    }

    /// Begins the transition to `target` at `at`, or when the one under way is over.
    fn go(&mut self, target: u8, at: Nanos) {
        self.count(at);
        let at = self.counted;
        if at < self.begun {
            // The transition waited for the end of I/O and has not begun: it is cancelled.
            (self.current, self.begun, self.settled) = (self.left, at, self.before);
        }
        if target == self.current {
            return;
        }
        let moving = at < self.settled;
        let shallower = if moving { self.charged } else { self.current };
        self.charged = shallower.min(self.current).min(target);
        self.begun = at.max(self.settled);
        if !self.operates(target) {
            self.begun = self.begun.max(self.idle);
        }
        self.before = self.settled;
        self.settled = self.begun + self.latency(self.current, target);
        (self.left, self.current) = (self.current, target);
    }

    fn latency(&self, from: u8, to: u8) -> Nanos {
        let state = |ps: u8| self.states.get(usize::from(ps));
        let exit = state(from).map_or(Nanos::ZERO, |state| state.exit);
        let entry = state(to).map_or(Nanos::ZERO, |state| state.entry);
        exit + entry
    }

    /// Counts residency up to `to`.
    fn count(&mut self, to: Nanos) {
        let to = to.max(self.counted);
        let moving = to.min(self.settled).since(self.counted);
        let there = to.since(self.counted).since(moving);
        self.residency[usize::from(self.charged)] += moving;
        self.residency[usize::from(self.current)] += there;
        self.counted = to;
    }
}

impl State {
    fn new(state: &PowerState, power: &DevicePower) -> State {
        let cap = state.max_power_watts.value;
        let max = power.states[0].max_power_watts.value;
        let stretch = |active: f64| {
            let active = active.min(max);
            if cap > 0.0 && cap < active {
                active / cap
            } else {
                1.0
            }
        };
        let awake = power.idle_watts.value;
        let idle = if cap > 0.0 { awake.min(cap) } else { awake };
        State {
            operational: state.operational,
            entry: Nanos::from_micros(state.entry_latency_us.count()),
            exit: Nanos::from_micros(state.exit_latency_us.count()),
            idle: state
                .idle_watts
                .as_ref()
                .map_or(Watts(idle), |figure| figure.watts()),
            stretch: [
                stretch(power.read_active_watts.value),
                stretch(power.write_active_watts.value),
            ],
        }
    }
}
