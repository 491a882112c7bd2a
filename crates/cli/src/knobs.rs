//! `joulio knobs`: settings of the kernel that change what an I/O costs.

mod table;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use crate::signals::stop_on_signals;
use crate::times::duration;
use joulio_host::Changes;
use joulio_host::knobs::{Knob, disk_name, find_disk, list};
use joulio_kernel_io::Disks;
use joulio_lab::{pause, whole_disk};
use joulio_units::Nanos;
use std::path::PathBuf;
use std::str::FromStr;

/// Shows the settings of the CPUs, and of a disk's queue: their values, what they can be, or why
/// there are none. What is set is put back at the end, and on Ctrl-C; after kill -9 by
/// `joulio restore`.
#[derive(clap::Args)]
pub struct KnobsArgs {
    /// The disk: nvme0n1 or /dev/nvme0n1; of a partition, the one that it is of
    disk: Option<String>,
    /// Set one of those shown, for the time of --for; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "duration")]
    set: Vec<Setting>,
    /// For how long
    #[arg(long = "for", id = "duration", value_name = "TIME", value_parser = duration, requires = "set")]
    duration: Option<Nanos>,
    #[command(flatten)]
    output: Output,
    /// The tree under this folder in place of /
    #[arg(long, value_name = "FOLDER", hide = true, default_value = "/")]
    root: PathBuf,
}

/// `--set`.
#[derive(Clone, Debug)]
struct Setting {
    name: String,
    value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("write NAME=VALUE, as scheduler=bfq")?;
        Ok(Setting {
            name: name.into(),
            value: value.into(),
        })
    }
}

/// `joulio knobs`.
pub fn run(args: &KnobsArgs) -> Outcome {
    let disk = args.disk.as_deref().map(disk_name);
    let disk = disk.map(|name| {
        let (disk, note) = whole_disk(&Disks::at(&args.root), name);
        note.iter().for_each(|note| say(note));
        disk
    });
    let disk = disk.as_deref();
    if !args.root.is_dir() {
        let root = args.root.display();
        return Err(Failure::input(format!("--root: {root} is not a folder")));
    }
    if let Some(disk) = disk {
        find_disk(&args.root, disk).map_err(Failure::input)?;
    }
    if let Some(name) = doubled(&args.set) {
        return Err(Failure::input(format!(
            "--set {name}: given twice: give one value"
        )));
    }
    // Before there is anything that a signal would leave behind.
    let stop = stop_on_signals()?;
    let mut changes = Changes::new(say);
    let wanted = args.set.iter();
    let wanted = wanted.map(|Setting { name, value }| Ok((knob(name, disk)?, value.as_str())));
    let wanted: Vec<_> = wanted.collect::<Result<_, Failure>>()?;
    changes.knobs(&args.root, &wanted)?;
    let rows = list(&args.root, disk);
    match args.output.format {
        Format::Normal => print(&table::text(&rows))?,
        Format::Json => print_json(&table::json(&rows))?,
    }
    pause(args.duration.unwrap_or(Nanos::ZERO), &stop, |_| {});
    for note in changes.finish()? {
        say(&note);
    }
    Ok(())
}

/// The name of a setting that is to be set twice.
fn doubled(settings: &[Setting]) -> Option<&str> {
    let names: Vec<_> = settings
        .iter()
        .map(|setting| setting.name.as_str())
        .collect();
    let again = |&at: &usize| names[..at].contains(&names[at]);
    (0..names.len()).find(again).map(|at| names[at])
}

fn knob(name: &str, disk: Option<&str>) -> Result<Knob, Failure> {
    let knob = Knob::by_name(name, disk).ok_or_else(|| {
        let all: Vec<_> = Knob::all(Some("")).iter().map(Knob::name).collect();
        Failure::input(format!("no setting {name}: there are {}", all.join(", ")))
    })?;
    if knob.disk() == Some("") {
        return Err(Failure::input(format!(
            "{name}: a setting of a disk: name the disk, as joulio knobs nvme0n1"
        )));
    }
    Ok(knob)
}
