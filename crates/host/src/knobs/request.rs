//! Settings as people request them: a name and a value.

use super::Knob;

/// A setting that was requested and is none, or lacks what it needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobRequestError {
    /// Text without a name and a value: write them.
    #[error("write NAME=VALUE, as nr_requests=64")]
    NoPair,
    /// A setting that was given two values: give one.
    #[error("--set {0}: given twice: give one value")]
    Twice(String),
    /// A name that no setting has.
    #[error("no setting {0}: there are {names}", names = names())]
    Unknown(String),
    /// A setting of a disk, without a disk: name one.
    #[error("{0}: a setting of a disk: name the disk, as joulio knobs nvme0n1")]
    NoDisk(String),
}

fn names() -> String {
    let all: Vec<_> = Knob::all(Some("")).iter().map(Knob::name).collect();
    all.join(", ")
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// [`KnobRequestError::NoPair`], if there is no `=`.
pub fn parse_setting(text: &str) -> Result<(String, String), KnobRequestError> {
    let pair = text.split_once('=').ok_or(KnobRequestError::NoPair)?;
    Ok((pair.0.into(), pair.1.into()))
}

/// Refuses names that stand twice among the settings `all`.
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
    /// Setting called `name`, of `disk` if it is a disk's.
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
