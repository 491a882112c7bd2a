//! The directory in memory: names, sizes and extents, and the changes that are not durable yet.

use crate::VolumeError;
use crate::change::{Change, FileId, check_name};
use crate::extent::{Extent, FreeUnits, push, shrink};
use std::collections::{BTreeMap, BTreeSet};

/// A file of the directory.
#[derive(Clone, Debug, Default)]
struct Inode {
    /// Name of the file; `None` if it was removed and is still open.
    name: Option<String>,
    size: u64,
    extents: Vec<Extent>,
    /// Bytes of the extents in a snapshot.
    extent_bytes: u64,
}

impl Inode {
    fn units(&self) -> u64 {
        let units = self.extents.iter().map(|extent| u64::from(extent.units));
        units.sum()
    }
}

/// Names, sizes and extents of all files.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    names: BTreeMap<String, FileId>,
    files: BTreeMap<FileId, Inode>,
    next: u64,
    free: FreeUnits,
    /// Changes that are not in the journal yet.
    pending: Vec<Change>,
    /// Files whose size is not in the journal yet.
    resized: BTreeSet<FileId>,
    /// Units that become free when the pending changes are durable.
    freed: Vec<Extent>,
    /// Upper bound of a snapshot's bytes, and its limit.
    bytes: u64,
    room: u64,
    /// Most bytes of a file's size in a snapshot.
    size_bytes: u64,
}

/// Returns the bytes of a number in a snapshot.
fn varint(number: u64) -> u64 {
    u64::from((u64::BITS - (number | 1).leading_zeros()).div_ceil(7))
}

/// Returns the bytes of an extent of the file `id` in a snapshot.
fn extent_bytes(id: FileId, extent: Extent) -> u64 {
    1 + varint(id.0) + varint(extent.start.into()) + varint(extent.units.into())
}

/// The changes that a commit has to make durable.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Units that become free afterwards.
    pub freed: Vec<Extent>,
}

impl Catalog {
    /// Makes the directory that results from `changes`, on a volume of `units` units whose journal has `room` bytes for
    /// a snapshot.
    ///
    /// # Errors
    /// The changes contradict each other or the volume ([`VolumeError::Damaged`]).
    pub fn replayed(
        changes: impl IntoIterator<Item = Change>,
        units: u32,
        unit: u64,
        room: u64,
    ) -> Result<Catalog, VolumeError> {
        let mut catalog = Catalog {
            // The number of changes, before them.
            bytes: varint(u64::MAX),
            room,
            size_bytes: varint(u64::from(units).saturating_mul(unit)),
            ..Catalog::default()
        };
        for change in changes {
            change.check(units)?;
            catalog.apply(&change)?;
        }
        catalog.files.retain(|_, inode| inode.name.is_some());
        catalog.freed.clear();
        catalog.claim(units, unit)?;
        Ok(catalog)
    }

    /// Makes units that no file has free, after checking that no two files have the same unit.
    fn claim(&mut self, units: u32, unit: u64) -> Result<(), VolumeError> {
        let mut used: Vec<Extent> = Vec::new();
        for inode in self.files.values() {
            if inode.size > inode.units().saturating_mul(unit) {
                let name = inode.name.as_deref().unwrap_or_default();
                return Err(damaged(format!("{name} is longer than its units")));
            }
            used.extend(&inode.extents);
        }
        used.sort_unstable_by_key(|extent| extent.start);
        let mut next = 0;
        for extent in used {
            if u64::from(extent.start) < next {
                return Err(damaged(format!("two files have unit {}", extent.start)));
            }
            self.free_between(next, u64::from(extent.start));
            next = extent.end();
        }
        self.free_between(next, u64::from(units));
        Ok(())
    }

    fn free_between(&mut self, start: u64, end: u64) {
        let run = u32::try_from(start).ok().zip(end.checked_sub(start));
        if let Some((start, units)) = run
            && let Ok(units @ 1..) = u32::try_from(units)
        {
            self.free.free(Extent { start, units });
        }
    }

    /// Applies `change` to the catalog, on the way to the journal or from it.
    fn apply(&mut self, change: &Change) -> Result<(), VolumeError> {
        match change {
            Change::Create { id, name } => {
                if self.names.contains_key(name) || id.0 < self.next {
                    return Err(damaged(format!("{name} is made twice")));
                }
                let next = id.0.checked_add(1);
                self.next = next.ok_or_else(|| damaged("a file has the last number".into()))?;
                self.bytes += self.file_bytes(*id, name);
                self.names.insert(name.clone(), *id);
                let name = Some(name.clone());
                self.files.insert(
                    *id,
                    Inode {
                        name,
                        ..Inode::default()
                    },
                );
            }
            Change::Remove { name } => self.unlink(name)?,
            Change::Rename { from, to } => {
                let id = self.id(from).ok_or_else(|| missing(from))?;
                if from == to {
                    return Ok(());
                }
                if self.names.contains_key(to) {
                    self.unlink(to)?;
                }
                self.names.remove(from);
                self.names.insert(to.clone(), id);
                self.bytes += self.file_bytes(id, to);
                self.bytes -= self.file_bytes(id, from);
                self.inode_mut(id)?.name = Some(to.clone());
            }
            Change::Resize { id, size } => self.inode_mut(*id)?.size = *size,
            Change::Extend { id, extent } => {
                self.change_extents(*id, |extents| push(extents, *extent))?;
            }
            Change::Shrink { id, units } => {
                let freed = self.change_extents(*id, |extents| shrink(extents, *units))?;
                self.freed.extend(freed);
            }
        }
        Ok(())
    }

    /// Returns the bytes of the file `id` of that name in a snapshot, without its extents.
    fn file_bytes(&self, id: FileId, name: &str) -> u64 {
        let len = name.len() as u64;
        2 + 2 * varint(id.0) + varint(len) + len + self.size_bytes
    }

    /// Changes the extents of a file.
    fn change_extents<T>(
        &mut self,
        id: FileId,
        change: impl FnOnce(&mut Vec<Extent>) -> T,
    ) -> Result<T, VolumeError> {
        let inode = self.inode_mut(id)?;
        // All but the last two are as they were, or gone.
        let bytes = |extents: &[Extent]| -> u64 {
            extents.iter().map(|&extent| extent_bytes(id, extent)).sum()
        };
        let before = inode.extent_bytes;
        let kept = inode.extents.len().saturating_sub(1);
        let last = bytes(&inode.extents[kept..]);
        let changed = change(&mut inode.extents);
        inode.extent_bytes = match inode.extents.get(kept..) {
            Some(now) if inode.extents.len() > kept => before - last + bytes(now),
            _ => bytes(&inode.extents),
        };
        let (after, named) = (inode.extent_bytes, inode.name.is_some());
        if named {
            self.bytes = self.bytes + after - before;
        }
        Ok(changed)
    }

    /// Refuses a change that makes a snapshot `more` bytes longer, and `less` shorter, if the journal has no room for
    /// that.
    fn check_room(&self, more: u64, less: u64) -> Result<(), VolumeError> {
        let (bytes, room) = ((self.bytes + more).saturating_sub(less), self.room);
        match more > less && bytes > room {
            true => Err(VolumeError::DirectoryTooLarge { bytes, room }),
            false => Ok(()),
        }
    }

    /// Removes the name of a file; its units are freed by [`Catalog::forget`], unless it is open.
    fn unlink(&mut self, name: &str) -> Result<(), VolumeError> {
        let id = self.names.remove(name).ok_or_else(|| missing(name))?;
        let inode = self.inode_mut(id)?;
        inode.name = None;
        let extents = inode.extent_bytes;
        self.bytes -= self.file_bytes(id, name) + extents;
        self.resized.remove(&id);
        Ok(())
    }

    fn inode_mut(&mut self, id: FileId) -> Result<&mut Inode, VolumeError> {
        let inode = self.files.get_mut(&id);
        inode.ok_or_else(|| {
            damaged(format!(
                "a change names file {}, which does not exist",
                id.0
            ))
        })
    }

    fn change(&mut self, change: Change) -> Result<(), VolumeError> {
        self.apply(&change)?;
        self.pending.push(change);
        Ok(())
    }

    /// Applies `change` to the file `id`: a change of a file without a name is not written to the journal.
    fn change_file(&mut self, id: FileId, change: Change) -> Result<(), VolumeError> {
        match self.inode_mut(id)?.name {
            Some(_) => self.change(change),
            None => self.apply(&change),
        }
    }

    /// Returns the file of that name, if it exists.
    pub fn id(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    /// Returns the file of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: &str) -> Result<FileId, VolumeError> {
        let id = self.id(name);
        id.ok_or_else(|| VolumeError::NotFound(name.into()))
    }

    /// Lists names that begin with `prefix`, in order.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let from = self.names.range(prefix.to_owned()..);
        let names = from.take_while(|(name, _)| name.starts_with(prefix));
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self, id: FileId) -> u64 {
        self.files.get(&id).map_or(0, |inode| inode.size)
    }

    /// Returns the number of units of the file.
    pub fn units(&self, id: FileId) -> u64 {
        self.files.get(&id).map_or(0, Inode::units)
    }

    /// Returns the number of free units.
    pub fn free_units(&self) -> u64 {
        self.free.total()
    }

    /// Returns the ranges of bytes, from the first unit of the volume, that contain the file's `len` bytes from
    /// `offset`, as far as it has units.
    pub fn runs(&self, id: FileId, offset: u64, len: u64, unit: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let (mut skip, mut left) = (offset, len);
        let extents = self.files.get(&id).map(|inode| inode.extents.iter());
        for extent in extents.into_iter().flatten() {
            let bytes = u64::from(extent.units) * unit;
            if left == 0 {
                break;
            }
            if skip >= bytes {
                skip -= bytes;
                continue;
            }
            let here = left.min(bytes - skip);
            runs.push((u64::from(extent.start) * unit + skip, here));
            skip = 0;
            left -= here;
        }
        runs
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// There is a file of that name, the name is not valid, or the journal has no room for another.
    pub fn create(&mut self, name: &str) -> Result<FileId, VolumeError> {
        check_name(name)?;
        if self.names.contains_key(name) {
            return Err(VolumeError::Exists(name.into()));
        }
        let id = FileId(self.next);
        self.check_room(self.file_bytes(id, name), 0)?;
        let name = name.into();
        self.change(Change::Create { id, name })?;
        Ok(id)
    }

    /// Removes the file's name; returns the file.
    ///
    /// # Errors
    /// There is no such file.
    pub fn remove(&mut self, name: &str) -> Result<FileId, VolumeError> {
        let id = self.find(name)?;
        self.change(Change::Remove { name: name.into() })?;
        Ok(id)
    }

    /// Renames a file; returns the file that had the new name.
    ///
    /// # Errors
    /// There is no file `from`, `to` is not a valid name, or the journal has no room for it.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<Option<FileId>, VolumeError> {
        check_name(to)?;
        let id = self.find(from)?;
        let replaced = self.id(to).filter(|_| from != to);
        let gone = replaced.map_or(0, |id| {
            let inode = self.files.get(&id);
            self.file_bytes(id, to) + inode.map_or(0, |inode| inode.extent_bytes)
        });
        let less = self.file_bytes(id, from) + gone;
        self.check_room(self.file_bytes(id, to), less)?;
        let (from, to) = (from.into(), to.into());
        self.change(Change::Rename { from, to })?;
        Ok(replaced)
    }

    /// Records the size of a file that has grown.
    ///
    /// # Errors
    /// There is no such file.
    pub fn grow(&mut self, id: FileId, size: u64) -> Result<(), VolumeError> {
        let inode = self.inode_mut(id)?;
        inode.size = size;
        if inode.name.is_some() {
            self.resized.insert(id);
        }
        Ok(())
    }

    /// Cuts a file down to `size` bytes in `units` units.
    ///
    /// # Errors
    /// There is no such file.
    pub fn truncate(&mut self, id: FileId, size: u64, units: u64) -> Result<(), VolumeError> {
        self.change_file(id, Change::Resize { id, size })?;
        self.change_file(id, Change::Shrink { id, units })?;
        self.resized.remove(&id);
        Ok(())
    }

    /// Extends a file to `units` units.
    ///
    /// # Errors
    /// The volume is full, or the journal has no room for so many extents: the file keeps what it had.
    pub fn extend(&mut self, id: FileId, units: u64, unit: u64) -> Result<(), VolumeError> {
        let more = units.saturating_sub(self.units(id));
        if more > self.free.total() {
            return Err(VolumeError::NoSpace {
                wanted: more.saturating_mul(unit),
                free: self.free.total() * unit,
            });
        }
        let taken = self.take_units(id, more)?;
        let bytes = taken.iter().map(|&extent| extent_bytes(id, extent)).sum();
        let named = self.inode_mut(id)?.name.is_some();
        if named && let Err(error) = self.check_room(bytes, 0) {
            self.release(taken);
            return Err(error);
        }
        for extent in taken {
            self.change_file(id, Change::Extend { id, extent })?;
        }
        Ok(())
    }

    /// Allocates `units` free units, to follow the last of the file.
    fn take_units(&mut self, id: FileId, units: u64) -> Result<Vec<Extent>, VolumeError> {
        let last = self.inode_mut(id)?.extents.last().copied();
        let (mut after, mut left) = (last.map(Extent::end), units);
        let mut taken = Vec::new();
        while left > 0 {
            let wanted = u32::try_from(left).unwrap_or(u32::MAX);
            let next = after.and_then(|after| u32::try_from(after).ok());
            let Some(extent) = self.free.take(wanted, next) else {
                break;
            };
            left -= u64::from(extent.units);
            after = Some(extent.end());
            taken.push(extent);
        }
        Ok(taken)
    }

    /// Removes a file without a name that nobody has open: its units become free after the next commit.
    pub fn forget(&mut self, id: FileId) {
        if self
            .files
            .get(&id)
            .is_some_and(|inode| inode.name.is_none())
        {
            let inode = self.files.remove(&id).unwrap_or_default();
            self.freed.extend(inode.extents);
        }
    }

    /// Takes all changes that are not durable.
    pub fn take_batch(&mut self) -> Batch {
        let mut changes = std::mem::take(&mut self.pending);
        for id in std::mem::take(&mut self.resized) {
            let size = self.size(id);
            changes.push(Change::Resize { id, size });
        }
        Batch {
            changes,
            freed: std::mem::take(&mut self.freed),
        }
    }

    /// Restores a batch that could not be made durable, in front of later changes.
    pub fn restore(&mut self, batch: Batch) {
        let later = std::mem::replace(&mut self.pending, batch.changes);
        self.pending.extend(later);
        self.freed.extend(batch.freed);
    }

    /// Makes the units free that a durable batch has freed.
    pub fn release(&mut self, freed: Vec<Extent>) {
        for extent in freed {
            self.free.free(extent);
        }
    }

    /// Returns the whole directory as changes of an empty one.
    pub fn snapshot(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (&id, inode) in &self.files {
            let Some(name) = inode.name.clone() else {
                continue;
            };
            changes.push(Change::Create { id, name });
            let extents = inode.extents.iter();
            changes.extend(extents.map(|&extent| Change::Extend { id, extent }));
            let size = inode.size;
            changes.push(Change::Resize { id, size });
        }
        changes
    }
}

fn damaged(what: String) -> VolumeError {
    VolumeError::Damaged(what)
}

fn missing(name: &str) -> VolumeError {
    damaged(format!("a change of {name}, which is no file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::encode;
    use proptest::prelude::*;

    const UNITS: u32 = 16;
    const UNIT: u64 = 4096;

    fn change() -> impl Strategy<Value = Change> {
        let id = || prop_oneof![20 => 0..2_u64, 1 => 2..8_u64].prop_map(FileId);
        let new = prop_oneof![20 => 2..8_u64, 1 => u64::MAX - 1..=u64::MAX].prop_map(FileId);
        let name = || prop_oneof![20 => "[a-d]", 1 => Just(String::new()), 1 => Just("\0".into())];
        let start = prop_oneof![20 => 0..UNITS, 1 => any::<u32>(), 1 => u32::MAX - 1..=u32::MAX];
        let units = prop_oneof![20 => 1..4_u32, 1 => Just(0), 1 => any::<u32>()];
        let size = prop_oneof![8 => 0..3 * UNIT, 1 => any::<u64>()];
        prop_oneof![
            1 => (new, name()).prop_map(|(id, name)| Change::Create { id, name }),
            1 => name().prop_map(|name| Change::Remove { name }),
            1 => (name(), name()).prop_map(|(from, to)| Change::Rename { from, to }),
            1 => (id(), size).prop_map(|(id, size)| Change::Resize { id, size }),
            5 => (id(), start, units).prop_map(|(id, start, units)| Change::Extend {
                id,
                extent: Extent { start, units },
            }),
            1 => (id(), any::<u64>()).prop_map(|(id, units)| Change::Shrink { id, units }),
        ]
    }

    fn replayed(changes: &[Change]) -> Result<Catalog, VolumeError> {
        Catalog::replayed(changes.iter().cloned(), UNITS, UNIT, u64::MAX / 2)
    }

    fn created(id: u64, name: &str) -> Change {
        let (id, name) = (FileId(id), name.into());
        Change::Create { id, name }
    }

    fn extended(id: u64, start: u32, units: u32) -> Change {
        let (id, extent) = (FileId(id), Extent { start, units });
        Change::Extend { id, extent }
    }

    #[test]
    fn a_journal_that_no_volume_can_have_is_refused() {
        let (id, units) = (FileId(0), 1);
        for more in [
            vec![created(1, "")],
            vec![created(1, "a\0b")],
            vec![created(1, &"x".repeat(256))],
            vec![created(u64::MAX, "b"), created(u64::MAX, "c")],
            vec![extended(0, 3, 0)],
            vec![extended(0, UNITS, 1)],
            vec![extended(0, 0, u32::MAX), extended(0, u32::MAX, 2)],
            vec![extended(0, u32::MAX, 7), Change::Shrink { id, units }],
            vec![extended(0, 3, 2), extended(0, 4, 2)],
        ] {
            let mut changes = vec![created(0, "a")];
            changes.extend(more);
            let refused = replayed(&changes);
            assert!(
                matches!(refused, Err(VolumeError::Damaged(_))),
                "{changes:?}"
            );
        }
    }

    proptest! {
        /// A directory that was accepted has each unit once, and its files can be cut, extended and removed.
        #[test]
        fn any_changes_are_refused_or_make_a_directory(
            more in prop::collection::vec(change(), 0..8),
        ) {
            let mut changes = vec![created(0, "a"), created(1, "b")];
            changes.extend(more);
            let Ok(mut catalog) = replayed(&changes) else {
                return Ok(());
            };
            let names = catalog.names("");
            let ids: Vec<_> = names.iter().filter_map(|name| catalog.id(name)).collect();
            let used: u64 = ids.iter().map(|&id| catalog.units(id)).sum();
            // What a snapshot takes is never more than was counted, and less by the numbers' lengths alone.
            let counted = |catalog: &Catalog| {
                let bytes = encode(&catalog.snapshot()).expect("a snapshot").len() as u64;
                let slack = 10 + 10 * catalog.names.len() as u64;
                bytes <= catalog.bytes && catalog.bytes <= bytes + slack
            };
            prop_assert!(counted(&catalog));
            prop_assert_eq!(catalog.free_units() + used, u64::from(UNITS));
            for &id in &ids {
                let runs = catalog.runs(id, 0, u64::MAX, UNIT);
                let bytes: u64 = runs.iter().map(|(_, len)| len).sum();
                prop_assert_eq!(bytes, catalog.units(id) * UNIT);
                catalog.truncate(id, 0, 1).expect("a file");
            }
            if let Ok(new) = catalog.create("new") {
                prop_assert!(!ids.contains(&new));
                let free = catalog.free_units();
                catalog.extend(new, free, UNIT).expect("free units");
                prop_assert_eq!(catalog.units(new), free);
            }
            prop_assert!(counted(&catalog));
            for &id in &ids {
                catalog.grow(id, catalog.units(id) * UNIT).expect("a file");
            }
            if let [first, .., last] = &catalog.names("")[..] {
                let (first, last) = (first.clone(), last.clone());
                catalog.rename(&first, "a longer name").expect("a file");
                let replaced = catalog.rename("a longer name", &last).expect("a file");
                catalog.forget(replaced.expect("the last"));
            }
            prop_assert!(counted(&catalog));
            for name in catalog.names("") {
                let id = catalog.remove(&name).expect("a file");
                catalog.forget(id);
            }
            let batch = catalog.take_batch();
            catalog.release(batch.freed);
            prop_assert_eq!(catalog.free_units(), u64::from(UNITS));
        }
    }
}
