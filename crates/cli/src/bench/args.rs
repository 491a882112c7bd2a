//! The flags of `joulio bench` beside those of the work.

use crate::failure::Failure;
use crate::output::Format;
use crate::work::{Length, Work, seconds};
use joulio_model::MachineProfile;
use joulio_units::Nanos;
use joulio_workload::{Job, Verify, Way, parse_count};

/// How long a run is when neither --runtime nor --number_ios says.
const RUNTIME: Nanos = Nanos::from_millis(5_000);
/// And how long it warms up before that.
const RAMP: Nanos = Nanos::from_millis(1_000);

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct Args {
    /// Ways of waiting, a list: poll, interrupt, hybrid (sleep half the mean time, then poll),
    /// hybrid=4us (sleep that long). Default: all without a parameter
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "poll,interrupt,hybrid",
        hide_default_value = true
    )]
    pub completion: Vec<Way>,
    #[command(flatten)]
    pub work: Work,
    /// Seconds to measure (or 500ms, 2m). Default: 5, unless --number_ios is given
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job (or 10k, 1M)
    #[arg(long = "number_ios", alias = "number-ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before measuring. Default: 1, unless --number_ios is given
    #[arg(long = "ramp_time", alias = "ramp-time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// none or crc32c: every block says where and when it was written. Blocks that are read are
    /// written once before the run; what was written is read back after it
    #[arg(long, default_value = "none", hide_default_value = true)]
    verify: Verify,
    /// The machine whose watts the energy model uses: a name, or a path to a .toml file
    #[arg(long, default_value = MachineProfile::DEFAULT)]
    pub machine: String,
    /// normal or json
    #[arg(long, alias = "output-format", value_enum, default_value = "normal")]
    pub output: Format,
}

impl Args {
    /// The job that the flags describe.
    pub fn job(&self) -> Result<Job, Failure> {
        let by_time = self.number_ios.is_none();
        let length = Length {
            runtime: self.runtime.or(by_time.then_some(RUNTIME)),
            number_ios: self.number_ios,
            ramp_time: self
                .ramp_time
                .unwrap_or(if by_time { RAMP } else { Nanos::ZERO }),
        };
        self.work.job(length, self.verify)
    }
}
