//! Groups of windows that are compared with each other.

use super::activity::{Arm, CoreActivity};
use super::block::Block;
use super::plan::{IdleStatePlan, Plan};
use joulio_units::Nanos;

/// Shortest sleep for measuring wake-ups: at more than some thousands of wake-ups a second a core has no time to idle.
const MIN_SLEEP: Nanos = Nanos::from_micros(250);
/// Smallest ratio of the sleep to the exit latency of the idle state, so that entering it pays: in the kernel's tables
/// the target residency is three to six times the latency.
const SLEEP_LATENCIES: u64 = 10;
/// Ratio of the longer sleep to the shorter.
const SLEEP_RATIO: u64 = 4;

/// Purpose of a group of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Spinning, for the watts of a core and of the parts that cores share.
    Spin,
    /// Wait of an awake core, by its index in the plan.
    Wait(usize),
    /// Idle state, by its index in the plan.
    Idle(usize),
    /// Wake-ups from the idle state with this index; `None`: from the one that the kernel chooses.
    Wake(Option<usize>),
    /// Spinning at the clock with this index in the plan.
    Clock(usize),
}

/// Windows that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Purpose of the windows.
    pub purpose: Purpose,
    /// Activities of the cores, one for each window.
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
    /// Returns the groups of windows that the plan needs, spinning first.
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
        // If clocks are compared, everything else is measured at the highest.
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

    /// Returns the indices of the idle states from which wake-ups are measured; a single `None` if the kernel lists no
    /// states.
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
        let short = MIN_SLEEP.max(Nanos(latency.saturating_mul(SLEEP_LATENCIES)));
        let long = Nanos(short.0.saturating_mul(SLEEP_RATIO));
        // The deepest state needs no limit: the kernel chooses it by itself.
        let deepest = self.deepest().map(|deepest| deepest.name.as_str());
        let name = state.map(|state| state.name.as_str());
        let limit = name.filter(|name| Some(*name) != deepest);
        let sleeps = |time| Arm::on(CoreActivity::Sleeps(time), used).within(limit);
        vec![Arm::idle(), sleeps(long), sleeps(short)]
    }
}

/// Returns three arms: idle, one core and `used` cores with this activity.
fn awake(activity: CoreActivity, used: usize) -> Vec<Arm> {
    vec![Arm::idle(), Arm::on(activity, 1), Arm::on(activity, used)]
}
