//! A volume: its directory, and the commits that make changes of it durable.

use crate::catalog::Catalog;
use crate::change::FileId;
use crate::file::VolumeFile;
use crate::inner::Inner;
use crate::journal::Journal;
use crate::layout::Layout;
use crate::{BlockStore, FormatOptions, VolumeError, superblock};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Space of a volume in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes in all units.
    pub total: u64,
    /// Bytes in units that no file has.
    pub free: u64,
}

/// A flat directory of files on a [`BlockStore`]. Clones share one volume, for other threads.
#[derive(Debug)]
pub struct Volume<S: BlockStore>(Arc<Inner<S>>);

impl<S: BlockStore> Clone for Volume<S> {
    fn clone(&self) -> Volume<S> {
        Volume(Arc::clone(&self.0))
    }
}

impl<S: BlockStore> Volume<S> {
    /// Makes an empty volume on `store`. Its data is lost.
    ///
    /// # Errors
    /// There is a volume already and [`FormatOptions::overwrite`] is false, the store is too small or an
    /// option out of its range, or a volume on the store is open: nothing was written. Or the store failed.
    pub fn format(store: &S, options: FormatOptions) -> Result<(), VolumeError> {
        // Random keys of the standard library, since no two volumes may have the same identifier.
        let id = RandomState::new().build_hasher().finish();
        let layout = Layout::new(store.block_size(), store.blocks(), options, id)?;
        let _claim = store.claim()?;
        if !options.overwrite && superblock::exists(store)? {
            return Err(VolumeError::AlreadyAVolume);
        }
        superblock::write(store, None)?;
        Journal::format(store, &layout)?;
        superblock::write(store, Some(&layout))
    }

    /// Opens the volume on `store` as it was at its last commit. Nothing is written, but a flush makes data durable
    /// that a killed process left in the device's cache.
    ///
    /// # Errors
    /// There is none ([`VolumeError::NotAVolume`]), it is damaged or of a later format, or it is open in this process
    /// already ([`StoreError::InUse`](crate::StoreError::InUse)); or the store failed.
    pub fn open(store: S) -> Result<Volume<S>, VolumeError> {
        let claim = store.claim()?;
        let layout = superblock::read(&store)?;
        // Units that a record has freed are reused from now on, so the record must be durable.
        store.flush()?;
        let (journal, changes) = Journal::open(&store, &layout)?;
        let catalog = Catalog::replayed(changes, layout.units, layout.unit, layout.snapshot())?;
        let inner = Inner::new((store, claim), layout, catalog, journal);
        Ok(Volume(Arc::new(inner)))
    }

    /// Returns the store of the volume.
    pub fn store(&self) -> &S {
        &self.0.store
    }

    /// Creates a file, which survives a crash once it, or the volume, was synced.
    ///
    /// # Errors
    /// There is a file of that name, the name is not valid, or the directory has no room for another.
    pub fn create(&self, name: &str) -> Result<VolumeFile<S>, VolumeError> {
        self.0.check_write()?;
        self.open_by(|catalog| catalog.create(name))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// There is no file of that name.
    pub fn open_file(&self, name: &str) -> Result<VolumeFile<S>, VolumeError> {
        self.open_by(|catalog| catalog.find(name))
    }

    /// Opens a file, and creates it if it does not exist.
    ///
    /// # Errors
    /// The name is not valid, or the directory has no room for another file.
    pub fn open_or_create(&self, name: &str) -> Result<VolumeFile<S>, VolumeError> {
        self.open_by(|catalog| match catalog.id(name) {
            Some(id) => Ok(id),
            None => self.0.check_write().and_then(|()| catalog.create(name)),
        })
    }

    /// Opens the file that `find` finds.
    fn open_by(
        &self,
        find: impl FnOnce(&mut Catalog) -> Result<FileId, VolumeError>,
    ) -> Result<VolumeFile<S>, VolumeError> {
        let (id, lock) = self.0.open.open(|| find(&mut self.0.catalog()))?;
        Ok(VolumeFile::new(Arc::clone(&self.0), id, lock))
    }

    /// Whether there is a file of that name.
    pub fn exists(&self, name: &str) -> bool {
        self.0.catalog().id(name).is_some()
    }

    /// Returns the size in bytes of the file of that name.
    ///
    /// # Errors
    /// There is no such file.
    pub fn size_of(&self, name: &str) -> Result<u64, VolumeError> {
        let catalog = self.0.catalog();
        Ok(catalog.size(catalog.find(name)?))
    }

    /// Lists names that begin with `prefix`, in order; all of them with "".
    pub fn names(&self, prefix: &str) -> Vec<String> {
        self.0.catalog().names(prefix)
    }

    /// Removes a file, durably. Open handles can be used until the last of them is closed.
    ///
    /// # Errors
    /// There is no file of that name; or the store failed.
    pub fn remove(&self, name: &str) -> Result<(), VolumeError> {
        self.unlink(|catalog| {
            catalog.find(name)?;
            self.0.check_write()?;
            catalog.remove(name).map(Some)
        })
    }

    /// Renames the file `from` to `to`, durably and atomically; a file that had the name is removed.
    ///
    /// # Errors
    /// There is no file `from`, `to` is not a valid name, or the directory has no room for it; or the store failed.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), VolumeError> {
        self.unlink(|catalog| {
            catalog.find(from)?;
            self.0.check_write()?;
            catalog.rename(from, to)
        })
    }

    /// Applies `change`, durably, and forgets the file whose name it removed, unless that is open.
    fn unlink(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<Option<FileId>, VolumeError>,
    ) -> Result<(), VolumeError> {
        self.0.open.with(|is_open| {
            let mut catalog = self.0.catalog();
            if let Some(id) = change(&mut catalog)?.filter(|&id| !is_open(id)) {
                catalog.forget(id);
            }
            Ok::<_, VolumeError>(())
        })?;
        self.0.commit()
    }

    /// Makes all data and changes until now durable, of all files.
    ///
    /// # Errors
    /// The store failed, now or earlier.
    pub fn sync(&self) -> Result<(), VolumeError> {
        self.0.commit()
    }

    /// Returns the space in all units, and in free ones.
    pub fn space(&self) -> Space {
        let layout = &self.0.layout;
        Space {
            total: layout.max_file(),
            free: self.0.catalog().free_units() * layout.unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;
    use crate::change::Change;
    use crate::journal::encode;

    /// An earlier version made directories of which no snapshot fits.
    #[test]
    fn a_directory_that_is_too_large_already_can_be_made_smaller() -> Result<(), VolumeError> {
        let options = FormatOptions {
            journal: Some(64 << 10),
            ..FormatOptions::default()
        };
        let store = MemoryStore::new(512, 16 << 10);
        Volume::format(&store, options)?;
        let layout = superblock::read(&store)?;
        let (mut journal, _) = Journal::open(&store, &layout)?;
        let name = |number: u64| format!("{number:0>200}");
        let created = |count| {
            let created = (0..count).map(|id| Change::Create {
                id: FileId(id),
                name: name(id),
            });
            encode(&created.collect::<Vec<_>>())
        };
        // As many as one record has: there is no room for another.
        let mut count = 400;
        let created = loop {
            let created = created(count)?;
            if journal.has_room(&layout, &created) {
                break created;
            }
            count -= 1;
        };
        journal.append(&store, &layout, &created)?;
        let volume = Volume::open(store)?;
        let mut left = count;
        loop {
            left -= 1;
            match volume.remove(&name(left)) {
                Ok(()) => break,
                Err(VolumeError::DirectoryTooLarge { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        assert!((1..count - 2).contains(&left), "{left} of {count}");
        let after = Volume::open(volume.store().after_power_cut(|_| false))?;
        assert_eq!(after.names("").len() as u64, left);
        assert!(!after.exists(&name(left)) && after.exists(&name(left - 1)));
        Ok(())
    }
}
