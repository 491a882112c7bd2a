//! Files that somebody has open.

use crate::change::FileId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Block at the end of a file that it fills only partly, as it was last written.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Number of the block in the file, from 0.
    pub index: u64,
    /// Bytes of the block; empty: not known.
    pub bytes: Vec<u8>,
}

/// Lock of a file: many read it, or one writes.
pub(crate) type FileLock = Arc<RwLock<Tail>>;

/// Locks of the files that are open, with the number of handles.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(Mutex<HashMap<FileId, (FileLock, usize)>>);

impl OpenFiles {
    /// Opens the file that `find` finds, before anybody opens, closes or removes one.
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

    /// Closes `id` once; `last` is called, before anybody opens it anew, if nobody has it open then.
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

    /// Calls `then` with a question to it, whether a file is open, before anybody opens or closes one.
    pub fn with<T>(&self, then: impl FnOnce(&dyn Fn(FileId) -> bool) -> T) -> T {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        then(&|id| files.contains_key(&id))
    }
}
