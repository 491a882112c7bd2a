//! Tests of the report, from records to its sentences.

use super::command::command;
use super::csv::{figure_csv, table_csv};
use super::markdown::markdown;
use super::*;
use crate::record::sample::{run, runs};
use crate::record::{Platform, RunRecord};
use crate::statistics::Interval;
use joulio_twin::published::Paper;
use joulio_units::Boundary;
use joulio_workload::{CompletionMode, JobCounts, Spoiled, SpoiledBy};
use serde::Deserialize;
use std::fs;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    table: Vec<TableSpec>,
    #[serde(default)]
    figure: Vec<FigureSpec>,
    #[serde(default)]
    observation: Vec<ObservationSpec>,
}

fn report(text: &str, records: Vec<RunRecord>) -> Report {
    let file: File = toml_edit::de::from_str(text).unwrap();
    let shown = Shown {
        name: "hotstorage22",
        title: "When poll is more energy efficient than interrupt",
        published: Some("HS22"),
        sweeps: &[],
        tables: &file.table,
        figures: &file.figure,
        observations: &file.observation,
    };
    let runs = Runs {
        records,
        idle: Vec::new(),
    };
    Report::new(&Paper::all().unwrap(), vec![(shown, runs)])
}

fn set(report: &Report) -> &SetReport {
    &report.experiments[0].sets[0]
}

const LINES: &str = r#"
[[figure]]
id = "F1a"
title = "IOPS"
kind = "lines"
sweep = "main"
x = "numjobs"
y = "iops"
series = "completion"
"#;

const TILES: &str = r#"
[[figure]]
id = "F3"
title = "The best"
kind = "best-tiles"
sweep = "main"
x = "numjobs"
y = "bs"
best = "completion"
metric = "METRIC"
"#;

const POLL: CompletionMode = CompletionMode::Poll;
const INTERRUPT: CompletionMode = CompletionMode::Interrupt;
const HYBRID: CompletionMode = CompletionMode::Hybrid;

#[test]
fn a_figure_has_each_point_with_its_interval_and_what_was_printed() {
    let mut records = runs(POLL, 1, 120_000.0, 100.0, 40.0);
    records.extend(runs(POLL, 8, 500_000.0, 100.0, 60.0));
    let report = report(LINES, records);
    let Drawing::Xy(xy) = &set(&report).figures[0].panels[0].drawing else {
        panic!("no lines");
    };
    assert_eq!(xy.series.len(), 1);
    let marks = &xy.series[0].marks;
    assert_eq!(marks.len(), 2);
    assert_eq!(
        (marks[0].at.as_str(), marks[0].x, marks[0].y),
        ("1", 1.0, 120_000.0)
    );
    let (low, high) = marks[0].interval.unwrap();
    assert!(low < 120_000.0 && high > 120_000.0 && high - low < 500.0);
    // Table 1: classic polling, one thread and eight.
    assert_eq!(marks[0].published, Some((120_470.0, None)));
    assert_eq!(marks[1].published, Some((571_659.0, None)));
    assert!(!marks[0].modelled && marks[0].band.is_none());
}

#[test]
fn an_interval_is_drawn_no_further_than_zero_where_the_value_is_above() {
    let report = report(LINES, runs(POLL, 1, 1_000.0, 1_000.0, 40.0));
    let Drawing::Xy(xy) = &set(&report).figures[0].panels[0].drawing else {
        panic!("no lines");
    };
    let mark = &xy.series[0].marks[0];
    let (low, high) = mark.interval.unwrap();
    assert!(low < 0.0);
    assert_eq!(mark.drawn_interval(), Some((0.0, high)));
}

#[test]
fn points_that_a_figure_does_not_tell_apart_are_a_problem_that_names_the_factor() {
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    records.extend(runs(INTERRUPT, 1, 900.0, 1.0, 40.0));
    let report = report(&LINES.replace("series = \"completion\"", ""), records);
    let figure = &set(&report).figures[0];
    let problem = figure.problem.as_ref().unwrap();
    assert!(
        figure.panels.is_empty() && problem.contains("differ in completion"),
        "{problem}"
    );
}

fn tile(metric: &str, records: Vec<RunRecord>) -> Tile {
    let report = report(&TILES.replace("METRIC", metric), records);
    let Drawing::Tiles(tiles) = &set(&report).figures[0].panels[0].drawing else {
        panic!("no tiles");
    };
    tiles.tiles().next().unwrap().clone()
}

#[test]
fn a_tile_has_the_best_or_a_tie_and_the_two_ties_are_two_things() {
    let two = |iops: f64, noise: f64, watts: f64| {
        let mut records = runs(POLL, 1, 1_000.0, noise, 40.0);
        records.extend(runs(INTERRUPT, 1, iops, noise, watts));
        records
    };
    let clear = tile("iops", two(900.0, 1.0, 40.0));
    assert_eq!((clear.best.as_deref(), clear.tie), (Some("poll"), Tie::No));
    assert!((clear.value - 100.0 / 9.0).abs() < 1e-9 && clear.p.unwrap() < 0.001);
    assert_eq!(tile("iops", two(999.0, 10.0, 40.0)).tie, Tie::Noise);
    // Of latencies the least is the best.
    let least = tile("latency_us", two(1_100.0, 1.0, 40.0));
    assert_eq!(least.best.as_deref(), Some("interrupt"));
    // A tenth is the band: five percent more is within it, whatever the noise; double is not.
    assert_eq!(
        tile("ios_per_joule", two(1_000.0, 1.0, 42.0)).tie,
        Tie::Band
    );
    assert_eq!(tile("ios_per_joule", two(1_000.0, 1.0, 80.0)).tie, Tie::No);
    let once = vec![run(POLL, 1, 1, 10.0, 1.0), run(INTERRUPT, 1, 1, 9.0, 1.0)];
    assert_eq!(tile("iops", once).tie, Tie::Unknown);
    // The model's energy is compared, also where its name has another device in it.
    let mut devices = two(1_000.0, 1.0, 80.0);
    for record in &mut devices {
        let counts = record.result.counts.as_mut().unwrap();
        for figure in &mut counts.energy {
            figure.source = format!("model of a box + {}", record.point["completion"]);
        }
    }
    assert_eq!(tile("ios_per_joule", devices).tie, Tie::No);
}

#[test]
fn many_tiles_are_corrected_together() {
    // Alone each of these differs at about 4 %; of sixteen such none does.
    let mut records = Vec::new();
    for jobs in 1..=16 {
        records.extend(runs(POLL, jobs, 1_000.0, 10.0, 40.0));
        records.extend(runs(INTERRUPT, jobs, 982.0, 10.0, 40.0));
    }
    let few: Vec<_> = records
        .iter()
        .filter(|r| r.point["numjobs"] == "1")
        .cloned()
        .collect();
    let ties = |correction: &str, records: Vec<RunRecord>| {
        let text = TILES.replace("METRIC", "iops");
        let report = report(&format!("{text}correction = \"{correction}\"\n"), records);
        let Drawing::Tiles(tiles) = &set(&report).figures[0].panels[0].drawing else {
            panic!("no tiles");
        };
        // The interval is that of the verdict: it has no difference in it exactly where there is a tie.
        for tile in tiles.tiles() {
            let (low, _) = tile.interval.unwrap();
            assert_eq!(low <= 0.0, tile.tie == Tie::Noise, "{tile:?}");
        }
        tiles.tiles().filter(|tile| tile.tie == Tie::Noise).count()
    };
    assert_eq!(ties("holm", few), 0);
    assert_eq!(ties("none", records.clone()), 0);
    assert_eq!(ties("holm", records), 16);
}

#[test]
fn runs_that_were_not_what_they_were_to_be_are_in_no_mean() {
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    let mut spoiled = run(POLL, 1, 5, 10.0, 40.0);
    spoiled.result.spoiled = vec![Spoiled {
        by: SpoiledBy::Throttled,
        share: None,
        why: "the clock fell".into(),
    }];
    let mut ended = run(POLL, 1, 6, 10.0, 40.0);
    ended.result.interrupted = true;
    let mut unavailable = run(POLL, 1, 7, 10.0, 40.0);
    unavailable.result.counts = None;
    records.extend([spoiled, ended, unavailable]);
    let report = report(LINES, records);
    let set = set(&report);
    let Drawing::Xy(xy) = &set.figures[0].panels[0].drawing else {
        panic!("no lines");
    };
    assert_eq!(
        (xy.series[0].marks[0].n, xy.series[0].marks[0].y),
        (4, 1_000.0)
    );
    assert_eq!((set.runs, set.apart.len()), (4, 3));
    assert!(page(&report).contains("the clock fell"));
    let basis = &findings(&report).pop().unwrap().sentence;
    assert!(
        basis.contains("4 runs")
            && basis.contains("2 more were kept apart")
            && basis.contains("1 unavailable here"),
        "{basis}"
    );
    assert!(markdown(&report).contains("| data, no verdict |"));
}

#[test]
fn unlike_machines_and_platforms_are_sets_of_their_own() {
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    let mut twin = runs(POLL, 1, 2_000.0, 1.0, 40.0);
    let mut other = runs(POLL, 1, 3_000.0, 1.0, 40.0);
    twin.iter_mut()
        .for_each(|run| run.platform = Platform::Twin);
    other
        .iter_mut()
        .for_each(|run| run.machine = "another".into());
    records.extend(twin);
    records.extend(other);
    let report = report(LINES, records);
    assert_eq!(report.experiments[0].sets.len(), 3);
}

#[test]
fn a_ratio_has_both_ends_of_its_interval_in_every_form() {
    let text = TILES.replace("METRIC", "iops")
        + r#"
    [[table]]
    id = "T1"
    title = "What polling adds"
    sweep = "main"
    rows = "completion"
    metrics = ["iops"]
    over = { completion = "interrupt" }
    "#;
    // A wide interval is wider above than below.
    let mut records = runs(POLL, 1, 1_000.0, 100.0, 40.0);
    records.extend(runs(INTERRUPT, 1, 500.0, 50.0, 40.0));
    let report = report(&text, records);
    let ends = "+100.0 (+70.5 to +134.6)";
    let page = page(&report).replace("<span class=\"muted\">", "");
    let page = page.replace("</span>", "");
    assert_eq!(page.matches(ends).count(), 2, "{page}");
    let text = markdown(&report);
    assert_eq!(text.matches(ends).count(), 2, "{text}");
    let set = set(&report);
    for csv in [figure_csv(&set.figures[0]), table_csv(&set.tables[0])] {
        let percents = csv.lines().any(|line| line.contains(",100,70.47"));
        assert!(percents, "{csv}");
    }
    let json = serde_json::to_value(set).unwrap();
    let change = &json["tables"][0]["rows"][0]["cells"][1];
    let found = change.to_string();
    assert!(
        found.contains("\"interval\":[70.47") && !found.contains("samples"),
        "{found}"
    );
}

#[test]
fn runs_on_a_device_that_stands_in_are_beside_the_others_and_say_so() {
    let text = LINES.replace("series", "note = \"A note.\"\nseries")
        + "[[figure.layer]]\nlabel = \"joulio\"\nsweep = \"ours\"\n";
    let of = |sweep: &str, platform: Platform, iops: f64| {
        let mut records = runs(POLL, 1, iops, 1.0, 40.0);
        for record in &mut records {
            record.platform = platform;
            record.sweep = sweep.into();
            let device = match platform {
                Platform::Real => "/dev/x",
                _ => "emulated:optane-900p,size=1G",
            };
            record.point.insert("device".into(), device.into());
        }
        records
    };
    let file: File = toml_edit::de::from_str(&text).unwrap();
    let source = SweepSource {
        name: "ours".into(),
        on: vec![Platform::Real],
        stands_in: true,
        made_by: None,
        writes: false,
    };
    let report = |records: Vec<RunRecord>| {
        let shown = Shown {
            name: "small",
            title: "A small one",
            published: None,
            sweeps: std::slice::from_ref(&source),
            tables: &[],
            figures: &file.figure,
            observations: &[],
        };
        let runs = Runs {
            records,
            idle: Vec::new(),
        };
        Report::new(&[], vec![(shown, runs)])
    };
    let names = |report: &Report, set: usize| {
        let figure = &report.experiments[0].sets[set].figures[0];
        let Drawing::Xy(xy) = &figure.panels[0].drawing else {
            panic!("no lines");
        };
        let names: Vec<_> = xy.series.iter().map(|one| one.name.clone()).collect();
        (names.join(", "), figure.note.clone().unwrap())
    };
    let mut records = of("main", Platform::Real, 1_000.0);
    records.extend(of("ours", Platform::Emulated, 2_000.0));
    let beside = report(records.clone());
    assert_eq!(beside.experiments[0].sets.len(), 1);
    assert_eq!(
        set(&beside).devices,
        ["optane-900p", "emulated optane-900p"]
    );
    let (series, note) = names(&beside, 0);
    assert_eq!(series, "poll, joulio (emulated optane-900p)");
    assert!(
        note.starts_with("A note. The emulated optane-900p is another device"),
        "{note}"
    );
    // What ran on the machine's own devices is what it says, and the emulated one is for itself.
    let real: Vec<RunRecord> = of("ours", Platform::Real, 3_000.0);
    records.extend(real);
    let both = report(records);
    assert_eq!(both.experiments[0].sets.len(), 2);
    assert_eq!(names(&both, 0), ("poll, joulio".into(), "A note.".into()));
}

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

fn outcome(text: &str, records: Vec<RunRecord>) -> (Outcome, String) {
    let report = report(text, records);
    let observed = &set(&report).observed[0];
    (observed.outcome, observed.because.clone())
}

#[test]
fn an_observation_holds_differs_or_cannot_be_told_and_says_why() {
    let records = |one: f64, eight: f64, noise: f64| {
        let mut records = runs(POLL, 1, 1_000.0, noise, 40.0);
        records.extend(runs(INTERRUPT, 1, one, noise, 40.0));
        records.extend(runs(POLL, 8, 1_000.0, noise, 40.0));
        records.extend(runs(INTERRUPT, 8, eight, noise, 40.0));
        records
    };
    let all = OBSERVED.replace("CELLS", "all");
    let (holds, why) = outcome(&all, records(900.0, 950.0, 1.0));
    assert_eq!(holds, Outcome::Holds);
    assert!(
        why.contains("holds at 2 of 2 points; the smallest step: poll against interrupt (jobs 8): +5.3 (+5.1 to +5.4) %"),
        "{why}"
    );
    let (differs, why) = outcome(&all, records(900.0, 1_100.0, 1.0));
    assert_eq!(differs, Outcome::Differs);
    assert!(
        why.contains("holds at 1 of 2 points, not at 1; the smallest step: poll against interrupt (jobs 8): -9.1 (-9.2 to -9.0) %"),
        "{why}"
    );
    let any = OBSERVED.replace("CELLS", "any");
    assert_eq!(
        outcome(&any, records(900.0, 1_100.0, 1.0)).0,
        Outcome::Holds
    );
    let (undecided, why) = outcome(&all, records(999.0, 998.0, 20.0));
    assert_eq!(undecided, Outcome::Undecided);
    assert!(
        why.contains("cannot be told at 2") && why.contains("+0.1 (-"),
        "{why}"
    );
    let (nothing, why) = outcome(&all, runs(HYBRID, 1, 1.0, 0.0, 1.0));
    assert_eq!(nothing, Outcome::NoData);
    assert!(why.contains("fewer than two of"), "{why}");
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
    assert_eq!(observed[0].outcome, Outcome::Holds);
    // Of its three chains the one of a thread was run, and of the numbers one.
    assert_eq!(observed[1].outcome, Outcome::Holds);
    assert!(
        observed[1]
            .because
            .contains("1 of its 2 comparisons was not run"),
        "{observed:?}"
    );
    assert_eq!(observed[2].outcome, Outcome::NoData);
    let numbers = &set(&report).numbers;
    let iops = numbers
        .iter()
        .find(|line| line.what == "classic, 1 thread: IOPS")
        .unwrap();
    assert!((iops.error_percent + 1.22).abs() < 0.01 && iops.outcome == Outcome::Holds);
}

#[test]
fn a_page_is_whole_and_takes_no_orders_from_a_name() {
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    for record in &mut records {
        record.machine = "<script>alert(1)</script>".into();
    }
    let text = format!("{LINES}{}", TILES.replace("METRIC", "iops"));
    let report = report(&text, records);
    let html = page(&report);
    assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;alert"));
    // Addresses of other places, but for those that nobody loads.
    let loads = ["src=\"", "url(http", "@import", "href=\"http", "fetch("];
    for load in loads {
        assert!(!html.contains(load), "{load}");
    }
    assert!(html.contains("id=\"hotstorage22-emulated-F1a\""));
    let folder = tempfile::tempdir().unwrap();
    let path = write(&report, folder.path()).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), html);
    let csv = folder.path().join("data/hotstorage22-emulated-F1a.csv");
    let csv = fs::read_to_string(csv).unwrap();
    assert!(
        csv.starts_with("figure,panel,series,x,") && csv.contains("F1a,,poll,1,IOPS,1000,"),
        "{csv}"
    );
    let json = fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    assert!(
        fs::read_to_string(folder.path().join("report.md"))
            .unwrap()
            .contains("| jobs | poll |")
    );
}

#[test]
fn an_empty_report_says_so_in_one_sentence() {
    let none = Report::new(&[], Vec::new());
    let found = findings(&none);
    assert_eq!(found.len(), 1);
    assert!(found[0].sentence.contains("no runs"), "{found:?}");
    let html = page(&none);
    assert!(html.contains("id=\"found\""));
}

#[test]
fn a_papers_figure_in_two_parts_is_one_item_and_what_it_has_not_is_none() {
    let text = r#"
    [[figure]]
    id = "F1c"
    in_source = "F1cd"
    title = "Rates"
    kind = "lines"
    sweep = "main"
    x = "numjobs"
    y = "iops"
    series = "completion"
    [[figure]]
    id = "F1d"
    in_source = "F1cd"
    title = "Elsewhere"
    kind = "lines"
    sweep = "elsewhere"
    x = "numjobs"
    y = "iops"
    [[figure]]
    id = "S1"
    in_source = "-"
    title = "Ours"
    kind = "lines"
    sweep = "main"
    x = "numjobs"
    y = "iops"
    series = "completion"
    [[observation]]
    id = "O1"
    text = "Polling is faster."
    shown = ["F1c"]
    rising = [{ sweep = "main", metric = "iops", along = "completion", order = ["interrupt", "poll"] }]
    "#;
    let records = || {
        let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
        records.extend(runs(INTERRUPT, 1, 900.0, 1.0, 40.0));
        records
    };
    let items = PaperItem::all(&report(text, records()));
    let ids: Vec<_> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["F1cd"]);
    // One part has no data: the whole is not judged.
    assert!(!items[0].is_judged());
    assert!(papers(&items).contains("0 of 1 tables and figures"));
    let whole = text.replace(
        "sweep = \"elsewhere\"",
        "sweep = \"main\"\nseries = \"completion\"",
    );
    let items = PaperItem::all(&report(&whole, records()));
    assert!(items[0].is_judged());
    let text = papers(&items);
    assert!(
        text.contains("| F1cd | Rates; Elsewhere | `joulio lab run hotstorage22 --emulated` |"),
        "{text}"
    );
}

#[test]
fn a_command_makes_the_records_on_a_platform_that_has_them() {
    let source = |name: &str, on: &[Platform], writes| SweepSource {
        stands_in: false,
        name: name.into(),
        on: on.to_vec(),
        made_by: None,
        writes,
    };
    let (real, twin) = (Platform::Real, Platform::Twin);
    let mut all = vec![
        source("main", &[real, twin], false),
        source("keys", &[real], true),
    ];
    let of = |sweep, all: &[SweepSource], platform| command("an", &[sweep], all, platform);
    assert_eq!(of("main", &all, twin), "joulio lab run an --twin");
    let written = "joulio lab run an --device DEVICE --allow-write";
    assert_eq!(of("main", &all, real), written);
    // In virtual time there are none: where they are is said.
    let keys = "joulio lab run an --sweep keys --device DEVICE --allow-write";
    assert_eq!(of("keys", &all, twin), keys);
    assert_eq!(
        of("main", &all[..1], real),
        "joulio lab run an --device DEVICE"
    );
    assert_eq!(of("none", &all, twin), "joulio lab run an --twin");
    all[0].stands_in = true;
    assert_eq!(
        command("an", &["keys", "main"], &all, real),
        "joulio lab run an --sweep keys,main --device DEVICE --allow-write"
    );
    all[1].made_by = Some("guests/run".into());
    assert_eq!(of("keys", &all, twin), "guests/run");
}

#[test]
fn of_several_platforms_those_with_data_are_told() {
    let empty = report(
        &LINES.replace("\"main\"", "\"elsewhere\""),
        runs(POLL, 1, 1.0, 0.1, 40.0),
    );
    let item = &PaperItem::all(&empty)[0];
    assert_eq!(item.told().len(), 1);
    let mut both = item.clone();
    both.found.push(PaperFinding {
        platform: Platform::Twin,
        data: true,
        ..item.found[0].clone()
    });
    let told: Vec<_> = both.told().iter().map(|one| one.platform).collect();
    assert_eq!(told, [Platform::Twin]);
    assert!(papers(&[both]).contains("| twin: **data, no verdict**"));
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
    assert_eq!(outcomes, [Outcome::NoData, Outcome::Holds]);
    // Six hundred times as much is no percentage.
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
fn energy_of_the_model_is_compared_across_devices_and_that_of_meters_is_not() {
    let of = |modelled: bool, boundary: Boundary, source: &str| Estimate {
        values: vec![1.0],
        mean: Interval::of(&[1.0], 0.0),
        band: None,
        modelled,
        energy: Some((boundary, source.to_owned())),
    };
    let ssd = of(true, Boundary::Wall, "model of a box + ssd");
    assert!(ssd.is_of_boundary(&of(true, Boundary::Wall, "model of a box + hdd")));
    assert!(!ssd.is_of_boundary(&of(true, Boundary::Device, "model of a box + ssd")));
    assert!(!ssd.is_of_boundary(&of(false, Boundary::Wall, "plug")));
    let plug = of(false, Boundary::Wall, "plug");
    assert!(plug.is_of_boundary(&plug));
    assert!(!plug.is_of_boundary(&of(false, Boundary::Wall, "bmc")));
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
    assert_eq!(holds, Outcome::Holds);
    assert!(why.contains("2×high:low against none: +50.0"), "{why}");
}

#[test]
fn each_job_of_a_point_has_its_row() {
    let text = r#"
    [[table]]
    id = "tenants"
    title = "Each tenant"
    kind = "jobs"
    sweep = "main"
    rows = "completion"
    "#;
    let mut records = runs(POLL, 2, 1_000.0, 10.0, 40.0);
    for record in &mut records {
        let job = |bs: u64, iops: f64| JobCounts {
            bs,
            iops,
            p99_ns: 7_000,
            ..JobCounts::default()
        };
        let counts = record.result.counts.as_mut().unwrap();
        counts.per_job = vec![job(4096, 700.0), job(131_072, 300.0)];
    }
    let report = report(text, records);
    let table = &set(&report).tables[0];
    assert_eq!(table.row_heads, ["completion mode", "job"]);
    assert_eq!(table.columns, ["IOPS", "p99 latency, µs"]);
    let heads: Vec<String> = table.rows.iter().map(|row| row.heads.join(" ")).collect();
    assert_eq!(heads, ["poll 1 (4k)", "poll 2 (128k)"]);
    let value = |row: usize, column: usize| match &table.rows[row].cells[column] {
        Value::Mean(mean) => mean.value,
        other => panic!("{other:?}"),
    };
    assert_eq!([value(0, 0), value(1, 0), value(1, 1)], [700.0, 300.0, 7.0]);
}
