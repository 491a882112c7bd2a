//! Identify structures, the SMART log and the device list, in the words and the layout of
//! nvme-cli 2.3, so that eyes and scripts which know the one can read the other.
//!
//! Pure functions from a structure to text or JSON. Four differences are deliberate: a number of
//! 32 bits never turns negative, text of a device ends at its first unprintable byte, no more
//! than the 64 LBA formats and 32 power states that exist are shown, and FLBAS bits 6:5 count
//! only where there are more than 16 formats.

pub mod id_ctrl;
pub mod id_ns;
pub mod list;
pub mod power_state;
pub mod smart_log;

mod scale;
#[cfg(test)]
mod testing;
