//! Restoring the values that a change replaced.

use super::along;
use super::error::KnobError;
use super::left::LeftAlone;
use super::plan::{KnobPlan, Part, set};
use crate::tree::{Tree, is_gone};

/// Result for a file.
enum Restored {
    /// The old value was written now.
    Now,
    /// The old value was there already.
    Already,
    /// The file was left as it is.
    Left(LeftAlone),
}

/// Restores the old values, the last file first. All are tried; the first error is returned.
pub(super) fn restore(tree: &Tree, change: &KnobPlan) -> Result<Vec<LeftAlone>, KnobError> {
    change.check()?;
    if let (Some(then), Some(now)) = (&change.boot, tree.boot())
        && *then != now
    {
        return Ok(vec![LeftAlone::Restarted]);
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
            Ok(Restored::Now) => any_now = true,
            Ok(Restored::Already) => {}
            Ok(Restored::Left(why)) => left.push(why),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    if left.is_empty() && failed.is_none() {
        match along::restore(tree, change, any_now || change.restoring) {
            Ok(beside) => left.extend(beside),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(left), Err)
}

/// Whether restoring the old values would write a file now.
pub(super) fn writes(tree: &Tree, change: &KnobPlan) -> bool {
    let mut parts = change.parts.iter().filter(|part| part.old != part.new);
    parts.any(|part| tree.value(&part.file).is_ok_and(|now| now == part.new))
}

fn one(tree: &Tree, part: &Part) -> Result<Restored, KnobError> {
    let file = || part.file.clone();
    let found = tree.folder(&part.file);
    let found = found.and_then(|folder| Ok((folder, tree.value(&part.file)?)));
    let (folder, now) = match found {
        Ok(found) => found,
        Err(error) if is_gone(&error) => {
            return Ok(Restored::Left(LeftAlone::Removed { file: file() }));
        }
        Err(source) => {
            let path = tree.path(&part.file);
            return Err(KnobError::Read { path, source });
        }
    };
    if folder != part.folder {
        return Ok(Restored::Left(LeftAlone::Another { file: file() }));
    }
    if now == part.old {
        return Ok(Restored::Already);
    }
    if now != part.new {
        return Ok(Restored::Left(LeftAlone::Foreign {
            file: file(),
            now,
            old: part.old.clone(),
            new: part.new.clone(),
        }));
    }
    match set(tree, &part.file, &part.old) {
        Ok(()) => Ok(Restored::Now),
        // It went between the read and the write.
        Err(KnobError::Write { source, .. } | KnobError::Read { source, .. })
            if is_gone(&source) =>
        {
            Ok(Restored::Left(LeftAlone::Removed { file: file() }))
        }
        Err(error) => Err(error),
    }
}
