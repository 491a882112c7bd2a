//! Reads whose data goes nowhere, for Compare and Verify.

use super::Store;
use crate::guest::{GuestMemory, Segment};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are read at a time.
const PIECE: usize = 16 << 10;

impl Store {
    /// Compares the bytes from `position` on with those of `segments`; true if they are equal.
    pub(crate) fn compare(
        &self,
        mut position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> io::Result<bool> {
        let mut pieces = [[0; PIECE]; 2];
        for &segment in segments {
            let (memory, offset) = guest.memory(segment);
            for at in (0..segment.len()).step_by(PIECE) {
                let len = PIECE.min(segment.len() - at);
                let [ours, theirs] = pieces.each_mut().map(|piece| &mut piece[..len]);
                self.read_out(position, ours)?;
                memory.read(offset + at, theirs);
                if ours != theirs {
                    return Ok(false);
                }
                position += len as u64;
            }
        }
        Ok(true)
    }

    /// Reads `len` bytes from `position`, and discards them.
    pub(crate) fn verify(&self, position: u64, len: u64) -> io::Result<()> {
        let mut piece = [0; PIECE];
        for at in (0..len).step_by(PIECE) {
            let here = (PIECE as u64).min(len - at) as usize;
            self.read_out(position + at, &mut piece[..here])?;
        }
        Ok(())
    }

    /// Copies from `position` into `to`.
    fn read_out(&self, position: u64, to: &mut [u8]) -> io::Result<()> {
        match self {
            Store::Ram(store) => {
                store.read(position as usize, to);
                Ok(())
            }
            Store::File { file, .. } => read_file(file, position, to),
        }
    }
}

/// Reads from a file; bytes past its end read as zero, as they do for a Read.
fn read_file(file: &File, position: u64, to: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < to.len() {
        match file.read_at(&mut to[done..], position + done as u64) {
            Ok(0) => {
                to[done..].fill(0);
                break;
            }
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
