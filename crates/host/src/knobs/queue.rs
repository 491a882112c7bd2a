//! Settings of a block device's queue: /sys/block/DISK/queue.

use super::error::{Absence, KnobError};
use super::knob::{Knob, Setting};
use super::reading::{KnobReading, KnobValues};
use crate::tree::Tree;
use std::io::ErrorKind;

/// BLKDEV_MIN_RQ of block/blk.h: the kernel silently raises smaller values to it.
const MIN_REQUESTS: i64 = 4;

/// Schedulers that may be modules: the kernel loads NAME-iosched when one is written.
const MODULES: [&str; 3] = ["mq-deadline", "kyber", "bfq"];

pub(super) fn folder(disk: &str) -> String {
    format!("sys/block/{disk}/queue")
}

pub(super) fn file(disk: &str, setting: Setting) -> String {
    format!("{}/{}", folder(disk), setting.file())
}

/// Whether a scheduler that is not offered may still be available as a module.
pub(super) fn may_be_loaded(scheduler: &str) -> bool {
    MODULES.contains(&scheduler)
}

pub(super) fn read(
    tree: &Tree,
    knob: &Knob,
    disk: &str,
    setting: Setting,
) -> Result<KnobReading, KnobError> {
    let absent = |why| KnobError::Absent {
        knob: knob.clone(),
        why,
    };
    let strange = disk.is_empty() || disk.starts_with('.') || disk.contains('/');
    if strange || !tree.has(&folder(disk)) {
        return Err(absent(Absence::NoDisk));
    }
    let file = file(disk, setting);
    let value = tree.value(&file).map_err(|source| match source.kind() {
        ErrorKind::NotFound => absent(Absence::NoFile),
        // wbt_lat_usec of a disk without writeback throttling.
        ErrorKind::InvalidInput => absent(Absence::NotSetUp),
        _ => KnobError::Read {
            path: tree.path(&file),
            source,
        },
    })?;
    let allowed = match setting {
        Setting::Scheduler => offered(&tree.text(&file).unwrap_or_default()),
        Setting::NrRequests => KnobValues::number(MIN_REQUESTS, u32::MAX.into()),
        Setting::Nomerges | Setting::RqAffinity => KnobValues::words(&["0", "1", "2"]),
        Setting::IoPoll => KnobValues::words(&["0", "1"]),
        Setting::IoPollDelay => KnobValues::number(-1, i32::MAX.into()),
        // The kernel keeps nanoseconds in 64 bits.
        Setting::WbtLatUsec => KnobValues::number(0, i64::MAX / 1000),
    };
    Ok(KnobReading { value, allowed })
}

/// Parses `none [mq-deadline] kyber`.
fn offered(text: &str) -> KnobValues {
    let names = text.split_ascii_whitespace();
    let names = names.map(|name| name.trim_matches(['[', ']']).into());
    KnobValues::OneOf(names.collect())
}
