//! Trims through calls that block until their end: holes in files (fallocate(2)), discards of block devices
//! (BLKDISCARD).
//!
//! What makes this sound: BLKDISCARD reads two 64-bit integers, the offset and the length of a range, which are
//! valid during the call; it writes no memory.
#![allow(unsafe_code)]

use crate::{DirectFile, FileKind};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// Flags for a hole in a file that keeps its size.
const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// Mode of fallocate(2) that makes a hole in a file that keeps its size.
pub(crate) const PUNCH_HOLE: i32 = HOLE.bits() as i32;

/// include/uapi/linux/fs.h
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

impl DirectFile {
    /// Discards `len` bytes from `offset` on: their data is lost. Files then read as zeroes there; block devices
    /// may return anything.
    ///
    /// # Errors
    /// The kernel's error: `OPNOTSUPP` if the device or the file system does not support it.
    pub fn trim(&self, offset: u64, len: u32) -> Result<(), Errno> {
        let len = u64::from(len);
        match self.kind() {
            FileKind::Regular => fallocate(self, HOLE, offset, len),
            FileKind::Block => {
                // SAFETY: the kernel reads two integers, which `Setter` keeps through the call.
                unsafe { ioctl(self, Setter::<BLKDISCARD, [u64; 2]>::new([offset, len])) }
            }
        }
    }

    /// Checks that holes can be punched in the file. The attempt is after its end, where there is no data to lose.
    pub(crate) fn takes_holes(&self) -> Result<(), Errno> {
        let end = self.size().next_multiple_of(1 << 20);
        fallocate(self, HOLE, end, 1 << 12)
    }
}
