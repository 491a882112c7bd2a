//! Devices' reports about themselves: Identify Controller, power states and related data.

use super::{Survey, SurveyRequest, json};
use crate::controller_name::ControllerName;
use crate::open::open_kernel;
use crate::power_states::PowerReport;
use crate::target_name::TargetName;
use joulio_host::Machine;
use joulio_host::power_states::coalescing::{completions, microseconds};
use joulio_nvme::Cancel;
use joulio_nvme_spec::ascii;
use joulio_nvme_spec::identify::{IdentifyController, PowerStateDescriptor};
use joulio_workload::Target;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Surveys each device once.
pub(super) fn survey_devices(request: &SurveyRequest, survey: &mut Survey) {
    let mut seen: Vec<String> = Vec::new();
    for device in &request.devices {
        let name = device.text();
        if seen.contains(&name) {
            continue;
        }
        seen.push(name.clone());
        if let TargetName::Kernel(path) = device {
            let machine = Machine::read("/", &[path.as_path()]);
            survey.add("disk", Some(name.clone()), json(machine.disks));
        }
        match power_report(device, &request.cancel) {
            Ok(report) => {
                let identity = identity(&report.status.identity);
                survey.add("identify", Some(name.clone()), Ok(identity));
                survey.add("power states", Some(name), Ok(power(&report)));
            }
            Err(why) => survey.add("identify", Some(name), Err(why)),
        }
    }
}

fn power_report(device: &TargetName, cancel: &Cancel) -> Result<PowerReport, String> {
    let name = match device {
        TargetName::Own(name) => ControllerName::Own(name.clone()),
        TargetName::Kernel(path) => ControllerName::Kernel(controller(path)?),
    };
    let controller = name.open(cancel.clone()).map_err(|why| why.to_string())?;
    PowerReport::read(&controller).map_err(|why| why.to_string())
}

/// Returns the NVMe controller of a block device, or of the one that contains a file.
fn controller(path: &Path) -> Result<PathBuf, String> {
    let target = open_kernel(path, false);
    let target = target.map_err(|why| why.to_string())?;
    let disk = target.info().disk.clone();
    let mut controllers = disk.into_iter().flat_map(|disk| disk.controllers);
    let nvme = controllers.find(|name| name.starts_with("nvme"));
    let nvme = nvme.ok_or_else(|| format!("{} is not on an NVMe controller", path.display()))?;
    Ok(Path::new("/dev").join(nvme))
}

/// Returns the fields of Identify Controller (Base specification, figure 313) that affect I/O.
fn identity(id: &IdentifyController) -> Value {
    json!({
        "mn": ascii(&id.mn).trim_end(),
        "sn": ascii(&id.sn).trim_end(),
        "fr": ascii(&id.fr).trim_end(),
        "vid": id.vid.get(),
        "ver": id.ver.get(),
        "mdts": id.mdts,
        "nn": id.nn.get(),
        "oncs": id.oncs.get(),
        "oacs": id.oacs.get(),
        "ctratt": id.ctratt.get(),
        "npss": id.npss,
        "apsta": id.apsta,
        "hmpre": id.hmpre.get(),
        "hmmin": id.hmmin.get(),
    })
}

fn power(report: &PowerReport) -> Value {
    let status = &report.status;
    let states = status.identity.power_states().iter();
    json!({
        "current": status.current.ps(),
        "states": states.map(power_state).collect::<Vec<_>>(),
        "apst": status.apst.as_ref().map(|(enabled, transitions)| {
            json!({ "enabled": enabled, "transitions": transitions })
        }),
        "interrupt_coalescing": status.coalescing.map(|value| {
            json!({ "completions": completions(value), "microseconds": microseconds(value) })
        }),
        "interval_power_watts": status.interval_power.map(|watts| watts.0),
    })
}

fn power_state(state: &PowerStateDescriptor) -> Value {
    json!({
        "max_watts": state.max_power_microwatts() as f64 / 1e6,
        "operational": !state.power_state_flags().nops(),
        "entry_us": state.enlat.get(),
        "exit_us": state.exlat.get(),
    })
}
