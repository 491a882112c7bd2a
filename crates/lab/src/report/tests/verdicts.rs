//! Tests of verdicts on observations and published numbers.

use super::*;
use joulio_workload::EngineName;

const OBSERVED: &str = r#"
[[observation]]
id = "O1"
text = "Polling is faster."
[[observation.rising]]
sweep = "main"
metric = "iops"
along = "completion"
order = ["interrupt", "poll"]
cells = "CELLS"
"#;

fn outcome(text: &str, records: Vec<RunRecord>) -> (ObservationOutcome, String) {
    let report = report(text, records);
    let observed = &set(&report).observed[0];
    (observed.outcome, observed.because.clone())
}

#[test]
fn an_observation_holds_differs_or_is_undecided_and_says_why() {
    let records = |one: f64, eight: f64, noise: f64| {
        let mut records = runs(POLL, 1, 1_000.0, noise, 40.0);
        records.extend(runs(INTERRUPT, 1, one, noise, 40.0));
        records.extend(runs(POLL, 8, 1_000.0, noise, 40.0));
        records.extend(runs(INTERRUPT, 8, eight, noise, 40.0));
        records
    };
    let all = OBSERVED.replace("CELLS", "all");
    let (holds, why) = outcome(&all, records(900.0, 950.0, 1.0));
    assert_eq!(holds, ObservationOutcome::Holds);
    assert!(
        why.contains("holds at 2 of 2 points; the smallest step: poll against interrupt (jobs 8): +5.3 (+5.1 to +5.4) %"),
        "{why}"
    );
    let (differs, why) = outcome(&all, records(900.0, 1_100.0, 1.0));
    assert_eq!(differs, ObservationOutcome::Differs);
    assert!(
        why.contains("holds at 1 of 2 points, not at 1; the smallest step: poll against interrupt (jobs 8): -9.1 (-9.2 to -9.0) %"),
        "{why}"
    );
    let any = OBSERVED.replace("CELLS", "any");
    assert_eq!(
        outcome(&any, records(900.0, 1_100.0, 1.0)).0,
        ObservationOutcome::Holds
    );
    let (undecided, why) = outcome(&all, records(999.0, 998.0, 20.0));
    assert_eq!(undecided, ObservationOutcome::Undecided);
    assert!(
        why.contains("undecided at 2") && why.contains("+0.1 (-"),
        "{why}"
    );
    let (nothing, why) = outcome(&all, runs(HYBRID, 1, 1.0, 0.0, 1.0));
    assert_eq!(nothing, ObservationOutcome::NoData);
    assert!(why.contains("fewer than two of"), "{why}");
}

#[test]
fn energy_of_unlike_boundaries_is_no_rise() {
    let text = OBSERVED.replace("\"iops\"", "\"ios_per_joule\"");
    let all = text.replace("CELLS", "all");
    // A meter of the package measured polling, but had failed when the interrupts ran.
    let by_meter = |jobs| {
        let mut records = runs(POLL, jobs, 1_000.0, 1.0, 10.0);
        for record in &mut records {
            let figure = &mut record.result.counts.as_mut().unwrap().energy[0];
            (figure.modelled, figure.band_joules) = (false, None);
            (figure.boundary, figure.zone) = (Boundary::Package, "package-0".into());
            figure.source = "perf:package-0".into();
        }
        records
    };
    let mut records = by_meter(1);
    records.extend(runs(INTERRUPT, 1, 1_000.0, 1.0, 40.0));
    let (nothing, why) = outcome(&all, records.clone());
    assert_eq!(nothing, ObservationOutcome::NoData, "{why}");
    assert!(why.contains("unlike boundaries"), "{why}");
    // Pairs of modelled values are compared, and the others are mentioned.
    records.extend(runs(POLL, 8, 1_000.0, 1.0, 40.0));
    records.extend(runs(INTERRUPT, 8, 900.0, 1.0, 40.0));
    let (holds, why) = outcome(&all, records);
    assert_eq!(holds, ObservationOutcome::Holds, "{why}");
    assert!(why.contains("at 1 more the energy figures"), "{why}");
}

#[test]
fn one_run_decides_alone_if_it_is_simulated() {
    let text = OBSERVED.replace("\"iops\"", "\"ios_per_joule\"");
    let text = text.replace("CELLS", "all");
    // The energy is modelled, but from measured times.
    let mut once = vec![
        run(POLL, 1, 1, 1_000.0, 40.0),
        run(INTERRUPT, 1, 1, 900.0, 40.0),
    ];
    let (undecided, why) = outcome(&text, once.clone());
    assert_eq!(undecided, ObservationOutcome::Undecided);
    assert!(why.contains("(once)"), "{why}");
    for record in &mut once {
        record.platform = Platform::Twin;
        record.result.modelled = true;
    }
    let (holds, why) = outcome(&text, once);
    assert_eq!(holds, ObservationOutcome::Holds, "{why}");
}

#[test]
fn a_number_of_energy_is_of_one_boundary_and_its_modelled_values_are_marked() {
    let what = "bfq: J for a million I/Os more than none, around 200 in various cases (write, defaults taken)";
    let text = format!(
        r#"
    [[observation]]
    id = "O1"
    text = "It costs more."
    numbers = ["{what}"]
    "#
    );
    let by = |scheduler: &str, watts: f64| {
        let mut records = runs(INTERRUPT, 1, 1_000.0, 0.0, watts);
        for record in &mut records {
            let factors = [
                ("scheduler", scheduler),
                ("rw", "randwrite"),
                ("engine", "io_uring"),
                ("device", "optane-p4801x"),
            ];
            let factors = factors.map(|(factor, value)| (factor.to_owned(), value.to_owned()));
            record.point.extend(factors);
        }
        records
    };
    let both = |bfq: Vec<RunRecord>| {
        let records = [bfq, by("none", 40.0)].concat();
        report_of("HS23", &text, records)
    };
    let mut bfq = by("bfq", 40.2);
    let modelled = both(bfq.clone());
    assert_eq!(
        set(&modelled).observed[0].outcome,
        ObservationOutcome::Holds
    );
    let line = |report: &LabReport| {
        let mut numbers = set(report).numbers.clone().into_iter();
        numbers.find(|line| line.what == what)
    };
    assert!(line(&modelled).unwrap().modelled);
    assert!(page(&modelled).contains("<td>200*"));
    // A meter at the wall measured bfq, but had failed when none ran.
    for record in &mut bfq {
        let figure = &mut record.result.counts.as_mut().unwrap().energy[0];
        (figure.modelled, figure.band_joules) = (false, None);
        figure.source = "plug".into();
    }
    let unlike = both(bfq);
    let observed = &set(&unlike).observed[0];
    let why = &observed.because;
    assert_eq!(observed.outcome, ObservationOutcome::NoData, "{why}");
    assert!(why.contains("unlike boundaries"), "{why}");
    assert!(line(&unlike).is_none());
}

#[test]
fn keys_of_rocksdb_are_no_published_ios() {
    let what = "none, read, defaults: median us";
    let text = format!(
        r#"
    [[observation]]
    id = "O1"
    text = "It takes as long."
    numbers = ["{what}"]
    "#
    );
    let by = |engine: EngineName| {
        let mut records = runs(INTERRUPT, 1, 80_000.0, 0.0, 40.0);
        for record in &mut records {
            record.result.engine = Some(engine);
            let factors = [
                ("scheduler", "none".to_owned()),
                ("rw", "randread".to_owned()),
                ("engine", engine.to_string()),
                ("device", "optane-p4801x".to_owned()),
            ];
            let factors = factors.map(|(factor, value)| (factor.to_owned(), value));
            record.point.extend(factors);
        }
        let report = report_of("HS23", &text, records);
        let set = set(&report);
        (set.observed[0].outcome, set.numbers.is_empty())
    };
    for engine in [EngineName::DbBench, EngineName::DbBenchJoulio] {
        assert_eq!(by(engine), (ObservationOutcome::NoData, true));
    }
    // Another path of the kernel for the same I/Os stands for the only one that the source has.
    assert_eq!(by(EngineName::Libaio), (ObservationOutcome::Holds, false));
}

#[test]
fn the_sources_claims_and_numbers_are_judged_from_records() {
    let text = r#"
    [[observation]]
    id = "O1"
    text = "Both ways of polling are faster."
    claims = ["Observation 1: both ways of polling do more I/Os than interrupts"]
    [[observation]]
    id = "T1"
    text = "Table 1 comes out."
    numbers = ["classic, 1 thread: IOPS", "interrupt, 8 threads: IOPS"]
    [[observation]]
    id = "O2"
    text = "A claim that nobody makes."
    claims = ["so it is"]
    "#;
    let mut records = runs(POLL, 1, 119_000.0, 100.0, 40.0);
    records.extend(runs(HYBRID, 1, 113_000.0, 100.0, 40.0));
    records.extend(runs(INTERRUPT, 1, 97_000.0, 100.0, 40.0));
    let report = report(text, records);
    let observed = &set(&report).observed;
    assert_eq!(observed[0].outcome, ObservationOutcome::Holds);
    // Of the three chains only that of one thread was run, and of the numbers only one.
    assert_eq!(observed[1].outcome, ObservationOutcome::Holds);
    assert!(
        observed[1]
            .because
            .contains("1 of its 2 comparisons was not run"),
        "{observed:?}"
    );
    assert_eq!(observed[2].outcome, ObservationOutcome::NoData);
    let numbers = &set(&report).numbers;
    let iops = numbers
        .iter()
        .find(|line| line.what == "classic, 1 thread: IOPS")
        .unwrap();
    assert!((iops.error_percent + 1.22).abs() < 0.01 && iops.outcome == ObservationOutcome::Holds);
}

#[test]
fn a_claim_that_one_of_several_runs_meets_falls_only_with_all_of_them() {
    let text = r#"
    [[observation]]
    id = "O3"
    text = "Hybrid polling can draw more."
    claims = ["Observation 3: hybrid can draw more than classic, though it takes less CPU"]
    "#;
    let at = |jobs: usize, hybrid: f64| {
        let mut records = runs(POLL, jobs, 1_000.0, 1.0, 50.0);
        records.extend(runs(HYBRID, jobs, 1_000.0, 1.0, hybrid));
        records
    };
    let (nothing, why) = outcome(text, at(1, 40.0));
    assert_eq!(nothing, ObservationOutcome::NoData, "{why}");
    assert!(why.contains("'hs22-classic-4'"), "{why}");
    assert_eq!(outcome(text, at(8, 60.0)).0, ObservationOutcome::Holds);
    let all = |last| [at(1, 40.0), at(4, 40.0), at(8, last)].concat();
    assert_eq!(outcome(text, all(40.0)).0, ObservationOutcome::Differs);
    assert_eq!(outcome(text, all(60.0)).0, ObservationOutcome::Holds);
}

#[test]
fn of_a_guest_counts_are_judged_and_times_are_not() {
    let text = format!(
        "{LINES}{}",
        r#"
    [[figure]]
    id = "F9"
    title = "Loads of the scheduler"
    kind = "stacked"
    sweep = "main"
    x = "completion"
    part = [{ label = "scheduler", count = "kernel/sched/" }]
    [[observation]]
    id = "O1"
    text = "Polling is faster."
    shown = ["F1a"]
    rising = [{ sweep = "main", metric = "iops", along = "completion", order = ["interrupt", "poll"] }]
    [[observation]]
    id = "O2"
    text = "Interrupts have the scheduler's loads."
    rising = [{ sweep = "main", count = "kernel/sched/", along = "completion", order = ["poll", "interrupt"] }]
    "#
    );
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    records.extend(runs(INTERRUPT, 1, 500.0, 1.0, 40.0));
    for record in &mut records {
        record.platform = Platform::Guest;
        let noise = f64::from(record.replicate);
        let loads = match record.point["completion"].as_str() {
            "poll" => noise,
            _ => 1_500.0 + noise,
        };
        record.counts.insert("kernel/sched/".into(), loads);
    }
    let report = report(&text, records);
    let observed = &set(&report).observed;
    let outcomes: Vec<_> = observed.iter().map(|one| one.outcome).collect();
    assert_eq!(
        outcomes,
        [ObservationOutcome::NoData, ObservationOutcome::Holds]
    );
    // Six hundred times as much is not given as a percentage.
    let because = &observed[1].because;
    assert!(
        because.contains("1502 ± 2.05 against 2.5 ± 2.05"),
        "{because}"
    );
    let figures = &set(&report).figures;
    assert!(figures[0].problem.is_some());
    let Drawing::Xy(bars) = &figures.last().unwrap().panels[0].drawing else {
        panic!("bars");
    };
    assert_eq!(bars.y, "counts of an I/O");
}

#[test]
fn what_rests_on_the_models_energy_says_so() {
    let certainty = |metric: &str| {
        let text = format!(
            r#"
    [[observation]]
    id = "O1"
    text = "Polling does more."
    rising = [{{ sweep = "main", metric = "{metric}", along = "completion", order = ["interrupt", "poll"] }}]
    "#
        );
        let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
        records.extend(runs(INTERRUPT, 1, 900.0, 1.0, 40.0));
        set(&report(&text, records)).observed[0].certainty.clone()
    };
    let said = certainty("ios_per_joule");
    assert!(said.contains(", energy by a model; "), "{said}");
    let said = certainty("iops");
    assert!(!said.contains("model"), "{said}");
}

#[test]
fn values_that_jobs_take_in_turn_are_counted() {
    let text = r#"
    [[observation]]
    id = "O1"
    text = "Priority helps."
    rising = [{ sweep = "main", metric = "iops", along = "queue_priority", order = ["none", "high:high:low"] }]
    "#;
    let with = |priority: &str, iops: f64| {
        let mut all = runs(POLL, 3, iops, 1.0, 40.0);
        for record in &mut all {
            let factor = ("queue_priority".to_owned(), priority.to_owned());
            record.point.extend([factor]);
        }
        all
    };
    let mut records = with("none", 1_000.0);
    records.extend(with("high:high:low", 1_500.0));
    let (holds, why) = outcome(text, records);
    assert_eq!(holds, ObservationOutcome::Holds);
    assert!(why.contains("2×high:low against none: +50.0"), "{why}");
}

#[test]
fn what_a_profile_was_fitted_to_is_marked_everywhere_and_only_in_virtual_time() {
    let text = r#"
    [[figure]]
    id = "F1c"
    title = "Power"
    kind = "lines"
    sweep = "main"
    x = "numjobs"
    y = "iops"
    series = "completion"
    [[observation]]
    id = "O1"
    text = "Both ways of polling are faster."
    claims = ["Observation 1: *"]
    [[observation]]
    id = "O3"
    text = "Hybrid polling can draw more."
    shown = ["F1c"]
    headline = 1
    claims = ["Observation 3: hybrid *"]
    [[observation]]
    id = "O3+"
    text = "Hybrid polling is faster and can draw more."
    claims = ["Observation 1: *", "Observation 3: hybrid *"]
    "#;
    let on = |platform: Platform| {
        let mut records = runs(POLL, 8, 600_000.0, 100.0, 50.0);
        records.extend(runs(HYBRID, 8, 550_000.0, 100.0, 60.0));
        records.extend(runs(INTERRUPT, 8, 500_000.0, 100.0, 40.0));
        for record in &mut records {
            record.platform = platform;
            record.result.modelled = platform == Platform::Twin;
        }
        report(text, records)
    };
    let twin = on(Platform::Twin);
    let marks = |report: &LabReport| -> Vec<String> {
        let observed = set(report).observed.iter();
        observed.map(|one| one.fitted.mark()).collect()
    };
    assert_eq!(marks(&twin), ["", ", fitted", ", 1 of 2 fitted"]);
    let fitted = "✓ holds here, fitted";
    // Top, status of the figure, observation, and comparison of the third observation.
    assert_eq!(page(&twin).matches(fitted).count(), 4);
    assert!(page(&twin).contains("✓ holds here, 1 of 2 fitted"));
    // Top, status and observation.
    assert_eq!(markdown(&twin).matches(fitted).count(), 3);
    let listed = papers(&PaperItem::all(&twin));
    assert!(listed.contains(&format!("**{fitted}**")), "{listed}");
    let csv = observations_csv(set(&twin));
    let bases: Vec<_> = csv
        .lines()
        .filter_map(|line| line.rsplit_once(",holds,"))
        .map(|(_, rest)| rest.split(',').next().unwrap())
        .collect();
    assert_eq!(bases, ["free", "fitted", "free", "fitted"], "{csv}");
    let json = serde_json::to_value(set(&twin)).unwrap();
    let observed = &json["observed"];
    assert_eq!(observed[1]["parts"][0]["basis"], "fitted");
    assert_eq!(observed[0]["parts"][0]["basis"], "free");
    assert_eq!(observed[2]["fitted"]["fitted"], 1);
    // No profile was fitted to what is measured.
    let real = on(Platform::Real);
    assert_eq!(marks(&real), ["", "", ""]);
    assert!(!page(&real).contains("fitted") && !markdown(&real).contains("fitted"));
}

#[test]
fn an_observation_that_does_not_hold_is_not_called_fitted() {
    let text = r#"
    [[observation]]
    id = "T1"
    text = "Table 1 comes out."
    numbers = ["classic, 1 thread: IOPS", "interrupt, 1 thread: IOPS"]
    "#;
    let mut records = runs(POLL, 1, 60_000.0, 100.0, 40.0);
    records.extend(runs(INTERRUPT, 1, 97_000.0, 100.0, 40.0));
    for record in &mut records {
        record.platform = Platform::Twin;
    }
    let report = report(text, records);
    let observed = &set(&report).observed[0];
    assert_eq!(observed.outcome, ObservationOutcome::Differs);
    assert!(observed.fitted.fitted > 0);
    let page = page(&report);
    assert!(page.contains(">✗ does not hold<") && !page.contains("does not hold,"));
}
