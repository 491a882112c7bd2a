//! Undoing a change.

use super::along;
use super::change::{Change, Part, set};
use super::error::KnobError;
use super::tree::{Tree, is_gone};
use std::fmt;

/// Something that was left as it is, because it is not ours any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// The system was started anew: the kernel has forgotten the change.
    Restarted,
    /// The device is gone, and with it the change.
    Gone {
        /// The file, below the root.
        file: String,
    },
    /// Another device, or the same that came again, has that name now.
    Another {
        /// The file.
        file: String,
    },
    /// Somebody else has changed it since.
    Foreign {
        /// The file.
        file: String,
        /// Its value.
        now: String,
        /// What it was before.
        old: String,
        /// What it was set to.
        new: String,
    },
    /// Something that the change may have reset is not as it was, and the change itself was undone
    /// by somebody else.
    Beside {
        /// The file.
        file: String,
        /// Its value.
        now: String,
        /// What it was before.
        old: String,
    },
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Left::Restarted => f.write_str("the system was started anew: nothing is left of it"),
            Left::Gone { file } => write!(f, "/{file}: its device is gone: nothing is left of it"),
            Left::Another { file } => {
                write!(
                    f,
                    "/{file}: another device has that name now: left as it is"
                )
            }
            Left::Foreign {
                file,
                now,
                old,
                new,
            } => write!(
                f,
                "/{file}: {now} now, neither {old} as before nor {new} as set: somebody else has changed it: left as it is"
            ),
            Left::Beside { file, now, old } => write!(
                f,
                "/{file}: {now} now, {old} before: left as it is, for somebody else has been at it"
            ),
        }
    }
}

/// What became of a file.
enum Back {
    /// It has the old value again, by this.
    Now,
    /// It had it.
    Already,
    /// It was left.
    Left(Left),
}

/// Undoes it, the last first. All is tried; the first error is told.
pub(super) fn put_back(tree: &Tree, change: &Change) -> Result<Vec<Left>, KnobError> {
    change.check()?;
    if let (Some(then), Some(now)) = (&change.boot, tree.boot())
        && *then != now
    {
        return Ok(vec![Left::Restarted]);
    }
    let mut left = Vec::new();
    let mut failed = None;
    let mut any_now = false;
    for part in change
        .parts
        .iter()
        .rev()
        .filter(|part| part.old != part.new)
    {
        match one(tree, part) {
            Ok(Back::Now) => any_now = true,
            Ok(Back::Already) => {}
            Ok(Back::Left(why)) => left.push(why),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    if left.is_empty() && failed.is_none() {
        match along::put_back(tree, change, any_now) {
            Ok(beside) => left.extend(beside),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(left), Err)
}

fn one(tree: &Tree, part: &Part) -> Result<Back, KnobError> {
    let file = || part.file.clone();
    let looked = tree.folder(&part.file);
    let looked = looked.and_then(|folder| Ok((folder, tree.value(&part.file)?)));
    let (folder, now) = match looked {
        Ok(looked) => looked,
        Err(error) if is_gone(&error) => return Ok(Back::Left(Left::Gone { file: file() })),
        Err(source) => {
            let path = tree.path(&part.file);
            return Err(KnobError::Read { path, source });
        }
    };
    if folder != part.folder {
        return Ok(Back::Left(Left::Another { file: file() }));
    }
    if now == part.old {
        return Ok(Back::Already);
    }
    if now != part.new {
        return Ok(Back::Left(Left::Foreign {
            file: file(),
            now,
            old: part.old.clone(),
            new: part.new.clone(),
        }));
    }
    match set(tree, &part.file, &part.old) {
        Ok(()) => Ok(Back::Now),
        // It went between the look and the change.
        Err(KnobError::Write { source, .. } | KnobError::Read { source, .. })
            if is_gone(&source) =>
        {
            Ok(Back::Left(Left::Gone { file: file() }))
        }
        Err(error) => Err(error),
    }
}
