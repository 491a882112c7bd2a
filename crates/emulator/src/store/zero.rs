//! Zeroing and deallocating, for Write Zeroes and Dataset Management.

use super::Store;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Punches a hole without changing the file's size.
const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);
const ZEROES: FallocateFlags = FallocateFlags::ZERO_RANGE.union(FallocateFlags::KEEP_SIZE);

impl Store {
    /// Zeroes `len` bytes from `position` on. With `deallocate` their room is released, otherwise kept, as far as the
    /// store can choose.
    pub(crate) fn zero(&self, position: u64, len: u64, deallocate: bool) -> io::Result<()> {
        match self {
            Store::Ram(store) => {
                store.zero(position as usize, len as usize);
                Ok(())
            }
            Store::File { file, .. } => {
                let done = deallocate && try_fallocate(file, HOLE, position, len)?
                    || try_fallocate(file, ZEROES, position, len)?;
                if done {
                    return Ok(());
                }
                write_zeroes(file, position, len)
            }
        }
    }

    /// Deallocates `len` bytes from `position` on, which then read as zeroes. A file system without holes keeps the
    /// room, and the bytes as they are: that is allowed (NVM 3.2.3), and writing zeroes to all of them could take a
    /// host as long as it likes.
    pub(crate) fn deallocate(&self, position: u64, len: u64) -> io::Result<()> {
        match self {
            Store::Ram(store) => store.zero(position as usize, len as usize),
            Store::File { file, .. } => {
                try_fallocate(file, HOLE, position, len)?;
            }
        }
        Ok(())
    }
}

/// Calls fallocate(2). `false`: the file system does not support that, or the range is empty.
fn try_fallocate(file: &File, flags: FallocateFlags, position: u64, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(false);
    }
    match retry_on_intr(|| fallocate(file, flags, position, len)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn write_zeroes(file: &File, position: u64, len: u64) -> io::Result<()> {
    static NOTHING: [u8; 64 << 10] = [0; 64 << 10];
    for at in (0..len).step_by(NOTHING.len()) {
        let here = (NOTHING.len() as u64).min(len - at) as usize;
        file.write_all_at(&NOTHING[..here], position + at)?;
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Backing, Syncing};
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    const SIZE: u64 = 1 << 20;

    fn full() -> (Store, File) {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; SIZE as usize], 0).unwrap();
        let store = Store::File {
            file: Backing::new(file.try_clone().unwrap(), Path::new(""), Syncing::usual()),
            read_only: false,
        };
        (store, file)
    }

    /// Returns the range of the bytes that are zero; there must be no others.
    fn zeroes(file: &File) -> std::ops::Range<usize> {
        let mut bytes = vec![1; SIZE as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let first = bytes.iter().position(|&byte| byte == 0).unwrap_or(0);
        let count = bytes.iter().filter(|&&byte| byte == 0).count();
        assert!(bytes[first..first + count].iter().all(|&byte| byte == 0));
        first..first + count
    }

    #[test]
    fn zeroes_are_where_they_were_requested_and_the_size_stays() {
        for deallocate in [false, true] {
            let (store, file) = full();
            store.zero(4096 + 512, 8192, deallocate).unwrap();
            assert_eq!(zeroes(&file), 4608..12800);
            store.zero(SIZE - 512, 512, deallocate).unwrap();
            assert_eq!(file.metadata().unwrap().len(), SIZE);
        }
        let (_, file) = full();
        write_zeroes(&file, 100, 200_000).unwrap();
        assert_eq!(zeroes(&file), 100..200_100);
    }

    #[test]
    fn a_file_with_holes_gives_up_its_room() {
        let (store, file) = full();
        if !try_fallocate(&file, HOLE, 0, 4096).unwrap() {
            eprintln!("skipped: this file system has no holes");
            return;
        }
        let before = file.metadata().unwrap().blocks();
        store.deallocate(0, SIZE / 2).unwrap();
        assert_eq!(zeroes(&file), 0..SIZE as usize / 2);
        assert!(file.metadata().unwrap().blocks() <= before / 2 + 8);
        assert_eq!(file.metadata().unwrap().len(), SIZE);
        store.deallocate(SIZE, 0).unwrap();
    }
}
