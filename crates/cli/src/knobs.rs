//! `joulio knobs`: kernel settings that change what an I/O costs.

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use crate::signals::stop_on_signals;
use crate::times::duration;
use joulio_host::Changes;
use joulio_host::knobs::{
    Knob, KnobListing, KnobRequestError, check_distinct, disk_name, find_disk, list, parse_setting,
};
use joulio_kernel_io::Disks;
use joulio_lab::{pause, whole_disk};
use joulio_units::Nanos;
use std::fmt::Write;
use std::path::PathBuf;

/// Shows the settings of the CPUs, and of a disk's queue: their values, what they can be, or why
/// there are none. What is set is restored at the end, and on Ctrl-C; after kill -9 by
/// `joulio restore`.
#[derive(clap::Args)]
pub struct KnobsArgs {
    /// Disk: nvme0n1 or /dev/nvme0n1; for a partition, its disk is used
    disk: Option<String>,
    /// Set one of the settings shown, for the time of --for. Repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "duration", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// Time to keep the settings of --set
    #[arg(long = "for", id = "duration", value_name = "TIME", value_parser = duration, requires = "set")]
    duration: Option<Nanos>,
    #[command(flatten)]
    output: Output,
    /// The tree under this folder in place of /
    #[arg(long, value_name = "FOLDER", hide = true, default_value = "/")]
    root: PathBuf,
}

/// Runs `joulio knobs`.
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
    check_distinct(&args.set).map_err(Failure::input)?;
    // Signals are handled before there is anything to restore.
    let stop = stop_on_signals()?;
    let mut changes = Changes::new(say);
    let wanted = args.set.iter();
    let wanted = wanted.map(|(name, value)| Ok((Knob::requested(name, disk)?, value.as_str())));
    let wanted = wanted.collect::<Result<Vec<_>, _>>();
    let wanted = wanted.map_err(|error: KnobRequestError| Failure::input(error))?;
    changes.knobs(&args.root, &wanted)?;
    let rows = list(&args.root, disk);
    match args.output.format() {
        Format::Normal => print(&text(&rows))?,
        Format::Json => print_json(&rows)?,
    }
    pause(args.duration.unwrap_or(Nanos::ZERO), &stop, |_| {});
    for note in changes.finish()? {
        say(&note);
    }
    Ok(())
}

/// Formats the settings as text.
fn text(rows: &[KnobListing]) -> String {
    let mut out = String::new();
    for row in rows {
        let text = match &row.found {
            Ok((value, allowed)) => format!("{value} ({allowed})"),
            Err(why) => format!("not here: {why}"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<18}: {text}", row.name);
    }
    out
}
