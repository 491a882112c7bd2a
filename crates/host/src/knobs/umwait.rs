//! Limits of TPAUSE and UMWAIT: /sys/devices/system/cpu/umwait_control.

use super::error::{Absence, KnobError};
use super::knob::{Knob, UmwaitSetting};
use super::reading::{KnobReading, KnobValues};
use crate::tree::Tree;

pub(super) fn file(setting: UmwaitSetting) -> String {
    format!("sys/devices/system/cpu/umwait_control/{}", setting.file())
}

pub(super) fn read(
    tree: &Tree,
    knob: &Knob,
    setting: UmwaitSetting,
) -> Result<KnobReading, KnobError> {
    let file = file(setting);
    if !tree.has(&file) {
        return Err(KnobError::Absent {
            knob: knob.clone(),
            why: Absence::NoWaitPkg,
        });
    }
    let value = tree.value(&file).map_err(|source| KnobError::Read {
        path: tree.path(&file),
        source,
    })?;
    let allowed = match setting {
        UmwaitSetting::EnableC02 => KnobValues::words(&["0", "1"]),
        // Bits 1:0 of IA32_UMWAIT_CONTROL are not time (arch/x86/kernel/cpu/umwait.c).
        UmwaitSetting::MaxTime => KnobValues::Number {
            min: 0,
            max: i64::from(u32::MAX - 3),
            step: 4,
        },
    };
    Ok(KnobReading { value, allowed })
}
