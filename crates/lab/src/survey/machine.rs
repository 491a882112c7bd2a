//! Capabilities of the machine itself: self-tests of user-level waits, and watts by its meters.

use super::{Survey, SurveyRequest, json};
use crate::calibrate::watts::{Rounds, WattsCalibration, WattsRequest};
use crate::meters;
use crate::selftest::{Selftest, SelftestOptions, selftest};
use joulio_energy::Discovery;
use joulio_units::Nanos;
use joulio_workload::Stop;
use serde_json::Value;
use std::thread;

/// Time over which the power of a wait or a state is measured.
const WINDOW: Nanos = Nanos::from_millis(1_000);

/// Runs the tests that are possible, until `stop`.
pub(super) fn test(
    request: &SurveyRequest,
    stop: &Stop,
    report: &dyn Fn(&str),
    survey: &mut Survey,
) {
    for test in [Selftest::Tpause, Selftest::Umwait, Selftest::Uintr] {
        let part = format!("selftest {}", test.name());
        if stop.stopped() {
            return;
        }
        report(&part);
        survey.add(&part, None, tested(request, test));
    }
    if !stop.stopped() {
        report("watts of a core by what it does");
        survey.add("watts", None, watts(request, stop, report));
    }
}

/// Runs a self-test on a thread of its own, because it binds its thread to a CPU.
fn tested(request: &SurveyRequest, test: Selftest) -> Result<Value, String> {
    let options = SelftestOptions {
        test,
        rounds: if request.quick { 100 } else { 1_000 },
        cpu: None,
        store_cpu: None,
        window: WINDOW,
        device: None,
    };
    let discovery = discovery(request)?;
    let done = thread::scope(|scope| scope.spawn(|| selftest(&options, discovery)).join());
    let done = done.map_err(|_| "it ended unexpectedly; this is a bug of joulio")?;
    json(done.map_err(|why| why.to_string())?)
}

/// Runs `calibrate --watts` with few rounds.
fn watts(request: &SurveyRequest, stop: &Stop, report: &dyn Fn(&str)) -> Result<Value, String> {
    let mut discovery = discovery(request)?;
    let blocks = if request.quick { 2 } else { 5 };
    let watts = WattsRequest {
        root: request.root.clone().unwrap_or_else(|| "/".into()),
        rounds: Rounds {
            blocks,
            window: WINDOW,
        },
        states: Vec::new(),
        frequencies: Vec::new(),
        strict: false,
    };
    let calibration = WattsCalibration::new(watts).map_err(|why| why.to_string())?;
    let done = calibration.run(&mut discovery, stop, report, &mut || ());
    let (measured, spoiled) = done.map_err(|why| why.to_string())?;
    let mut found = json(measured)?;
    if let Some(fields) = found.as_object_mut() {
        fields.insert("spoiled".into(), json(spoiled)?);
    }
    Ok(found)
}

fn discovery(request: &SurveyRequest) -> Result<Discovery, String> {
    let root = meters::root(request.root.as_deref()).map_err(|why| why.to_string())?;
    meters::discover(&root, &request.meters).map_err(|why| why.to_string())
}
