//! The meters that a command reads: those of the machine, as `--meter` chooses, and those in the
//! storage devices that it has open.

mod modelled;
pub mod nvme;

use crate::failure::Failure;
use crate::power_states::port::{Control, PortName};
use joulio_energy::{Discovery, Finding, Meters, Root, Select, Source, State};
use std::path::Path;
use std::sync::Arc;

/// The machine, or the tree of another one that was captured in `folder`.
pub fn root(folder: Option<&Path>) -> Result<Root, Failure> {
    match folder {
        Some(folder) if !folder.is_dir() => {
            let folder = folder.display();
            Err(Failure::input(format!("--root: {folder} is not a folder")))
        }
        Some(folder) => Ok(Root::at(folder)),
        None => Ok(Root::system()),
    }
}

/// The meters of the machine `root` that `words` choose, each as `--meter` takes it.
pub fn discover(root: &Root, words: &[String]) -> Result<Discovery, Failure> {
    let mut select = Select::all();
    for word in words {
        // Not by clap, which repeats a word that is wrong: it may hold a password.
        let chosen = word.parse();
        select.extend(chosen.map_err(|why: String| Failure::input(format!("--meter: {why}")))?);
    }
    let discovery = Meters::discover(root, &select);
    match discovery.unmatched.first() {
        Some(name) => Err(Failure::input(format!(
            "--meter: there is no {name}: joulio power lists what there is"
        ))),
        None => Ok(discovery),
    }
}

/// The same, and the meters in the devices `names`, which are opened.
pub fn discover_with(
    root: &Root,
    words: &[String],
    names: &[PortName],
) -> Result<Discovery, Failure> {
    let mut discovery = discover(root, words)?;
    for name in names {
        let port = name.open()?;
        let control = Arc::clone(&port.control);
        ask(
            &name.text(),
            control,
            port.is_mortal(),
            root,
            &mut discovery,
        );
    }
    Ok(discovery)
}

/// Adds the meter in the device `name`, or why it has none. `emulated`: its watts are its
/// profile's.
pub fn ask(name: &str, control: Control, emulated: bool, root: &Root, discovery: &mut Discovery) {
    discovery.others.retain(|other| other.name != "nvme");
    match nvme::meter(name, control, emulated, &**root.clock()) {
        Ok(meter) => discovery.meters.push(meter),
        Err(error) => discovery.others.push(Finding {
            name: format!("nvme:{name}"),
            source: Source::Nvme,
            zone: None,
            state: State::Unreadable {
                why: error.to_string(),
                allow: None,
            },
        }),
    }
}
