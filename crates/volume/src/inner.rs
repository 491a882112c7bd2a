//! State that all handles of a volume share, and the commit that makes its changes durable.

use crate::catalog::{Batch, Catalog};
use crate::change::FileId;
use crate::journal::{Journal, encode};
use crate::layout::Layout;
use crate::open_files::OpenFiles;
use crate::{BlockStore, StoreClaim, StoreError, VolumeError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state that all handles of a volume share. Locks are taken in the order journal, open files, catalog, and a
/// file's own before the catalog.
#[derive(Debug)]
pub(crate) struct Inner<S> {
    /// Released before the store is dropped, and with it perhaps the controller.
    _claim: StoreClaim,
    pub store: S,
    pub layout: Layout,
    pub open: OpenFiles,
    catalog: Mutex<Catalog>,
    journal: Mutex<Journal>,
    failed: AtomicBool,
}

impl<S> Inner<S> {
    /// The state of a volume whose store was read, without an open file.
    pub fn new(
        (store, claim): (S, StoreClaim),
        layout: Layout,
        catalog: Catalog,
        journal: Journal,
    ) -> Inner<S> {
        Inner {
            store,
            _claim: claim,
            layout,
            open: OpenFiles::default(),
            catalog: Mutex::new(catalog),
            journal: Mutex::new(journal),
            failed: AtomicBool::new(false),
        }
    }

    pub fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes a handle of `id`.
    pub fn close(&self, id: FileId) {
        self.open.close(id, || self.catalog().forget(id));
    }
}

impl<S: BlockStore> Inner<S> {
    /// Refuses a change of a volume that is only read, before any of it is done.
    pub fn check_write(&self) -> Result<(), VolumeError> {
        match self.store.may_write() {
            true => Ok(()),
            false => Err(StoreError::ReadOnly.into()),
        }
    }

    /// Makes data and directory durable. Data first: the bytes that a size in the journal covers are then on the
    /// device.
    pub fn commit(&self) -> Result<(), VolumeError> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if self.failed.load(Ordering::Relaxed) {
            return Err(VolumeError::Failed);
        }
        let batch = self.catalog().take_batch();
        let done = self.make_durable(&mut journal, batch);
        // No record was written then, and no change is lost.
        let refused = matches!(done, Err(VolumeError::DirectoryTooLarge { .. }));
        if done.is_err() && !refused {
            self.failed.store(true, Ordering::Relaxed);
        }
        done
    }

    fn make_durable(&self, journal: &mut Journal, batch: Batch) -> Result<(), VolumeError> {
        let mut freed = batch.freed;
        self.store.flush()?;
        if !batch.changes.is_empty() {
            let changes = encode(&batch.changes)?;
            if journal.has_room(&self.layout, &changes) {
                journal.append(&self.store, &self.layout, &changes)?;
            } else {
                // Changes that others made meanwhile are in the snapshot, so their data has to be durable first.
                let (snapshot, later) = {
                    let mut catalog = self.catalog();
                    let later = catalog.take_batch();
                    (catalog.snapshot(), later)
                };
                self.store.flush()?;
                let switched = journal.switch(&self.store, &self.layout, &encode(&snapshot)?);
                if let Err(VolumeError::DirectoryTooLarge { .. }) = switched {
                    // A volume of an earlier version: files can still be removed.
                    let mut catalog = self.catalog();
                    catalog.restore(later);
                    let changes = batch.changes;
                    catalog.restore(Batch { changes, freed });
                    return switched;
                }
                switched?;
                freed.extend(later.freed);
            }
        }
        self.catalog().release(freed);
        Ok(())
    }
}
