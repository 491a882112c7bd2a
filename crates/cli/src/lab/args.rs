//! Flags that select an experiment and the platform to run it on.

use crate::failure::Failure;
use crate::signals::cancel;
use joulio_lab::TargetOptions;
use joulio_lab::campaign::{Campaign, Shard};
use joulio_lab::experiment::{EnergyOptions, ExperimentOptions};
use joulio_lab::experiment_file::{ExperimentFile, OnPlatform};
use joulio_lab::record::Platform;
use joulio_lab::sweep::{ComparedDevices, DeviceSet, platform_here};
use std::str::FromStr;

/// The flags.
#[derive(clap::Args)]
pub struct CampaignArgs {
    /// Experiment: a name from `joulio lab list`, or the path of a .toml file
    pub experiment: String,
    /// Device to run on, instead of the experiment's emulated ones, as for joulio bench; A+B: each run on A and on B.
    /// Repeatable: jobs are spread over the devices
    #[arg(long)]
    device: Vec<ComparedDevices>,
    /// Run on the experiment's emulated devices
    #[arg(long, conflicts_with = "twin")]
    emulated: bool,
    /// Simulate in virtual time: every figure is modelled
    #[arg(long)]
    twin: bool,
    /// Short form: fewer points, short runs
    #[arg(long)]
    quick: bool,
    /// Repetitions of each point, instead of the experiment's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    replicates: Option<u32>,
    /// Run one of several equal parts, such as 3/16, to be combined with joulio lab merge
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true, value_parser = Shard::from_str)]
    pub shard: Shard,
    /// Run only these sweeps, a list of the names that joulio lab plan shows
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    sweep: Vec<String>,
    /// Allow runs that write, which may destroy data on the devices
    #[arg(long)]
    allow_write: bool,
    /// Meters to read, a list as for joulio power
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Machine profile for the energy model and for virtual time: a name, or a path to a .toml file
    #[arg(long)]
    machine: Option<String>,
}

impl CampaignArgs {
    /// Returns the campaign that the flags describe.
    pub fn campaign(&self) -> Result<Campaign, Failure> {
        let mut file = ExperimentFile::load(&self.experiment).map_err(Failure::input)?;
        if self.machine.is_some() {
            file.run.machine.clone_from(&self.machine);
            file.twin.machine.clone_from(&self.machine);
            file.emulated.machine.clone_from(&self.machine);
        }
        file.keep_sweeps(&self.sweep).map_err(Failure::input)?;
        let platform = self.platform()?;
        let base = ExperimentOptions {
            targets: TargetOptions {
                allow_write: self.allow_write,
                cancel: cancel(),
                ..TargetOptions::default()
            },
            energy: EnergyOptions {
                meters: self.meter.clone(),
                ..EnergyOptions::default()
            },
            ..ExperimentOptions::default()
        };
        let devices = match self.device.is_empty() {
            true => Vec::new(),
            false => DeviceSet::of_flags(&self.device),
        };
        let on = OnPlatform {
            platform,
            quick: self.quick,
            devices: devices.iter().map(DeviceSet::to_string).collect(),
            replicates: self.replicates,
            base,
        };
        Campaign::new(file, on).map_err(Failure::input)
    }

    /// Returns the platform of the campaign: emulated devices, unless a real device is named.
    fn platform(&self) -> Result<Platform, Failure> {
        let sets = DeviceSet::of_flags(&self.device);
        let named = !self.device.is_empty();
        let emulated = sets.iter().all(DeviceSet::is_emulated);
        if self.twin && named && !emulated {
            return Err(Failure::input(
                "--device with --twin: virtual time has the devices that have a profile: emulated:optane-900p",
            ));
        }
        if self.twin && !self.meter.is_empty() {
            return Err(Failure::input(
                "--meter with --twin: nothing is measured in virtual time: leave one of them out",
            ));
        }
        if self.emulated && named && !emulated {
            return Err(Failure::input(
                "--device with --emulated: that device is not emulated: leave --emulated out",
            ));
        }
        match (self.twin, self.emulated, named) {
            (true, ..) => Ok(Platform::Twin),
            (_, true, _) => Ok(Platform::Emulated),
            (_, _, true) if emulated => Ok(Platform::Emulated),
            (_, _, true) => Ok(platform_here()),
            _ => Err(Failure::input(
                "name what to run on: --device, --emulated or --twin",
            )),
        }
    }
}
