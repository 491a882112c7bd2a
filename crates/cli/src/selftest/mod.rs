//! `joulio selftest`: tests the user-level waits and user interrupts of this CPU.

mod table;

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::power::interval;
use clap::ValueEnum;
use joulio_lab::DeviceName;
use joulio_lab::meters;
use joulio_lab::selftest::{Selftest, SelftestOptions, selftest};
use joulio_units::Nanos;

/// Tests a completion mode where it is: that it ends when it should, that nothing is lost, that the
/// core sleeps; then how soon it is back, and what it draws, as far as this machine measures it.
/// Exit status 0: all of it held; 1: something did not; 2: it cannot be tested here, with the
/// reason.
#[derive(clap::Args)]
pub struct SelftestArgs {
    /// Instruction or mechanism to test
    what: What,
    /// Repetitions of each part of the test
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rounds: u32,
    /// CPU to wait on. Default: the CPU of this command
    #[arg(long)]
    cpu: Option<usize>,
    /// CPU that writes the cache line (umwait). Default: any other
    #[arg(long, value_name = "CPU")]
    store_cpu: Option<usize>,
    /// Device to test with: pcie:0000:01:00.0. Random blocks are read in every completion mode that the CPU has, and
    /// compared with what polling reads; nothing is written
    #[arg(long, conflicts_with = "store_cpu")]
    device: Option<DeviceName>,
    /// Seconds over which the power of each wait is taken (or 500ms, 2m); at least 1
    #[arg(long, default_value = "1", value_parser = interval)]
    seconds: Nanos,
    /// Meters to read, as for joulio power
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// A completion mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Pause until a time: tpause, or mwaitx on AMD
    Tpause,
    /// Wait for a store by another CPU: umwait, or mwaitx on AMD
    Umwait,
    /// User interrupts: of a device (--device), or of the test source of kmod/joulio_uintr (test_source=1)
    Uintr,
}

/// Runs `joulio selftest`.
pub fn run(args: &SelftestArgs) -> Outcome {
    let meters = meters::discover(&meters::root(None)?, &args.meter)?;
    let options = SelftestOptions {
        test: args.what.test(),
        rounds: args.rounds,
        cpu: args.cpu,
        store_cpu: args.store_cpu,
        window: args.seconds,
        device: args.device.clone(),
    };
    let report = selftest(&options, meters)?;
    match args.output.format() {
        Format::Normal => print(&table::text(&report))?,
        Format::Json => print_json(&report)?,
    }
    match report.failure() {
        Some(failure) => Err(Failure::run(failure)),
        None => Ok(()),
    }
}

impl What {
    fn test(self) -> Selftest {
        match self {
            What::Tpause => Selftest::Tpause,
            What::Umwait => Selftest::Umwait,
            What::Uintr => Selftest::Uintr,
        }
    }
}
