//! Settings as users request them: a name and a value.

use super::Knob;

/// Reason why a requested setting is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobRequestError {
    /// The text has no name and value: write them.
    #[error("write NAME=VALUE, as nr_requests=64")]
    NoPair,
    /// The setting was given two values: give one.
    #[error("--set {0}: given twice: give one value")]
    Twice(String),
    /// No setting has the name.
    #[error("no setting {0}: there are {names}", names = names())]
    Unknown(String),
    /// The setting is a disk's, and no disk is given: name one.
    #[error("{0}: a setting of a disk: name the disk, as joulio knobs nvme0n1")]
    NoDisk(String),
}

fn names() -> String {
    let all: Vec<_> = Knob::all(Some("")).iter().map(Knob::name).collect();
    all.join(", ")
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// [`KnobRequestError::NoPair`], if there is no `=`.
pub fn parse_setting(text: &str) -> Result<(String, String), KnobRequestError> {
    let pair = text.split_once('=').ok_or(KnobRequestError::NoPair)?;
    Ok((pair.0.into(), pair.1.into()))
}

/// Refuses names that occur twice in the settings `all`.
///
/// # Errors
/// [`KnobRequestError::Twice`], with the first of them.
pub fn check_distinct(all: &[(String, String)]) -> Result<(), KnobRequestError> {
    for (at, (name, _)) in all.iter().enumerate() {
        if all[..at].iter().any(|(before, _)| before == name) {
            return Err(KnobRequestError::Twice(name.clone()));
        }
    }
    Ok(())
}

impl Knob {
    /// Returns the setting called `name`, of `disk` if it is a disk's.
    ///
    /// # Errors
    /// There is no such setting, or it is a disk's and there is no disk.
    pub fn requested(name: &str, disk: Option<&str>) -> Result<Knob, KnobRequestError> {
        let unknown = || KnobRequestError::Unknown(name.into());
        let knob = Knob::by_name(name, disk).ok_or_else(unknown)?;
        match knob.disk() {
            Some("") => Err(KnobRequestError::NoDisk(name.into())),
            _ => Ok(knob),
        }
    }
}
