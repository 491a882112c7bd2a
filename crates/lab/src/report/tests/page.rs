//! Tests of the page and of the list of papers.

use super::*;

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
    // The page has no address of another place that a browser would load.
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
fn what_is_computed_from_modelled_values_has_a_star() {
    let text = |metric: &str| {
        let table = r#"
    [[table]]
    id = "T1"
    title = "Over interrupts"
    sweep = "main"
    rows = "completion"
    columns = "numjobs"
    metrics = ["METRIC"]
    over = { completion = "interrupt" }
    "#;
        format!("{TILES}{table}").replace("METRIC", metric)
    };
    let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
    records.extend(runs(INTERRUPT, 1, 500.0, 1.0, 40.0));
    let stars = |metric: &str| {
        let report = report(&text(metric), records.clone());
        let csv = table_csv(&set(&report).tables[0]);
        let mut changes = csv.lines().filter(|line| line.contains("% over"));
        let stars = markdown(&report).matches("+100.0\\*").count();
        (stars, changes.any(|line| line.contains(",true,")))
    };
    assert_eq!(stars("ios_per_joule"), (2, true));
    assert_eq!(stars("iops"), (0, false));
}

#[test]
fn what_two_machines_have_of_one_platform_has_names_of_its_own() {
    let on = |machine: &str, iops| {
        let mut records = runs(POLL, 1, iops, 0.0, 40.0);
        for record in &mut records {
            record.machine = machine.into();
        }
        records
    };
    let records = [on("a box (old)", 1_000.0), on("another", 3_000.0)].concat();
    let report = report(LINES, records);
    let folder = tempfile::tempdir().unwrap();
    write(&report, folder.path()).unwrap();
    let html = page(&report);
    for (machine, iops) in [("a-box--old-", 1_000), ("another", 3_000)] {
        let name = format!("hotstorage22-emulated-{machine}-F1a");
        let csv = fs::read_to_string(folder.path().join(format!("data/{name}.csv"))).unwrap();
        assert!(csv.contains(&format!("F1a,,poll,1,IOPS,{iops},")), "{csv}");
        assert_eq!(html.matches(&format!("id=\"{name}\"")).count(), 1);
        assert!(html.contains(&format!("href=\"#{name}\"")));
    }
}

#[test]
fn an_empty_report_says_so_in_one_sentence() {
    let none = LabReport::new(&[], Vec::new());
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
    // One part has no data, so the whole is not judged.
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
fn a_machine_with_other_sweeps_takes_away_no_data() {
    let text = format!(
        r#"{LINES}
    [[observation]]
    id = "O1"
    text = "Polling is faster."
    shown = ["F1a"]
    rising = [{{ sweep = "main", metric = "iops", along = "completion", order = ["interrupt", "poll"] }}]
    "#
    );
    let other = |machine: &str, sweep: &str, iops: f64| {
        let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
        records.extend(runs(INTERRUPT, 1, iops, 1.0, 40.0));
        for record in &mut records {
            record.machine = machine.into();
            record.sweep = sweep.into();
        }
        records
    };
    // Sets are in the order of the machines' names.
    for (name, sweep, iops, outcome) in [
        ("1 box", "elsewhere", 900.0, ObservationOutcome::Holds),
        ("b box", "elsewhere", 900.0, ObservationOutcome::Holds),
        ("b box", "main", 900.0, ObservationOutcome::Holds),
        ("b box", "main", 1_100.0, ObservationOutcome::Differs),
    ] {
        let records = [other("a box", "main", 900.0), other(name, sweep, iops)].concat();
        let items = PaperItem::all(&report(&text, records));
        assert_eq!(items.len(), 1);
        assert!(items[0].is_judged(), "{name} {sweep}");
        let found: Vec<_> = items[0].found.iter().map(|one| one.outcome).collect();
        assert_eq!(found, [outcome], "{name} {sweep}");
    }
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
    // The sweep is not run in virtual time: the command is that of its platform.
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
fn of_several_platforms_those_with_data_are_shown() {
    let empty = report(
        &LINES.replace("\"main\"", "\"elsewhere\""),
        runs(POLL, 1, 1.0, 0.1, 40.0),
    );
    let item = &PaperItem::all(&empty)[0];
    assert_eq!(item.shown().len(), 1);
    let mut both = item.clone();
    both.found.push(PaperFinding {
        platform: Platform::Twin,
        data: true,
        ..item.found[0].clone()
    });
    let shown: Vec<_> = both.shown().iter().map(|one| one.platform).collect();
    assert_eq!(shown, [Platform::Twin]);
    assert!(papers(&[both]).contains("| twin: **data, no verdict**"));
}
