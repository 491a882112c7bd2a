//! Identify structures, the SMART log and the device list, with the names and the layout of nvme-cli 2.3, so that
//! people and scripts that know one can read the other.
//!
//! Pure functions from a structure to text or JSON. Four differences are deliberate: a 32-bit number never turns
//! negative, a device's text ends at its first unprintable byte, only the 64 LBA formats and 32 power states that exist
//! are shown, and FLBAS bits 6:5 are used only if there are more than 16 formats.

pub mod id_ctrl;
pub mod id_ns;
pub mod list;
pub mod power_state;
pub mod smart_log;

mod scale;
#[cfg(test)]
mod testing;
