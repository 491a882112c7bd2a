//! The meters that a command reads: those of the machine, as `--meter` chooses, and those in the
//! devices that `--device` names.

use crate::failure::Failure;
use crate::power_states::port::PortName;
use joulio_energy::{Discovery, Root};
use joulio_host::controller::SharedPowerControl;
use joulio_host::energy_sources::{self, add_device, found, met, select};
use std::path::Path;

/// The machine, or the tree of another one that was captured in `folder`.
pub fn root(folder: Option<&Path>) -> Result<Root, Failure> {
    Ok(energy_sources::root(folder)?)
}

/// The meters of the machine `root` that `words` choose, of which each has one.
pub fn discover(root: &Root, words: &[String]) -> Result<Discovery, Failure> {
    Ok(energy_sources::discover(root, words)?)
}

/// The same, and the meters in the devices `names`, which are opened.
pub fn discover_with(
    root: &Root,
    words: &[String],
    names: &[PortName],
) -> Result<Discovery, Failure> {
    let discovery = list_with(root, words, names)?;
    Ok(met(discovery, &select(words)?)?)
}

/// The same to be listed: where there is no meter, with the reason.
pub fn list_with(root: &Root, words: &[String], names: &[PortName]) -> Result<Discovery, Failure> {
    let again = |&at: &usize| {
        let earlier = &names[..at];
        earlier.iter().any(|name| name.text() == names[at].text())
    };
    if let Some(at) = (0..names.len()).find(again) {
        return Err(Failure::input(format!(
            "--device: {} is there twice: leave one out",
            names[at].text()
        )));
    }
    let mut discovery = found(root, &select(words)?)?;
    for name in names {
        let admin = name.open()?.admin;
        let control = SharedPowerControl::clone(admin.control());
        let emulated = admin.ends_with_process();
        add_device(admin.name(), control, emulated, root, &mut discovery);
    }
    Ok(discovery)
}
