//! The journal while this process has it locked.

use super::entry::{EntryError, JournalEntry, KnobChange, RecordedChange};
use super::error::{JournalError, TakeError};
use super::folder::{Folder, lock_file};
use joulio_kernel_io::LockHolder;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Size in bytes that no entry exceeds.
const MAX_BYTES: u64 = 4 << 20;

/// The locked journal: nobody else reads or writes it until this is dropped.
pub struct LockedJournal {
    folder: Folder,
}

/// A locked entry: nobody else takes it until this is dropped.
pub struct HeldEntry {
    /// Content of the entry.
    pub entry: JournalEntry,
    /// Whether the entry was written just now; if not, an earlier change is not restored yet.
    pub fresh: bool,
    name: OsString,
    _lock: File,
}

impl LockedJournal {
    pub(super) fn new(folder: Folder) -> LockedJournal {
        LockedJournal { folder }
    }

    /// Records `change` before it is made: when this returns, the entry survives the end of this process and a power
    /// failure. An existing entry for the same setting stays: it has the older value. An entry of a feature then has
    /// the new value as well.
    ///
    /// # Errors
    /// The entry cannot be written, or another process has changed the same.
    pub fn begin(&self, change: RecordedChange) -> Result<HeldEntry, JournalError> {
        self.sweep()?;
        let last = self.entries()?.first().map_or(0, |latest| latest.0);
        let entry = JournalEntry::new(last.saturating_add(1), change);
        let name = OsString::from(entry.change.file_name());
        if let Some(held) = self.write(&name, &entry)? {
            return Ok(held);
        }
        let mut held = self.take(&name).map_err(|why| match why {
            TakeError::Busy { holder, .. } => JournalError::Busy {
                change: Box::new(entry.change.clone()),
                holder,
            },
            TakeError::Unreadable(error) => error,
        })?;
        if let Some(change) = held.entry.change.followed_by(&entry.change) {
            held.entry.change = change;
            let entry = held.entry.clone();
            self.replace(&mut held, &entry)?;
        }
        Ok(held)
    }

    /// Writes an entry into a new file; `None` if the name exists.
    fn write(&self, name: &OsStr, entry: &JournalEntry) -> Result<Option<HeldEntry>, JournalError> {
        let (staged, file) = self.stage(entry)?;
        // Not a rename, which would replace an older entry.
        let linked = self.folder.link(&staged, name);
        let removed = self.folder.remove(&staged);
        if !linked? {
            return Ok(None);
        }
        removed?;
        self.folder.sync()?;
        Ok(Some(HeldEntry {
            entry: entry.clone(),
            fresh: true,
            name: name.into(),
            _lock: file,
        }))
    }

    /// Writes an entry into a new file, and locks it; returns the name that it has for the time being.
    fn stage(&self, entry: &JournalEntry) -> Result<(OsString, File), JournalError> {
        let staged = OsString::from(format!(".{}.tmp", std::process::id()));
        let mut file = self.folder.make(&staged)?;
        let failed = |source: io::Error| JournalError::Io {
            path: self.folder.path_of(&staged),
            source,
        };
        let written = (|| {
            lock_file(&file).map_err(failed)?;
            let mut text = serde_json::to_string_pretty(entry).map_err(|e| failed(e.into()))?;
            text.push('\n');
            let written = file.write_all(text.as_bytes());
            written.and_then(|()| file.sync_all()).map_err(failed)
        })();
        if let Err(error) = written {
            // The first error is the one to report.
            let _ = self.folder.remove(&staged);
            return Err(error);
        }
        Ok((staged, file))
    }

    /// Records that the change of `held` is about to be restored, where a later attempt has to know it. If that cannot
    /// be written, as on a full disk, the entry stays as it is, and the change is to be restored all the same.
    pub(crate) fn begin_restoring(&self, held: &mut HeldEntry) {
        if let Some(change) = held.entry.change.restoring() {
            let mut entry = held.entry.clone();
            entry.change = change;
            let _ = self.replace(held, &entry);
        }
    }

    /// Writes `entry` in place of the one in the file of `held`.
    fn replace(&self, held: &mut HeldEntry, entry: &JournalEntry) -> Result<(), JournalError> {
        let (staged, file) = self.stage(entry)?;
        if let Err(error) = self.folder.rename(&staged, &held.name) {
            let _ = self.folder.remove(&staged);
            return Err(error);
        }
        held._lock = file;
        self.folder.sync()
    }

    /// Removes files that killed processes were writing: nobody else writes now, so that no process that still runs has
    /// begun an unfinished file.
    pub(super) fn sweep(&self) -> Result<(), JournalError> {
        for name in self.folder.names()? {
            if !is_staged(&name) {
                continue;
            }
            // A file of another user, or a locked one, is left.
            let dead = |file: File| lock_file(&file).unwrap_or(false).then_some(file);
            if let Some(_lock) = self.folder.read(&name).ok().and_then(dead) {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Lists numbers and file names of all entries, the latest first. A file that is no entry has number 0.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn entries(&self) -> Result<Vec<(u64, OsString)>, JournalError> {
        let is_entry = |name: &OsString| Path::new(name).extension() == Some(OsStr::new("json"));
        let names = self.folder.names()?.into_iter().filter(is_entry);
        let numbered = |name: OsString| {
            let number = self.parse(&name).map_or(0, |entry| entry.number);
            (number, name)
        };
        let mut entries: Vec<_> = names.map(numbered).collect();
        entries.sort_by(|one, other| other.cmp(one));
        Ok(entries)
    }

    /// Lists changes of processes that still run and are to restore them themselves, with the process.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn living(&self) -> Result<Vec<(RecordedChange, LockHolder)>, JournalError> {
        let mut living = Vec::new();
        for (_, name) in self.entries()? {
            if let Err(TakeError::Busy { holder, .. }) = self.take(&name)
                && let Ok(entry) = self.parse(&name)
            {
                living.push((entry.change, holder));
            }
        }
        Ok(living)
    }

    /// Refuses `change` where a process that still runs has changed the same setting, or one that the kernel changes
    /// with it: that process restores its old value later. Changes of the same as `own` do not count.
    ///
    /// # Errors
    /// Such a process has changed it, or the directory cannot be read.
    pub(crate) fn refuse_held(
        &self,
        change: &KnobChange,
        own: &[RecordedChange],
    ) -> Result<(), JournalError> {
        for (held, holder) in self.living()? {
            let RecordedChange::Knob(other) = &held else {
                continue;
            };
            if !change.touches(other) || own.iter().any(|own| own.is_of_the_same(&held)) {
                continue;
            }
            let (wanted, other) = (change.change.knob().to_string(), Box::new(held));
            return Err(match other.to_string() == wanted {
                true => JournalError::Busy {
                    change: other,
                    holder,
                },
                false => JournalError::Beside {
                    wanted,
                    other,
                    holder,
                },
            });
        }
        Ok(())
    }

    /// Locks and reads the entry in the file `name`.
    ///
    /// # Errors
    /// A process that still runs has it, or the file is no entry.
    pub fn take(&self, name: &OsStr) -> Result<HeldEntry, TakeError> {
        let path = || self.folder.path_of(name);
        let file = self.folder.read(name)?;
        let locked = lock_file(&file).map_err(|source| JournalError::Io {
            path: path(),
            source,
        });
        if !locked? {
            return Err(TakeError::Busy {
                path: path(),
                holder: LockHolder::of(&file),
            });
        }
        Ok(HeldEntry {
            entry: self.read(name, &file)?,
            fresh: false,
            name: name.into(),
            _lock: file,
        })
    }

    /// Removes `held`, whose change was restored.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn done(&self, held: HeldEntry) -> Result<(), JournalError> {
        self.folder.remove(&held.name)?;
        self.folder.sync()
    }

    fn parse(&self, name: &OsStr) -> Result<JournalEntry, JournalError> {
        self.read(name, &self.folder.read(name)?)
    }

    fn read(&self, name: &OsStr, file: &File) -> Result<JournalEntry, JournalError> {
        read(file).map_err(|source| JournalError::Unreadable {
            path: self.folder.path_of(name),
            source,
        })
    }
}

/// Whether `name` is that of a file that is being written: `.PID.tmp`.
fn is_staged(name: &OsStr) -> bool {
    let name = name.to_str();
    let pid = name.and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(file: &File) -> Result<JournalEntry, EntryError> {
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    JournalEntry::parse(&text)
}
