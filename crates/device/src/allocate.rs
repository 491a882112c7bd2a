//! Pages of files in memory, taken from the system before they are used.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Result, retry_on_intr};
use std::os::fd::BorrowedFd;

/// Maximum number of bytes of one call, a huge page. The kernel undoes a call that a signal interrupts: longer ones
/// might never end in a program with a timer.
const PIECE: u64 = 2 << 20;

/// Allocates the pages of `len` bytes of `file` from `offset` on, whatever signals come.
pub(crate) fn allocate(file: BorrowedFd<'_>, offset: u64, len: u64) -> Result<()> {
    in_pieces(offset, len, |offset, len| {
        fallocate(file, FallocateFlags::empty(), offset, len)
    })
}

fn in_pieces(offset: u64, len: u64, mut call: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    for at in (0..len).step_by(PIECE as usize) {
        let here = PIECE.min(len - at);
        retry_on_intr(|| call(offset + at, here))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    /// Fakes a kernel with the given `answers`, one after another; returns the ranges that were requested.
    fn kernel(answers: &[Result<()>]) -> (Result<()>, Vec<(u64, u64)>) {
        let mut requested = Vec::new();
        let result = in_pieces(4096, PIECE + 8192, |offset, len| {
            requested.push((offset, len));
            answers[requested.len() - 1]
        });
        (result, requested)
    }

    const FIRST: (u64, u64) = (4096, PIECE);
    const SECOND: (u64, u64) = (4096 + PIECE, 8192);

    #[test]
    fn a_signal_repeats_the_piece_that_it_interrupted() {
        let interrupted = Err(Errno::INTR);
        let (result, requested) = kernel(&[interrupted, interrupted, Ok(()), interrupted, Ok(())]);
        assert_eq!(result, Ok(()));
        assert_eq!(requested, [FIRST, FIRST, FIRST, SECOND, SECOND]);
    }

    #[test]
    fn a_lack_of_pages_is_passed_on() {
        let (result, requested) = kernel(&[Ok(()), Err(Errno::NOSPC)]);
        assert_eq!(result, Err(Errno::NOSPC));
        assert_eq!(requested, [FIRST, SECOND]);
    }
}
