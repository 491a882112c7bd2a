//! Tests of figures and tables made from records.

use super::*;

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

#[test]
fn a_figure_whose_runs_were_not_metered_says_why() {
    let problem = |y: &str, unmetered: bool| {
        let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
        for record in &mut records {
            let counts = record.result.counts.as_mut().unwrap();
            counts.energy.clear();
            counts.unmetered.extend(unmetered.then(|| Unmetered {
                meter: "perf:package-0".into(),
                why: "shorter than a second".into(),
                too_short: true,
            }));
        }
        let text = LINES.replace("\"iops\"", &format!("\"{y}\""));
        let report = report(&text, records);
        set(&report).figures[0].problem.clone()
    };
    assert_eq!(problem("iops", true), None);
    let why = problem("watts", true).unwrap();
    assert_eq!(
        why,
        "No data here: its runs have no figure of perf:package-0: shorter than a second."
    );
    let why = problem("watts", false).unwrap();
    assert!(why.contains("its runs have no figure of it"), "{why}");
    let why = problem("neighbour_percent", true).unwrap();
    assert!(!why.contains("perf:package-0"), "{why}");
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
    // The lowest latency is the best.
    let least = tile("latency_us", two(1_100.0, 1.0, 40.0));
    assert_eq!(least.best.as_deref(), Some("interrupt"));
    // The band is 10 %: values that differ by 5 % overlap, whatever the noise; double values do not.
    assert_eq!(
        tile("ios_per_joule", two(1_000.0, 1.0, 42.0)).tie,
        Tie::Band
    );
    assert_eq!(tile("ios_per_joule", two(1_000.0, 1.0, 80.0)).tie, Tie::No);
    let once = vec![run(POLL, 1, 1, 10.0, 1.0), run(INTERRUPT, 1, 1, 9.0, 1.0)];
    assert_eq!(tile("iops", once).tie, Tie::Unknown);
    // Modelled energy is compared even if the sources name different devices.
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
    // Each of these differences is significant at about 4 % by itself, but none of sixteen is after correction.
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
        // The interval agrees with the verdict: it includes zero exactly if there is a tie.
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
fn a_platform_on_which_nothing_could_be_run_is_no_basis() {
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    for record in &mut records {
        record.platform = Platform::Emulated;
    }
    let mut unavailable = run(POLL, 1, 7, 10.0, 40.0);
    unavailable.platform = Platform::Real;
    unavailable.result.counts = None;
    records.push(unavailable);
    let basis = findings(&report(LINES, records)).pop().unwrap().sentence;
    assert!(!basis.contains("a real device"), "{basis}");
    assert!(basis.contains("1 unavailable here"), "{basis}");
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
    // The interval of a ratio is wider above than below.
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
        LabReport::new(&[], vec![(shown, runs)])
    };
    let names = |report: &LabReport, set: usize| {
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
    // Runs on the machine's real devices replace the stand-in, and the emulated device becomes a set of its own.
    let real: Vec<RunRecord> = of("ours", Platform::Real, 3_000.0);
    records.extend(real);
    let both = report(records);
    assert_eq!(both.experiments[0].sets.len(), 2);
    assert_eq!(names(&both, 0), ("poll, joulio".into(), "A note.".into()));
}

#[test]
fn energy_of_the_model_is_compared_across_devices_and_that_of_meters_is_not() {
    let of = |modelled: bool, boundary: Boundary, source: &str| Estimate {
        values: vec![1.0],
        mean: Interval::of(&[1.0], 0.0),
        band: None,
        modelled,
        simulated: false,
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
