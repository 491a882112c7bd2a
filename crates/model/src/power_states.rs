//! NVMe power states as behaviour (Base 8.15): the state of a device, the cost of leaving it, and the time in each
//! state.

use joulio_units::{Direction, Joules, Nanos, Watts};

use crate::DeviceProfile;
use crate::device::{DevicePower, PowerState};

/// The most power states of a controller.
const MAX_STATES: usize = 32;

/// The entry of feature 0Ch, Autonomous Power State Transition, for one power state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The power state to go to (ITPS).
    pub to: u8,
    /// Idle time in this state after which the transition begins (ITPT); zero: never.
    pub after: Nanos,
}

/// The table of feature 0Ch, by power state.
pub type Transitions = [Option<Transition>; MAX_STATES];

/// The power states of one device over time.
///
/// It has no clock: its user reports when I/Os come and end, and the host's requests. Times must not decrease; an
/// earlier one counts as the latest. Autonomous transitions need no timer: they are made up for at the next report.
///
/// - A transition from state a to state b takes a's exit latency and b's entry latency (Base 8.15),
///   and begins when the one before it is over.
/// - A state that does no I/O is entered when the last I/O is over, and left for the last state
///   that did when one comes. The I/O starts when that transition is over; so it waits for the rest
///   of an entry, too.
/// - Transitions by idle time run from the later of the last I/O's end and the state's entry. Only
///   those to deeper states that do no I/O are followed: others could go round for ever.
/// - The time of a transition is charged to the shallower of its two states: it draws more.
#[derive(Clone, Debug)]
pub struct PowerStates {
    states: Box<[State]>,
    transitions: Transitions,
    autonomous: bool,
    /// The state it is in, or in transition to.
    current: u8,
    /// The state it comes from.
    left: u8,
    /// The last state that did I/O.
    operational: u8,
    /// The state that the latest transition is charged to.
    charged: u8,
    /// End of the transition before the latest.
    before: Nanos,
    /// Beginning of the latest transition.
    begun: Nanos,
    /// End of the latest transition.
    settled: Nanos,
    /// End of the last I/O.
    idle: Nanos,
    /// The time up to which `residency` counts.
    counted: Nanos,
    residency: [Nanos; MAX_STATES],
}

/// The figures that are needed of one power state.
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
    /// A device that is switched on at `start`: in power state 0, idle.
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

    /// The power state it is in at `at`, or in transition to: what Get Features 02h shows.
    pub fn current(&mut self, at: Nanos) -> u8 {
        self.advance(at);
        self.current
    }

    /// An I/O comes at `at`: when the device can start it, `at` or later.
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

    /// Reports that every I/O so far ends by `at`, which may lie in the future.
    #[inline]
    pub fn idle_since(&mut self, at: Nanos) {
        self.idle = self.idle.max(at);
    }

    /// The host requests power state `ps` at `at`. `false`: there is none, and nothing happens.
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

    /// The host sets the table of transitions by idle time at `at`; all `None` turns them off.
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

    /// Resets the controller at `at`: it is at once in power state 0, without a table. Times of states before that
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
    /// I/Os. This is a model, since no vendor publishes how a device keeps its cap. A cap of zero watts is unknown.
    #[inline]
    pub fn stretch(&self, direction: Direction) -> f64 {
        let state = self.states.get(usize::from(self.operational));
        match direction {
            Direction::Read => state.map_or(1.0, |state| state.stretch[0]),
            Direction::Write => state.map_or(1.0, |state| state.stretch[1]),
            Direction::Other => 1.0,
        }
    }

    /// Time in each state until `at`; together the time since the device was switched on.
    pub fn residency(&self, at: Nanos) -> [Nanos; MAX_STATES] {
        let mut then = self.clone();
        then.advance(at);
        then.residency
    }

    /// Energy until `at` had there been no I/O: each state's idle power over the time in
    /// it. That is the profile's IDLP; else MP, where that is less than the idle power of power
    /// state 0.
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

    /// Makes the transitions that are due by `to`, and counts residency up to it.
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
            // It waited for I/O to end and has not begun: nothing is lost.
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

    /// Counts the time up to `to`.
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
