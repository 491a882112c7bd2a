//! Windows, and their results.

use super::{Live, Rate, SECOND, Scripted, Step, TestClock, Tree, server};
use joulio_energy::{
    Boundary, Energy, MeterError, MeterFigure, MeterKind, MeterResult, MeterValue, Meters,
    WindowError,
};
use joulio_units::{Joules, Nanos, Watts};
use std::sync::Arc;

pub const PACKAGE_0: &str = "/sys/class/powercap/intel-rapl:0/energy_uj";
pub const PACKAGE_1: &str = "/sys/class/powercap/intel-rapl:1/energy_uj";

/// A server with two packages that draw power, its clock, and its files.
pub struct Machine {
    pub tree: Tree,
    pub clock: Arc<TestClock>,
    pub files: Arc<Live>,
    pub meters: Meters,
}

pub fn machine(begin: Nanos, rates: [Rate; 2]) -> Machine {
    let (tree, clock) = (server(), TestClock::at(begin));
    let files = Live::new(&clock)
        .counts(tree.path(PACKAGE_0), rates[0])
        .counts(tree.path(PACKAGE_1), rates[1]);
    let files = Arc::new(files);
    let root = tree
        .root()
        .with_files(files.clone())
        .with_clock(clock.clone());
    let meters = Meters::discover(&root, &"package".parse().unwrap()).meters;
    Machine {
        tree,
        clock,
        files,
        meters,
    }
}

pub fn watts(watts: f64) -> Machine {
    machine(SECOND, [Rate::watts(watts), Rate::watts(2.0 * watts)])
}

pub fn figures(measured: Vec<MeterResult>) -> Vec<Result<MeterFigure, WindowError>> {
    measured
        .into_iter()
        .map(|measured| measured.figure)
        .collect()
}

pub fn totals(measured: Vec<MeterResult>) -> Vec<Energy> {
    let figures = figures(measured).into_iter();
    figures
        .map(|figure| figure.expect("a figure").total)
        .collect()
}

pub fn error(measured: &MeterResult) -> &WindowError {
    measured.figure.as_ref().expect_err("no figure")
}

/// Returns one meter, with its clock.
pub fn alone(meter: &Scripted) -> (Meters, Arc<TestClock>) {
    let clock = TestClock::at(SECOND);
    (
        Meters::new(vec![Box::new(meter.clone())], clock.clone()),
        clock,
    )
}

pub fn counter(wraps_after: Option<Nanos>) -> Scripted {
    let update = Nanos::from_millis(1);
    Scripted::new(
        "c",
        Boundary::Package,
        MeterKind::Counter {
            step: Joules(1e-3),
            update,
            wraps_after,
        },
    )
}

pub fn power(update: Nanos) -> Scripted {
    Scripted::new(
        "p",
        Boundary::Wall,
        MeterKind::Power {
            step: Watts(0.0),
            update,
        },
    )
}

pub fn total(joules: f64) -> Step {
    Ok(MeterValue::Total(Joules(joules)))
}

pub fn now(watts: f64) -> Step {
    Ok(MeterValue::Power(Watts(watts)))
}

pub fn passing() -> Step {
    Err(MeterError::Failed {
        what: "p".into(),
        why: "busy".into(),
    })
}
