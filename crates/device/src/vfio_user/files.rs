//! Files that came from the peer, closed where none of them can make the driver wait.

use crate::foreign::is_memory;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{Builder, JoinHandle};

/// Files of the peer. If the process behind a file is a file system (FUSE), closing it may block for ever, and no
/// signal ends that. Files that are not memory are therefore closed by a thread of their own.
#[derive(Default)]
pub(super) struct Files(Vec<OwnedFd>);

impl Files {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn extend(&mut self, more: impl IntoIterator<Item = OwnedFd>) {
        self.0.extend(more);
    }

    /// Returns the first file if it is memory.
    pub(super) fn into_memory(mut self) -> Option<OwnedFd> {
        let first = self.0.first()?;
        is_memory(first.as_fd()).then(|| self.0.swap_remove(0))
    }

    /// Closes all files, those that are not memory in another thread, which is returned.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        self.0.retain(|file| !is_memory(file.as_fd()));
        if self.0.is_empty() {
            return None;
        }
        // Without a thread they stay open.
        let others = ManuallyDrop::new(std::mem::take(&mut self.0));
        let close = move || drop(ManuallyDrop::into_inner(others));
        Builder::new().name("joulio-close".into()).spawn(close).ok()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedMemory;
    use std::io::{Read, pipe};

    fn memory() -> OwnedFd {
        SharedMemory::shareable(4096).unwrap().1
    }

    #[test]
    fn what_is_not_memory_is_closed_by_another_thread() {
        let (mut reading, writing) = pipe().unwrap();
        let mut files = Files(vec![memory(), writing.into()]);
        files.close().expect("a thread").join().unwrap();
        assert_eq!(files.len(), 0);
        // Nobody has the other end any more.
        assert_eq!(reading.read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn memory_needs_no_other_thread() {
        assert!(Files(vec![memory(), memory()]).close().is_none());
        assert!(Files::default().close().is_none());
    }

    #[test]
    fn only_the_first_file_is_taken_and_only_if_it_is_memory() {
        let (reading, writing) = pipe().unwrap();
        let memory_first = Files(vec![memory(), reading.into()]);
        assert!(memory_first.into_memory().is_some());
        let memory_last = Files(vec![writing.into(), memory()]);
        assert!(memory_last.into_memory().is_none());
        assert!(Files::default().into_memory().is_none());
    }
}
