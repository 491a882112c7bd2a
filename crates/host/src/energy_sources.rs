//! Energy sources: the meters of the machine and those in storage devices, chosen by words.
//!
//! [`select`] reads the words, [`found`] opens the machine's meters, [`add_device`] the one in a device, and [`met`]
//! refuses a word that no meter matches. [`discover`] combines these for the machine's meters.

mod error;
mod modelled;
mod nvme;

pub use error::{RootError, SelectionError};
pub use nvme::device_meter;

use crate::controller::SharedPowerControl;
use joulio_energy::{Discovery, FindingState, MeterFinding, Meters, Root, Select, Source};
use std::path::Path;

/// Returns the root of this machine's file tree, or of another machine's that was captured in `folder`.
///
/// # Errors
/// `folder` is not a directory.
pub fn root(folder: Option<&Path>) -> Result<Root, RootError> {
    match folder {
        Some(folder) if !folder.is_dir() => Err(RootError {
            path: folder.into(),
        }),
        Some(folder) => Ok(Root::at(folder)),
        None => Ok(Root::system()),
    }
}

/// Parses the words of a selection: `all`, `none`, a source, a boundary, a meter's name, `NAME=BOUNDARY` or
/// `redfish=URL`.
///
/// # Errors
/// A word is none of these, or words contradict or repeat each other.
pub fn select(words: &[String]) -> Result<Select, SelectionError> {
    check(words)?;
    let mut select = Select::all();
    for word in words {
        select.extend(word.parse().map_err(SelectionError::Word)?);
    }
    Ok(select)
}

/// Refuses words that contradict or repeat each other.
///
/// # Errors
/// `none` is combined with other words, or a word is given twice.
pub fn check(words: &[String]) -> Result<(), SelectionError> {
    if words.len() > 1 && words.iter().any(|word| word == "none") {
        return Err(SelectionError::NoneBeside);
    }
    let again = |at: &usize| words[..*at].contains(&words[*at]);
    match (0..words.len()).find(again) {
        Some(at) => Err(SelectionError::Twice {
            // The address may contain a password.
            word: match words[at].starts_with("redfish=") {
                true => "redfish=...".into(),
                false => words[at].clone(),
            },
        }),
        None => Ok(()),
    }
}

/// Opens the meters of the machine `root` that `select` chooses.
///
/// # Errors
/// No meter has a name in `select`.
pub fn found(root: &Root, select: &Select) -> Result<Discovery, SelectionError> {
    let discovery = Meters::discover(root, select);
    match discovery.unmatched.first() {
        Some(name) => Err(SelectionError::Unknown { name: name.clone() }),
        None => Ok(discovery),
    }
}

/// Returns the `discovery` if each word of `select` has a meter.
///
/// # Errors
/// A word has none.
pub fn met(discovery: Discovery, select: &Select) -> Result<Discovery, SelectionError> {
    match discovery.unmet(select) {
        Some(unmet) => Err(SelectionError::Unmet(unmet)),
        None => Ok(discovery),
    }
}

/// Opens the meters of the machine `root` that `words` choose.
///
/// # Errors
/// The words are wrong, or one has no meter.
pub fn discover(root: &Root, words: &[String]) -> Result<Discovery, SelectionError> {
    let select = select(words)?;
    met(found(root, &select)?, &select)
}

/// Adds the meter in the device `name` to `discovery`, as [`device_meter`], or the reason why it has none.
pub fn add_device(name: &str, control: SharedPowerControl, root: &Root, discovery: &mut Discovery) {
    discovery.others.retain(|other| other.name != "nvme");
    match device_meter(name, control, &**root.clock()) {
        Ok(meter) => discovery.meters.push(meter),
        Err(error) => discovery.others.push(MeterFinding {
            name: format!("nvme:{name}"),
            source: Source::Nvme,
            zone: None,
            state: FindingState::Unreadable {
                why: error.to_string(),
                allow: None,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
        select(&words).unwrap_err().to_string()
    }

    #[test]
    fn words_that_contradict_or_repeat_each_other_are_refused() {
        assert!(refused(&["none", "wall"]).contains("none excludes every other meter"));
        assert!(refused(&["wall", "package", "wall"]).contains("wall is given twice"));
        let secret = "redfish=https://user:secret@bmc/x";
        let said = refused(&[secret, secret]);
        assert!(said.contains("redfish=... is given twice"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }

    #[test]
    fn a_root_is_a_folder() {
        let said = root(Some(Path::new("/nowhere"))).unwrap_err().to_string();
        assert_eq!(said, "/nowhere is not a folder");
        assert!(root(None).is_ok());
    }
}
