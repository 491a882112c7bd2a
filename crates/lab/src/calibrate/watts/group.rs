//! Groups of windows: what is compared within each of them.

use super::activity::{Arm, CoreActivity};
use super::block::Block;
use super::plan::{IdleStatePlan, Plan};
use joulio_units::Nanos;

/// The shorter of the two sleeps by which wake-ups are measured, at least: at more wakes a second
/// than some thousands a core has no time to idle.
const SHORTEST_SLEEP: Nanos = Nanos::from_micros(250);
/// Times that the sleep is longer than leaving the state takes, at least, so that it pays to enter
/// it: three to six are its target residency in the kernel's tables.
const SLEEP_LATENCIES: u64 = 10;
/// Times that the longer sleep is as long as the shorter.
const SLEEP_RATIO: u64 = 4;

/// Purpose of a group of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A core that spins, and what cores share.
    Spin,
    /// The awake wait of this index in the plan.
    Wait(usize),
    /// The idle state of this index in the plan.
    Idle(usize),
    /// A wake-up from the idle state of this index; `None`: from whichever the kernel chooses.
    Wake(Option<usize>),
    /// A core that spins at the clock of this index in the plan.
    Clock(usize),
}

/// Windows that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Purpose of the windows.
    pub purpose: Purpose,
    /// Activities of the cores, a window each.
    pub arms: Vec<Arm>,
}

/// A group whose windows were measured.
#[derive(Clone, Debug)]
pub struct MeasuredGroup {
    /// Purpose of the windows.
    pub purpose: Purpose,
    /// Blocks of the group's arms, or why there are none.
    pub blocks: Result<Vec<Block>, String>,
}

impl Plan {
    /// Groups of windows of all that is to be measured, spinning first.
    pub fn groups(&self) -> Vec<Group> {
        let used = self.used.max(2);
        let mut groups = vec![Group {
            purpose: Purpose::Spin,
            arms: awake(CoreActivity::Spin, used),
        }];
        for (index, (activity, _)) in self.waits.iter().enumerate() {
            groups.push(Group {
                purpose: Purpose::Wait(index),
                arms: awake(*activity, used),
            });
        }
        for (index, state) in self.idle.iter().enumerate().filter(|one| one.1.watts) {
            groups.push(Group {
                purpose: Purpose::Idle(index),
                arms: vec![Arm::idle(), Arm::idle().within(Some(&state.name))],
            });
        }
        for from in self.woken_from() {
            groups.push(Group {
                purpose: Purpose::Wake(from),
                arms: self.wakes_from(from.map(|index| &self.idle[index]), used),
            });
        }
        // All of it at one clock, where clocks are compared.
        let highest = self.clocks.first();
        for arm in groups.iter_mut().flat_map(|group| &mut group.arms) {
            arm.max_khz = highest.copied();
        }
        for (index, khz) in self.clocks.iter().enumerate().skip(1) {
            let mut arms = awake(CoreActivity::Spin, used);
            arms.iter_mut().for_each(|arm| arm.max_khz = Some(*khz));
            groups.push(Group {
                purpose: Purpose::Clock(index),
                arms,
            });
        }
        groups
    }

    /// Indices of the idle states from which wake-ups are measured; one `None`, where the kernel shows none.
    fn woken_from(&self) -> Vec<Option<usize>> {
        if !self.wakes {
            return Vec::new();
        }
        let woken = self.idle.iter().enumerate();
        let woken = woken.filter(|one| one.1.can_be_woken_from());
        let from: Vec<_> = woken.map(|one| Some(one.0)).collect();
        match from.is_empty() {
            true => vec![None],
            false => from,
        }
    }

    fn wakes_from(&self, state: Option<&IdleStatePlan>, used: usize) -> Vec<Arm> {
        let latency = state.map_or(0, |state| state.latency.0);
        let short = SHORTEST_SLEEP.max(Nanos(latency.saturating_mul(SLEEP_LATENCIES)));
        let long = Nanos(short.0.saturating_mul(SLEEP_RATIO));
        // The deepest state is the kernel's own choice.
        let deepest = self.deepest().map(|deepest| deepest.name.as_str());
        let name = state.map(|state| state.name.as_str());
        let limit = name.filter(|name| Some(*name) != deepest);
        let sleeps = |time| Arm::on(CoreActivity::Sleeps(time), used).within(limit);
        vec![Arm::idle(), sleeps(long), sleeps(short)]
    }
}

/// Idle, one core, all that are used.
fn awake(activity: CoreActivity, used: usize) -> Vec<Arm> {
    vec![Arm::idle(), Arm::on(activity, 1), Arm::on(activity, used)]
}
