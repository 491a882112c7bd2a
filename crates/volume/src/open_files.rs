//! Files that are open.

use crate::change::FileId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The last block of a file, if the file fills only a part of it, as it was last written.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Index of the block in the file, from 0.
    pub index: u64,
    /// Bytes of the block; empty if not known.
    pub bytes: Vec<u8>,
}

/// Lock of a file: many read it, or one writes.
pub(crate) type FileLock = Arc<RwLock<Tail>>;

/// Locks of the files that are open, with the number of handles.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(Mutex<HashMap<FileId, (FileLock, usize)>>);

impl OpenFiles {
    /// Opens the file that `find` finds; meanwhile no other file can be opened, closed or removed.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn open<E>(
        &self,
        find: impl FnOnce() -> Result<FileId, E>,
    ) -> Result<(FileId, FileLock), E> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = find()?;
        let (lock, handles) = files.entry(id).or_default();
        *handles += 1;
        Ok((id, Arc::clone(lock)))
    }

    /// Closes a handle of `id`; if it was the last one, calls `last` before anybody can open the file again.
    pub fn close(&self, id: FileId, last: impl FnOnce()) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, handles)) = files.get_mut(&id) {
            *handles -= 1;
            if *handles == 0 {
                files.remove(&id);
                last();
            }
        }
    }

    /// Calls `then` with a function that returns whether a file is open; meanwhile none can be opened or closed.
    pub fn with<T>(&self, then: impl FnOnce(&dyn Fn(FileId) -> bool) -> T) -> T {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        then(&|id| files.contains_key(&id))
    }
}
