//! The meters that a command reads: those of the machine, as `--meter` chooses, and those in the
//! storage devices that it has open.

mod modelled;
pub mod nvme;

use crate::failure::Failure;
use crate::power_states::port::PortName;
use joulio_energy::{Discovery, Finding, Meters, Root, Select, Source, State};
use joulio_host::controller::SharedPowerControl;
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

/// What `words` choose, each as `--meter` takes it.
pub fn select(words: &[String]) -> Result<Select, Failure> {
    check(words)?;
    let mut select = Select::all();
    for word in words {
        // Not by clap, which repeats a word that is wrong: it may hold a password.
        let chosen = word.parse();
        select.extend(chosen.map_err(|why: String| Failure::input(format!("--meter: {why}")))?);
    }
    Ok(select)
}

/// Refuses words that contradict or repeat each other.
pub fn check(words: &[String]) -> Result<(), Failure> {
    if words.len() > 1 && words.iter().any(|word| word == "none") {
        return Err(Failure::input(
            "--meter: none stands alone: leave it out, or everything else",
        ));
    }
    let again = |(at, word): (usize, &String)| words[..at].contains(word);
    match words
        .iter()
        .enumerate()
        .find(|&(at, word)| again((at, word)))
    {
        Some((_, word)) => {
            let word = match word.starts_with("redfish=") {
                true => "redfish=...",
                false => word,
            };
            Err(Failure::input(format!(
                "--meter: {word} is there twice: leave one out"
            )))
        }
        None => Ok(()),
    }
}

/// The meters of the machine `root` that `select` chooses.
pub fn found(root: &Root, select: &Select) -> Result<Discovery, Failure> {
    let discovery = Meters::discover(root, select);
    match discovery.unmatched.first() {
        Some(name) => Err(Failure::input(format!(
            "--meter: there is no {name}: joulio power lists what there is"
        ))),
        None => Ok(discovery),
    }
}

/// Refuses a `discovery` in which a word of `select` has no meter.
pub fn met(discovery: Discovery, select: &Select) -> Result<Discovery, Failure> {
    match discovery.unmet(select) {
        Some(unmet) => Err(Failure::input(format!("--meter: {unmet}"))),
        None => Ok(discovery),
    }
}

/// The meters of the machine `root` that `words` choose, of which each has one.
pub fn discover(root: &Root, words: &[String]) -> Result<Discovery, Failure> {
    let select = select(words)?;
    met(found(root, &select)?, &select)
}

/// The same, and the meters in the devices `names`, which are opened.
pub fn discover_with(
    root: &Root,
    words: &[String],
    names: &[PortName],
) -> Result<Discovery, Failure> {
    met(list_with(root, words, names)?, &select(words)?)
}

/// The same to be listed: where there is no meter, with the reason.
pub fn list_with(root: &Root, words: &[String], names: &[PortName]) -> Result<Discovery, Failure> {
    let again = |&at: &usize| {
        names[..at]
            .iter()
            .any(|name| name.text() == names[at].text())
    };
    if let Some(at) = (0..names.len()).find(again) {
        return Err(Failure::input(format!(
            "--device: {} is there twice: leave one out",
            names[at].text()
        )));
    }
    let mut discovery = found(root, &select(words)?)?;
    for name in names {
        let port = name.open()?;
        let control = Arc::clone(port.admin.control());
        ask(
            &name.text(),
            control,
            port.admin.ends_with_process(),
            root,
            &mut discovery,
        );
    }
    Ok(discovery)
}

/// Adds the meter in the device `name`, or why it has none. `emulated`: its watts are its
/// profile's.
pub fn ask(
    name: &str,
    control: SharedPowerControl,
    emulated: bool,
    root: &Root,
    discovery: &mut Discovery,
) {
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
