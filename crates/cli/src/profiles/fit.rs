//! `joulio profiles fit`: makes a device's profile from measured rates.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_data, print_json};
use joulio_lab::device_rates::read_rates;
use joulio_lab::output_file::Existing;
use joulio_lab::{machine_profile, profile_file, profile_text};
use joulio_model::DeviceProfile;
use joulio_twin::device_fit::{FittedRate, MeasuredBy, fit_device};
use joulio_workload::{CompletionMode, EngineName, Method};
use serde::Serialize;
use std::path::PathBuf;

/// Makes a device's profile from rates that were measured: a row for each in a CSV file
/// with the columns rw, bs, iodepth, numjobs and iops. Rows of one job at iodepth 1 give the latency
/// by size, those at depth the bandwidth and how many I/Os it serves at a time; what they do not say
/// is taken from --base, and marked as a guess.
#[derive(clap::Args)]
pub struct FitDeviceArgs {
    /// CSV file of the measured rates
    #[arg(value_name = "FILE.csv")]
    rates: PathBuf,
    /// Machine profile of the machine that measured them; its software time is subtracted: a name or a path. Default:
    /// the profile of this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// Engine that measured them: nvme, io_uring or psync
    #[arg(long = "ioengine", alias = "engine", default_value = "psync")]
    engine: EngineName,
    /// Completion mode of the runs: poll or interrupt
    #[arg(long, default_value = "poll", value_parser = polled_or_interrupted)]
    completion: CompletionMode,
    /// Profile of a similar device, for everything that rates do not tell: a name or a path
    #[arg(long, default_value = "samsung-980-pro")]
    base: String,
    /// Write the profile to this file, for --device emulated:./FILE.toml. An existing file is kept unless --force is
    /// given
    #[arg(long, value_name = "FILE.toml")]
    write_profile: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Fitted<'a> {
    machine: &'a str,
    profile: &'a DeviceProfile,
    rates: &'a [FittedRate],
}

/// Parses a mode in which rates may be measured: times that other modes learn would become part of the device's
/// figures.
fn polled_or_interrupted(text: &str) -> Result<CompletionMode, String> {
    match text.parse() {
        Ok(mode @ (CompletionMode::Poll | CompletionMode::Interrupt)) => Ok(mode),
        _ => Err("must be poll or interrupt".into()),
    }
}

/// Runs `joulio profiles fit`.
pub(super) fn run(args: &FitDeviceArgs) -> Outcome {
    let file = args.write_profile.as_deref();
    let out = file.map(|path| profile_file(path, Existing::forced(args.force)));
    let out = out.transpose().map_err(Failure::input)?;
    let rates = read_rates(&args.rates).map_err(Failure::input)?;
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let base = DeviceProfile::load(&args.base).map_err(Failure::input)?;
    // The profile is named like its file, because that is how it is requested.
    let named = file.unwrap_or(&args.rates).file_stem();
    let name = named.map_or("fitted".into(), |name| name.to_string_lossy());
    let by = MeasuredBy {
        machine: &machine,
        method: Method {
            engine: args.engine,
            mode: args.completion,
        },
        stop: None,
    };
    let fitted = fit_device(&name, &base, &by, &rates);
    let (profile, beside) = fitted.map_err(Failure::input)?;
    let comment = format!(
        "By joulio profiles fit: what is called a guess is of {}, not of this device.",
        base.name
    );
    let text = profile_text(&profile, &comment).map_err(Failure::run)?;
    let written = out.is_some();
    if let Some(out) = out {
        out.write(&text).map_err(Failure::run)?;
    }
    match args.output.format() {
        Format::Json => print_json(&Fitted {
            machine: &machine.name,
            profile: &profile,
            rates: &beside,
        }),
        Format::Normal if written => print(&table(&beside)),
        // The profile is the result, and may be redirected to a file.
        Format::Normal => print_data(&text),
    }
}

/// Formats each rate beside the twin's.
fn table(rates: &[FittedRate]) -> String {
    let rows = rates.iter().map(|rate| {
        let rw = if rate.write { "randwrite" } else { "randread" };
        let error = 100.0 * rate.error();
        vec![
            rate.place.clone(),
            rw.into(),
            rate.bytes.to_string(),
            rate.iodepth.to_string(),
            rate.numjobs.to_string(),
            format!("{:.0}", rate.measured),
            format!("{:.0}", rate.modelled),
            format!("{error:+.1} %"),
        ]
    });
    let header = [
        "row", "rw", "bs", "iodepth", "numjobs", "IOPS", "IOPS*", "error",
    ];
    format!("{}*: modelled\n", columns(header, rows, 2))
}
