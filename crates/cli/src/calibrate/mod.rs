//! `joulio calibrate`: measures what each step of an I/O costs on this machine, and writes a profile for the twin.

mod table;
mod watts;

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::signals::stop_on_signals;
use joulio_lab::calibrate::watts::{MeasuredWatts, WattsError};
use joulio_lab::calibrate::{CalibrateError, Calibration, Checked, Compared};
use joulio_lab::output_file::Existing;
use joulio_lab::{machine_profile, profile_file};
use joulio_model::machine::costs::Costs;
use joulio_model::{DeviceProfile, Figure};
use joulio_workload::{Spoiled, parse_count};
use serde::Serialize;
use std::path::{Path, PathBuf};
use watts::WattsSource;

/// Largest number of I/Os: a record of each is kept until all are done.
const MAX_IOS: u64 = 1_000_000;

/// Flags of `joulio calibrate`.
#[derive(clap::Args)]
pub struct CalibrateArgs {
    /// Write the profile to this file, for --machine. An existing file is kept unless --force is given
    #[arg(long, value_name = "FILE.toml")]
    write_profile: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Write the file even if other programs ran on the CPUs or something else disturbed the machine
    #[arg(long, requires = "write_profile")]
    allow_busy: bool,
    /// Machine profile for the watts and everything else that is not measured: a name or a path. Default: the profile
    /// of this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// Afterwards run the emulated device both for real and in virtual time, and compare; exit with status 1 if
    /// counts differ, or medians differ by more than 20 %
    #[arg(long)]
    check: bool,
    /// Device profile for --check; joulio profiles measure measures a device and makes a profile of it
    #[arg(long, default_value = "optane-900p", requires = "check")]
    device: String,
    /// I/Os of each run of --check; the quietest run counts
    #[arg(long = "number_ios", default_value = "10000", value_parser = parse_count, requires = "check")]
    number_ios: u64,
    /// Threads that compute on the job's CPU during --check, 0 to 16. The time that the job loses to them is compared
    /// too, and may differ by 20 % or one timer tick
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=16), requires = "check")]
    neighbours: u8,
    /// Rounds of each measurement; the quietest counts: 1 to 100. Ten take about 15 seconds; fewer are enough for a
    /// quiet machine or a first impression
    #[arg(long, default_value_t = Calibration::ROUNDS, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    #[command(flatten)]
    watts: watts::WattsArgs,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Report<'a> {
    processor: &'a str,
    cpus: [usize; 2],
    costs: &'a Option<Costs>,
    /// Nanoseconds by which the emulated device is slower than its profile's service time.
    emulated_device_ns: f64,
    /// Measured watts of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    watts: Option<&'a MeasuredWatts>,
    #[serde(flatten)]
    checked: Option<&'a Checked>,
    /// Reasons why the figures do not show the machine itself, if there are any.
    spoiled: &'a [Spoiled],
}

/// Runs `joulio calibrate`.
pub fn run(args: &CalibrateArgs) -> Outcome {
    let out = args.write_profile.as_deref();
    let out = out.map(|path| profile_file(path, Existing::forced(args.force)));
    let out = out.transpose().map_err(Failure::input)?;
    if !(1..=MAX_IOS).contains(&args.number_ios) {
        return Err(Failure::input("--number_ios: must be 1 to 1M"));
    }
    let base = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let device = DeviceProfile::load(&args.device).map_err(Failure::input)?;
    let stop = stop_on_signals()?;
    // This file is only written if nothing spoils the figures.
    let strict = args.write_profile.as_deref().filter(|_| !args.allow_busy);
    if let Some(file) = args.watts.record() {
        let watts = args.watts.calibration(args.rounds, false)?;
        return watts::record(watts, file, &stop);
    }
    let watts = args.watts.source(args.rounds, strict.is_some())?;
    let measured = Calibration::measure(&base, args.rounds, strict.is_some(), &stop);
    let mut calibration = measured.map_err(|error| match (error, strict) {
        (CalibrateError::Spoiled(spoiled), Some(file)) => not_written(file, &spoiled),
        (error, _) => error.into(),
    })?;
    let watts = match watts {
        WattsSource::None => None,
        WattsSource::Log(watts) => Some(*watts),
        WattsSource::Meters(meters) => {
            let (watts, mut discovery) = *meters;
            let done = watts::run(watts, &mut discovery, &stop);
            Some(done.map_err(|error| match (error, strict) {
                (WattsError::Spoiled(spoiled), Some(file)) => not_written(file, &spoiled),
                (error, _) => error.into(),
            })?)
        }
    };
    if let Some((watts, spoiled)) = watts {
        calibration.take_watts(watts, spoiled)?;
    }
    let spoiled = &calibration.spoiled;
    let refusal = strict.zip(spoiled.first());
    let text = calibration.toml()?;
    let written = match (out, refusal) {
        (_, Some((file, spoiled))) => Err(not_written(file, spoiled)),
        (Some(out), None) => out.write(&text).map_err(Failure::run),
        (None, None) => Ok(()),
    };
    // The measurement is shown even if the file could not be written.
    let compared = match args.check && written.is_ok() {
        true => {
            let neighbours = usize::from(args.neighbours);
            Some(calibration.compare(&device, args.number_ios, args.rounds, neighbours, &stop)?)
        }
        false => None,
    };
    match args.output.format() {
        Format::Normal => {
            print(&report(
                &calibration,
                compared.as_ref(),
                &device,
                args.neighbours,
            ))?;
            for spoiled in spoiled {
                print(&format!("spoiled: {}\n", spoiled.why))?;
            }
        }
        Format::Json => print_json(&Report {
            processor: &calibration.processor,
            cpus: [calibration.cpus.job, calibration.cpus.device],
            costs: &calibration.profile.costs,
            watts: calibration.watts.as_ref(),
            emulated_device_ns: calibration.emulated_device_ns,
            checked: compared.as_ref(),
            spoiled,
        })?,
    }
    written?;
    match compared {
        Some(checked) => agreement(&checked),
        None => Ok(()),
    }
}

/// Returns success if the twin agrees, otherwise the reason why it does not or cannot be judged.
fn agreement(checked: &Checked) -> Outcome {
    let disturbed = checked.check.iter().filter_map(Compared::disturbed);
    let most = disturbed.fold(0.0, f64::max);
    let mut judged = checked.check.iter().filter(|one| one.disturbed().is_none());
    if !judged.all(Compared::agrees) {
        return Err(Failure::run(
            "the twin with this machine's times does not agree with the real runs",
        ));
    }
    if most > 0.0 {
        return Err(Failure::run(format!(
            "other programs took up to {most:.0} % of the job's CPU or time in the quietest round: stop them, and check \
             again"
        )));
    }
    Ok(())
}

/// Returns the failure that `file` is not written: a profile is used for months, and does not show what else ran when
/// it was measured.
fn not_written(file: &Path, spoiled: &Spoiled) -> Failure {
    Failure::run(format!(
        "--write-profile {}: not written, the figures are not the machine's own: {}; then calibrate again, or say --allow-busy",
        file.display(),
        spoiled.why
    ))
}

/// Describes the neighbours on the job's CPU.
fn beside(neighbours: u8) -> String {
    match neighbours {
        0 => String::new(),
        1 => " beside a thread that computes on the job's CPU".into(),
        many => format!(" beside {many} threads that compute on the job's CPU"),
    }
}

fn report(
    calibration: &Calibration,
    compared: Option<&Checked>,
    device: &DeviceProfile,
    neighbours: u8,
) -> String {
    let rows = calibration.profile.costs.iter().flat_map(|costs| {
        let named = [
            ("crossing", &costs.crossing_ns),
            ("switch", &costs.switch_ns),
            ("interrupt", &costs.interrupt_ns),
            ("wake", &costs.wake_ns),
            ("timer", &costs.timer_ns),
            ("poll", &costs.poll_ns),
            ("submit", &costs.user.submit_ns),
            ("complete", &costs.user.complete_ns),
            ("block", &costs.user.block_ns),
            ("app", &costs.app_ns),
        ];
        let named = named.map(|(name, figure)| (name.to_string(), figure));
        let deeper = costs.idle.iter().skip(1).map(|idle| {
            let from = idle.chosen().value / 1e3;
            (format!("more after {from:.0} us"), &idle.exit_ns)
        });
        let all: Vec<(String, &Figure)> = named.into_iter().chain(deeper).collect();
        all.into_iter().map(|(name, figure)| {
            let band = figure.band.map(|ends| ends.map(|end| format!("{end:.0}")));
            let [low, high] = band.unwrap_or(["-".into(), "-".into()]);
            [name, format!("{:.0}", figure.value), low, high]
        })
    });
    let header = ["", "ns", "from", "to"];
    let mut text = columns(header, rows, 1);
    text.push_str("from and to: the middle eight of ten.\n");
    if let Some(watts) = &calibration.watts {
        text.push_str(&format!("\n{}", watts::table(watts)));
    }
    if let Some(all) = compared {
        text.push_str(&format!(
            "\nreads of {} at depth 1{}; the emulated device takes {:.0} ns more than its profile\n\n{}*: modelled\n",
            device.name,
            beside(neighbours),
            calibration.emulated_device_ns,
            table::table(all)
        ));
    }
    text
}
