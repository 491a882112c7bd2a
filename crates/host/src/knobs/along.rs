//! Settings that the kernel changes by itself when a setting is changed, and does not restore with it.
//!
//! A change of the scheduler resets the scheduler's own settings (queue/iosched/), nr_requests and wbt_lat_usec:
//! elevator_init in block/elevator.c, wbt_disable_default in block/blk-wbt.c. A change of the governor may change
//! energy_performance_preference (drivers/cpufreq/amd-pstate.c).

use super::cpus;
use super::error::KnobError;
use super::knob::{Knob, Setting};
use super::left::LeftAlone;
use super::plan::{Along, KnobPlan, set};
use super::queue;
use crate::tree::Tree;

/// Returns the settings that the kernel changes with `knob`, and their values.
pub(super) fn beside(tree: &Tree, knob: &Knob) -> Vec<Along> {
    let files = match knob {
        Knob::Queue {
            disk,
            setting: Setting::Scheduler,
        } => of_scheduler(tree, disk),
        Knob::Governor => cpus::preferences(tree),
        _ => Vec::new(),
    };
    let read = |file: String| {
        // What cannot be read now, or only be read, is not changed.
        let old = tree.value(&file).ok()?;
        Some(Along { file, old })
    };
    files.into_iter().filter_map(read).collect()
}

/// Lists the files that a change of the scheduler resets; nr_requests first, since mq-deadline takes its async_depth
/// from it.
fn of_scheduler(tree: &Tree, disk: &str) -> Vec<String> {
    let mut files = vec![
        queue::file(disk, Setting::NrRequests),
        queue::file(disk, Setting::WbtLatUsec),
    ];
    let own = queue::folder(disk) + "/iosched";
    let names = tree.names(&own).into_iter();
    files.extend(names.map(|name| format!("{own}/{name}")));
    files
}

/// Restores the settings that changed along, if the change was restored by joulio (`ours`); else returns those that are
/// not as they were.
pub(super) fn restore(
    tree: &Tree,
    change: &KnobPlan,
    ours: bool,
) -> Result<Vec<LeftAlone>, KnobError> {
    let mut left = Vec::new();
    let mut failed = None;
    for Along { file, old } in &change.along {
        let Ok(now) = tree.value(file) else { continue };
        if now == *old {
            continue;
        }
        if !ours {
            left.push(LeftAlone::Beside {
                file: file.clone(),
                now,
                old: old.clone(),
            });
        } else if let Err(error) = set(tree, file, old) {
            failed.get_or_insert(error);
        }
    }
    failed.map_or(Ok(left), Err)
}
