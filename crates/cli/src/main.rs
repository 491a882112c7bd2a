//! The `joulio` command, with a file for each subcommand.
#![forbid(unsafe_code)]
// Doc comments on flags are the help text, where brackets mean "optional".
#![allow(rustdoc::broken_intra_doc_links)]

mod advise;
mod bench;
mod bind;
mod calibrate;
mod columns;
mod documents;
mod examples;
mod failure;
mod flags;
mod goal;
mod help;
mod inspect;
mod job_process;
mod knobs;
mod lab;
mod limits;
mod list;
mod output;
mod power;
mod power_log;
mod power_states;
mod profiles;
mod progress;
mod restore;
mod selftest;
mod serve;
mod signal;
mod signals;
mod stat;
mod terminal;
mod times;
mod trace;
mod twin;
mod work;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use joulio_lab::output_file::Existing;
use output::Destination;
use std::process::ExitCode;

/// Joules per I/O: NVMe storage under every completion mode, with the energy beside the latency.
#[derive(Parser)]
#[command(name = "joulio", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the same workload in each completion mode and show one table.
    Bench(Box<bench::BenchArgs>),
    /// Recommend completion mode, scheduler and idle states for a workload, and say why.
    Advise(Box<advise::AdviseArgs>),
    /// Measure what each step of an I/O costs on this machine, and write it as a profile for --machine.
    Calibrate(calibrate::CalibrateArgs),
    /// Run a few I/Os and show the steps of each, as text, JSON or for ui.perfetto.dev.
    Trace(Box<trace::TraceArgs>),
    /// List the NVMe namespaces of this machine (or of the devices named), as `nvme list`.
    List(list::ListArgs),
    /// Experiments, of the papers and our own: list, plan, run, report, merge and compare them.
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Identify Controller, as `nvme id-ctrl`.
    IdCtrl(inspect::ControllerArgs),
    /// Identify Namespace, as `nvme id-ns`.
    IdNs(inspect::NamespaceArgs),
    /// SMART / Health Information, as `nvme smart-log`.
    SmartLog(inspect::ControllerArgs),
    /// Show the energy meters of this machine, or why they cannot be read.
    Power(Box<power::PowerArgs>),
    /// Show the activity of block devices, as `iostat -x`, with watts and joules per I/O.
    Stat(Box<stat::StatArgs>),
    /// Show, set or measure an NVMe device's power states and APST.
    PowerStates(power_states::PowerStatesArgs),
    /// Show kernel settings that affect the cost of an I/O, or set them for a while.
    Knobs(knobs::KnobsArgs),
    /// Restore settings that joulio changed and did not restore, as after kill -9.
    Restore(restore::RestoreArgs),
    /// Test this CPU's ways to wait (tpause, umwait, user interrupts): delivery, loss, sleep, latency, power.
    Selftest(selftest::SelftestArgs),
    /// Serve an emulated controller over a vfio-user socket: to a virtual machine, or to joulio.
    Serve(serve::ServeArgs),
    /// Move an NVMe controller from the kernel's driver to vfio-pci.
    Bind(bind::BindArgs),
    /// Give an NVMe controller back to the kernel's driver.
    Unbind(bind::UnbindArgs),
    /// List, print, check or make profiles of machines and devices.
    Profiles(profiles::ProfilesArgs),
    /// Virtual time: compare the twin with published numbers, fit it to them, or simulate every policy.
    #[command(subcommand)]
    Twin(twin::TwinCommand),
    /// Print completions for a shell: joulio completions bash > /etc/bash_completion.d/joulio
    Completions(documents::CompletionsArgs),
    /// Write manual pages of the command and its subcommands to a folder.
    Man(documents::ManArgs),
    /// A job of `joulio bench --process`, which starts it.
    #[command(name = joulio_workload::COMMAND, hide = true)]
    JobProcess,
}

fn main() -> ExitCode {
    limits::raise_open_files();
    limits::with_stack(command).unwrap_or_else(|error| {
        let why = format!("cannot start a thread: {error}: raise ulimit -s, -v or -u");
        Failure::run(why).report()
    })
}

/// Returns the command with all flags, and with the examples below its help.
fn written() -> clap::Command {
    let command = output::with_output_flags(examples::with_examples(Cli::command()));
    let command = flags::with_both_spellings(flags::with_groups(command));
    help::with_command_groups(command)
}

/// Runs the command that was typed. This is not part of `main`, whose stack frame has to fit into any stack.
#[inline(never)]
fn command() -> ExitCode {
    if std::env::args_os().skip(1).eq(["help", "metrics"]) {
        return match output::print(&bench::legend()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        };
    }
    let arguments = match bench::arguments(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.report(),
    };
    let parsed = output::earlier::with_earlier_flags(written())
        .try_get_matches_from(arguments)
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            Ok((cli, matches))
        });
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return failure::usage(&error),
    };
    let result = open_report(&matches).and_then(|()| output::finish(run(cli.command)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Flags of files that `--force` allows to be overwritten.
const FILES: [&str; 5] = ["output", "write_profile", "plot", "svg", "file"];

/// Opens the file of `--output` for the report, if it is given.
fn open_report(matches: &ArgMatches) -> Outcome {
    let mut last = matches;
    while let Some((_, sub)) = last.subcommand() {
        last = sub;
    }
    let destination = last.try_get_one::<Destination>("output").ok().flatten();
    let given = |id: &str| {
        let source = last.try_contains_id(id).is_ok_and(|has| has);
        source && last.value_source(id) == Some(ValueSource::CommandLine)
    };
    let force = last.try_get_one::<bool>("force").ok().flatten();
    let force = force.is_some_and(|force| *force);
    if force && has_report(last) && !FILES.into_iter().any(given) {
        let has = |id: &&str| last.try_get_raw(id).is_ok();
        let flags: Vec<_> = FILES.iter().filter(|id| has(id)).collect();
        let flags = flags.iter().map(|id| format!("--{}", id.replace('_', "-")));
        let flags = flags.collect::<Vec<_>>().join(" or ");
        return Err(Failure::input(format!(
            "--force: the file to overwrite is required: {flags}"
        )));
    }
    match destination {
        Some(Destination::File(path)) => output::begin(path, Existing::forced(force)),
        _ => Ok(()),
    }
}

/// Returns true if the command has a report, and therefore the flags of [`output::Output`].
fn has_report(matches: &ArgMatches) -> bool {
    matches.try_get_raw("output_format").is_ok()
}

/// Runs a subcommand.
fn run(command: Command) -> Outcome {
    match command {
        Command::Bench(args) => bench::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::List(args) => list::run(&args),
        Command::Lab(command) => lab::run(&command),
        Command::IdCtrl(args) => inspect::id_ctrl(&args),
        Command::IdNs(args) => inspect::id_ns(&args),
        Command::SmartLog(args) => inspect::smart_log(&args),
        Command::Power(args) => power::run(&args),
        Command::Stat(args) => stat::run(&args),
        Command::PowerStates(args) => power_states::run(&args),
        Command::Knobs(args) => knobs::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Bind(args) => bind::bind(&args),
        Command::Unbind(args) => bind::unbind(&args),
        Command::Profiles(args) => profiles::run(&args),
        Command::Twin(command) => twin::run(&command),
        Command::Completions(args) => documents::completions(&args),
        Command::Man(args) => documents::man(&args),
        Command::JobProcess => job_process::run(),
    }
}

/// Result of every subcommand.
type Outcome = Result<(), Failure>;
