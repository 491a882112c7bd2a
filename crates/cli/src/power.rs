//! `joulio power`: shows the meters of this machine.

mod idle;
mod table;
mod watch;

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::power_log;
use crate::signals::{cancel, stop_on_signals};
use crate::times::seconds;
use joulio_energy::{Discovery, Filtering, MIN_WINDOW, Root};
use joulio_lab::{ControllerName, MeterListing, meters, pause};
use joulio_units::Nanos;
use joulio_workload::{Stop, parse_count};
use std::path::PathBuf;

/// Every meter: what it includes, its present power over a second or more, and for one that cannot
/// be read why, and the command that would allow it.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PowerArgs {
    #[command(subcommand)]
    logger: Option<Logger>,
    /// Meters to read, a list: names as in the table, sources (perf, powercap, hwmon, ipmi), boundaries (wall, psys,
    /// package, cores, dram, device), all or none. NAME=BOUNDARY sets what a sensor includes.
    /// redfish=https://HOST/redfish/v1/Chassis/ID/Power reads a BMC (credentials from JOULIO_REDFISH_USER and
    /// JOULIO_REDFISH_PASSWORD, or ~/.netrc)
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Also read this storage device: /dev/nvme0 (as root), pcie:ADDRESS, vfio-user:SOCKET or emulated:PROFILE.
    /// Repeatable
    #[arg(long)]
    device: Vec<ControllerName>,
    /// Repeat until interrupted
    #[arg(long, conflicts_with = "idle")]
    watch: bool,
    /// Seconds over which each figure is taken (or 500ms, 2m); at least 1
    #[arg(long, default_value = "1", value_parser = interval)]
    interval: Nanos,
    /// Number of reports
    #[arg(long, requires = "watch", value_parser = lines)]
    count: Option<u64>,
    /// Measure the idle machine for this many seconds (or 5m) and save the result for joulio bench. Nothing else
    /// should run
    #[arg(long, value_name = "TIME", value_parser = interval)]
    idle: Option<Nanos>,
    /// File for the idle baseline; only an older baseline is replaced. Default: joulio/idle-baseline.json in
    /// XDG_STATE_HOME, or else in /var/lib for root and in ~/.local/state for other users
    #[arg(long, requires = "idle")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    /// Read the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    root: Option<PathBuf>,
}

/// Measurements with a logger at the plug, or a person who changes devices.
#[derive(clap::Subcommand)]
enum Logger {
    Swap(power_log::SwapArgs),
    Marker(power_log::MarkerArgs),
    Import(power_log::ImportArgs),
}

/// Parses a time that is long enough for meters.
pub fn interval(text: &str) -> Result<Nanos, String> {
    let time = seconds(text)?;
    match time < MIN_WINDOW {
        true => Err(format!(
            "'{text}' is too short: give at least 1 s, meters resolve no less"
        )),
        false => Ok(time),
    }
}

/// Parses a number of lines, at least one.
pub fn lines(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        0 => Err("nothing would be shown: give at least 1".into()),
        count => Ok(count),
    }
}

/// Arguments of the command, with the machine that it runs on.
struct Run<'a> {
    args: &'a PowerArgs,
    root: Root,
    stop: Stop,
}

/// Runs `joulio power`.
pub fn run(args: &PowerArgs) -> Outcome {
    match &args.logger {
        Some(Logger::Swap(args)) => return power_log::swap(args),
        Some(Logger::Marker(args)) => return power_log::marker(args),
        Some(Logger::Import(args)) => return power_log::import(args),
        None => {}
    }
    let root = meters::root(args.root.as_deref())?;
    let run = Run {
        args,
        root,
        stop: stop_on_signals()?,
    };
    let discover = match args.idle.is_some() || args.watch {
        true => meters::discover_with,
        // The list includes meters that cannot be read, with the reasons.
        false => meters::list_with,
    };
    let discovery = discover(&run.root, &args.meter, &args.device, &cancel());
    let discovery = discovery.map_err(|error| Failure::from(error).after_signal())?;
    match (args.idle, args.watch) {
        (Some(time), _) => idle::measure(&run, discovery, time),
        (None, true) => watch::watch(&run, discovery),
        (None, false) => run.once(discovery),
    }
}

impl Run<'_> {
    fn once(&self, mut discovery: Discovery) -> Outcome {
        let mut measured = Vec::new();
        if !discovery.meters.is_empty() {
            let window = discovery.meters.open().map_err(Failure::run)?;
            pause(self.args.interval, &self.stop, |_| {});
            measured = window.close(None);
        }
        let filtering = Filtering::of(&self.root);
        let report = MeterListing::new(&measured, &discovery.others, &filtering);
        match self.args.output.format() {
            Format::Normal => print(&table::table(&report)),
            Format::Json => print_json(&report),
        }
    }
}
