//! Meters that a command reads: those of the machine that were selected, and those in devices that it names.

use crate::controller_name::ControllerName;
use crate::error::OpenError;
use joulio_energy::{Discovery, Root};
use joulio_host::controller::SharedPowerControl;
use joulio_host::energy_sources::{
    self, RootError, SelectionError, add_device, found, met, select,
};
use joulio_nvme::Cancel;
use std::path::Path;

/// Reason why meters are unavailable.
#[derive(Debug, thiserror::Error)]
pub enum MetersError {
    /// The captured tree is not a folder.
    #[error("--root: {0}")]
    Root(#[from] RootError),
    /// The words do not select meters.
    #[error("--meter: {0}")]
    Selection(#[from] SelectionError),
    /// A device is given twice.
    #[error("--device: {0} is given twice: leave one out")]
    Twice(String),
    /// A device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Returns the root of this machine's file tree, or of the tree that was captured in `folder`.
///
/// # Errors
/// `folder` is not a folder.
pub fn root(folder: Option<&Path>) -> Result<Root, MetersError> {
    Ok(energy_sources::root(folder)?)
}

/// Opens the meters of the machine `root` that `words` select.
///
/// # Errors
/// The words are not valid, or one of them selects no meter.
pub fn discover(root: &Root, words: &[String]) -> Result<Discovery, MetersError> {
    Ok(energy_sources::discover(root, words)?)
}

/// Opens the meters of the machine `root` that `words` select, and the meters in the devices `names`; `cancel` ends the
/// wait for a device.
///
/// # Errors
/// The words are not valid, one of them selects no meter, or a device cannot be opened.
pub fn discover_with(
    root: &Root,
    words: &[String],
    names: &[ControllerName],
    cancel: &Cancel,
) -> Result<Discovery, MetersError> {
    let discovery = list_with(root, words, names, cancel)?;
    Ok(met(discovery, &select(words)?)?)
}

/// Opens the same meters as [`discover_with`] for a list, which gives the reason for each word without a meter.
///
/// # Errors
/// The words are not valid, or a device cannot be opened.
pub fn list_with(
    root: &Root,
    words: &[String],
    names: &[ControllerName],
    cancel: &Cancel,
) -> Result<Discovery, MetersError> {
    let again = |&at: &usize| {
        let earlier = &names[..at];
        earlier.iter().any(|name| name.text() == names[at].text())
    };
    if let Some(at) = (0..names.len()).find(again) {
        return Err(MetersError::Twice(names[at].text()));
    }
    let mut discovery = found(root, &select(words)?)?;
    for name in names {
        let admin = name.open(cancel.clone())?.admin;
        let control = SharedPowerControl::clone(admin.control());
        add_device(admin.name(), control, root, &mut discovery);
    }
    Ok(discovery)
}
