//! Made-up records for tests.

use super::{Platform, RunRecord};
use joulio_units::Boundary;
use joulio_workload::{
    CompletionMode, CompletionResult, Counts, DirectionResult, EnergyResult, EngineName, Job,
    LatencySummary, Method, RunResult,
};
use std::collections::BTreeMap;

/// Returns a run of 4 KiB reads with the given IOPS, mode and jobs, and the given watts at the wall with a band of 10
/// %.
pub(crate) fn run(
    mode: CompletionMode,
    jobs: usize,
    replicate: u32,
    iops: f64,
    watts: f64,
) -> RunRecord {
    let job = Job {
        numjobs: jobs,
        ..Job::random_reads(1)
    };
    let method = Method {
        engine: EngineName::Psync,
        mode,
    };
    let completion = CompletionResult {
        requested: mode.to_string(),
        effective: Some(mode.to_string()),
        reason: None,
    };
    let side = DirectionResult {
        ios: 1_000,
        errors: 0,
        iops,
        bandwidth_bytes_per_second: iops * 4096.0,
        latency_ns: LatencySummary {
            mean: 1e9 * jobs as f64 / iops,
            p50: (1e9 * jobs as f64 / iops) as u64,
            ..LatencySummary::default()
        },
    };
    let energy = EnergyResult {
        boundary: Boundary::Wall,
        zone: "wall".into(),
        source: "model of a box".into(),
        modelled: true,
        idle_subtracted: false,
        joules: watts,
        error_joules: None,
        band_joules: Some((watts * 0.9, watts * 1.1)),
        window_seconds: 1.0,
        watts,
        joules_per_io: Some(watts / iops),
        ios_per_joule: Some(iops / watts),
        bytes_per_joule: Some(iops * 4096.0 / watts),
        note: None,
    };
    let counts = Counts {
        seconds: 1.0,
        read: side.clone(),
        all: side,
        energy: vec![energy],
        ..Counts::default()
    };
    let devices = vec!["optane-900p".to_owned()];
    let factors = [
        ("completion", mode.to_string()),
        ("numjobs", jobs.to_string()),
        ("bs", "4k".into()),
    ];
    RunRecord {
        sweep: "main".into(),
        point: factors.map(|(name, value)| (name.to_owned(), value)).into(),
        replicate,
        order: 1,
        platform: Platform::Emulated,
        counts: BTreeMap::new(),
        idle_watts: BTreeMap::new(),
        machine: "a box".into(),
        result: RunResult::new(&job, method, devices, completion, Some(counts)),
    }
}

/// Returns four repetitions that differ by `noise`.
pub(crate) fn runs(
    mode: CompletionMode,
    jobs: usize,
    iops: f64,
    noise: f64,
    watts: f64,
) -> Vec<RunRecord> {
    let off = [-1.0, 1.0, -0.5, 0.5];
    let all = off.iter().zip(1..);
    all.map(|(off, n)| run(mode, jobs, n, iops + off * noise, watts))
        .collect()
}
