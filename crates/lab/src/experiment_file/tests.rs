use super::*;
use crate::experiment::ExperimentOptions;
use crate::record::Platform;
use crate::sweep::Factor;
use joulio_units::Nanos;

const TEXT: &str = r#"
name = "small"
title = "A small one"
[run]
runtime = "2m"
ramp_time = "10s"
replicates = 10
order = "random"
steady = true
[quick]
runtime = "300ms"
replicates = 3
[twin]
machine = "xeon-e3-1230v5"
device = "emulated:optane-900p"
number_ios = "20k"
quick = { number_ios = 2000 }
[[sweep]]
name = "sizes"
rw = "randread"
bs = ["4k", "32k", 131072]
numjobs = [1, 8]
engine = "psync"
completion = ["interrupt", "poll"]
quick = { bs = ["4k"] }
emulated = { engine = "nvme" }
[[sweep]]
name = "alone"
on = "real"
needs = "a disk"
rw = "randread"
"#;

fn file() -> ExperimentFile {
    ExperimentFile::parse("small", TEXT).unwrap()
}

fn on(platform: Platform, quick: bool) -> OnPlatform {
    OnPlatform {
        platform,
        quick,
        devices: Vec::new(),
        replicates: None,
        base: ExperimentOptions::default(),
    }
}

fn problem(change: (&str, &str)) -> String {
    let text = TEXT.replace(change.0, change.1);
    assert_ne!(text, TEXT, "{}", change.0);
    ExperimentFile::parse("small.toml", &text)
        .unwrap_err()
        .to_string()
}

#[test]
fn the_most_completions_to_take_together_are_a_key() {
    let text = TEXT.replace(
        "ramp_time = \"10s\"",
        "ramp_time = \"10s\"\niodepth_batch_complete_max = 4",
    );
    let file = ExperimentFile::parse("small", &text).unwrap();
    let real = on(Platform::Real, false).layers(&file, &file.sweep[0]);
    let batches = real.unwrap().options.base.workload.batches;
    assert_eq!((batches.complete_min, batches.complete_max), (1, Some(4)));
}

#[test]
fn autonomous_power_state_transitions_are_a_key() {
    let text = TEXT.replace("ramp_time = \"10s\"", "ramp_time = \"10s\"\napst = false");
    let file = ExperimentFile::parse("small", &text).unwrap();
    let real = on(Platform::Real, false).layers(&file, &file.sweep[0]);
    assert_eq!(real.unwrap().options.base.settings.apst, Some(false));
}

#[test]
fn the_later_keys_and_lists_hold() {
    let file = file();
    let sizes = &file.sweep[0];
    let real = on(Platform::Real, false).layers(&file, sizes).unwrap();
    let workload = &real.options.base.workload;
    assert_eq!(workload.runtime, Some(Nanos::from_millis(120_000)));
    assert_eq!(workload.ramp_time, Some(Nanos::from_millis(10_000)));
    assert_eq!((real.options.base.replicates, real.steady), (10, true));
    assert_eq!(real.options.axes.values(Factor::Bs), ["4k", "32k", "128k"]);
    assert!(real.options.axes.values(Factor::Device).is_empty());
    let quick = on(Platform::Real, true).layers(&file, sizes).unwrap();
    let workload = &quick.options.base.workload;
    assert_eq!(workload.runtime, Some(Nanos::from_millis(300)));
    assert_eq!(quick.options.base.replicates, 3);
    assert_eq!(quick.options.axes.values(Factor::Bs), ["4k"]);
    let twin = on(Platform::Twin, true).layers(&file, sizes).unwrap();
    let workload = &twin.options.base.workload;
    assert_eq!((workload.number_ios, workload.runtime), (Some(2000), None));
    assert_eq!(twin.options.base.replicates, 3);
    assert!(!twin.steady);
    let axes = &twin.options.axes;
    assert_eq!(axes.values(Factor::Device), ["emulated:optane-900p"]);
    let emulated = OnPlatform {
        devices: vec!["emulated:instant".into(), "emulated:samsung-980-pro".into()],
        replicates: Some(1),
        ..on(Platform::Emulated, false)
    };
    let emulated = emulated.layers(&file, sizes).unwrap();
    assert_eq!(emulated.options.axes.values(Factor::Engine), ["nvme"]);
    assert_eq!(emulated.options.axes.values(Factor::Device).len(), 2);
    assert_eq!(emulated.options.base.replicates, 1);
}

#[test]
fn a_sweep_that_is_not_for_the_platform_says_what_it_needs() {
    let file = file();
    let refuses = |platform| on(platform, false).refuses(&file.sweep[1]);
    assert_eq!(refuses(Platform::Twin).as_deref(), Some("a disk"));
    assert_eq!(refuses(Platform::Real), None);
    assert_eq!(refuses(Platform::Guest), None);
    assert_eq!(on(Platform::Twin, false).refuses(&file.sweep[0]), None);
}

#[test]
fn a_device_stands_in_where_the_engine_drives_none_of_those_that_are_named() {
    let text = TEXT.replace(
        "[[sweep]]\nname = \"alone\"",
        "[[sweep]]\nname = \"ours\"\nengine = \"nvme\"\nstand_in = \"emulated:instant\"\n[[sweep]]\nname = \"alone\"",
    );
    let file = ExperimentFile::parse("small", &text).unwrap();
    let devices = |sweep: usize, named: &[&str]| {
        let on = OnPlatform {
            devices: named.iter().map(|name| (*name).to_owned()).collect(),
            ..on(Platform::Real, false)
        };
        let layers = on.layers(&file, &file.sweep[sweep]).unwrap();
        layers.options.axes.values(Factor::Device).join(" ")
    };
    assert_eq!(devices(1, &["/dev/x"]), "emulated:instant");
    assert_eq!(
        devices(1, &["/dev/x", "pcie:0000:01:00.0"]),
        "pcie:0000:01:00.0"
    );
    // The other sweeps use the devices that were named.
    assert_eq!(devices(0, &["/dev/x"]), "/dev/x");
    let wrong = text.replace("emulated:instant", "emulated:instant,bytes=1");
    let error = ExperimentFile::parse("small", &wrong)
        .unwrap_err()
        .to_string();
    assert!(error.contains("sweep 'ours': stand_in: "), "{error}");
}

#[test]
fn wrong_files_are_refused_in_a_line_that_says_where() {
    let cases = [
        (
            ("ramp_time", "ramptime"),
            "small.toml: line 6: unknown field `ramptime`",
        ),
        (
            ("numjobs = [1, 8]", "nunjobs = 1"),
            "small.toml: line 22: unknown field `nunjobs`",
        ),
        (
            ("quick = { bs = [\"4k\"] }", "quick = { bz = 4 }"),
            "small.toml: line 25: unknown field `bz`",
        ),
        (
            ("\"32k\"", "\"32x\""),
            "small.toml: sweep 'sizes': bs: '32x' is not a size",
        ),
        (
            ("\"poll\"]", "\"pol\"]"),
            "small.toml: sweep 'sizes': completion: ",
        ),
        (
            ("on = \"real\"", "on = \"here\""),
            "small.toml: sweep 'alone': on: 'here' is not one of real",
        ),
        (
            ("\"alone\"", "\"sizes\""),
            "small.toml: sweep 'sizes': the name is given twice",
        ),
        (
            ("\"alone\"", "\"a b\""),
            "small.toml: sweep 'a b': a sweep's name has",
        ),
        (
            ("title = ", "tite = "),
            "small.toml: line 3: unknown field `tite`",
        ),
        (("name = \"small\"", "nam"), "small.toml: line 2: "),
    ];
    for (change, hint) in cases {
        let said = problem(change);
        assert!(said.starts_with(hint), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
    let said = ExperimentFile::load("hotstorage99")
        .unwrap_err()
        .to_string();
    assert!(said.contains("no experiment 'hotstorage99'"), "{said}");
    let said = ExperimentFile::load("./none.toml").unwrap_err().to_string();
    assert!(said.contains("./none.toml: No such file"), "{said}");
}

#[test]
fn keys_that_make_no_sense_are_named() {
    for (change, hint) in [
        (("\"2m\"", "\"2x\""), "run: runtime: '2x' is not a time"),
        (
            ("replicates = 10", "replicates = 0"),
            "run: replicates: must be at least 1",
        ),
        (("\"20k\"", "\"20q\""), "twin or emulated: number_ios: "),
        (
            ("replicates = 10", "idle = \"10ms\""),
            "run: idle: no meter has a figure of less than 1 s",
        ),
        (
            (
                "replicates = 10",
                "replicates = 10\nmeter = [\"package\", \"redfish=https://bmc/redfish/v1/x\"]",
            ),
            "run: meter: a file names no URL of a BMC",
        ),
        (
            ("[twin]", "[twin]\nmeter = \"none\""),
            "twin: meter: nothing is metered in virtual time",
        ),
    ] {
        let file = ExperimentFile::parse("small", &TEXT.replace(change.0, change.1)).unwrap();
        let layers = on(Platform::Twin, false).layers(&file, &file.sweep[0]);
        let said = layers.unwrap_err().to_string();
        assert!(said.contains(hint), "{said}");
    }
}

#[test]
fn tables_and_figures_refer_to_what_is_there() {
    let figure = "\n[[figure]]\nid = \"F1\"\ntitle = \"\"\nkind = \"lines\"\nsweep = \"SWEEP\"\nx = \"numjobs\"\ny = \"iops\"\nwhere = { WHERE }\n";
    let parse = |sweep: &str, filter: &str| {
        let figure = figure.replace("SWEEP", sweep).replace("WHERE", filter);
        ExperimentFile::parse("small", &format!("{TEXT}{figure}"))
    };
    assert!(parse("sizes", "bs = \"4k\"").is_ok());
    for (sweep, filter, hint) in [
        ("other", "bs = \"4k\"", "figure 'F1': no sweep 'other'"),
        ("sizes", "bz = \"4k\"", "no factor 'bz'"),
        ("sizes", "bs = \"4x\"", "where: bs: "),
        ("sizes", "bs = \"4096\"", "where: bs: write 4k for 4096"),
    ] {
        let said = parse(sweep, filter).unwrap_err().to_string();
        assert!(said.contains(hint), "{said}");
    }
    let axis = figure
        .replace("SWEEP", "sizes")
        .replace("where = { WHERE }", "");
    let axis = axis.replace("x = \"numjobs\"", "x = \"numjbos\"");
    let said = ExperimentFile::parse("small", &format!("{TEXT}{axis}"));
    let said = said.unwrap_err().to_string();
    assert!(said.contains("figure 'F1': no factor 'numjbos'"), "{said}");
}

#[test]
fn every_experiment_that_comes_with_joulio_makes_sense_everywhere() {
    for (name, _) in CATALOGUE {
        let file = ExperimentFile::load(name).unwrap();
        assert_eq!(file.name, *name);
        for platform in [
            Platform::Real,
            Platform::Emulated,
            Platform::Twin,
            Platform::Guest,
        ] {
            for quick in [false, true] {
                for sweep in &file.sweep {
                    let on = on(platform, quick);
                    on.layers(&file, sweep).unwrap();
                }
            }
        }
    }
}

#[test]
fn meters_of_an_experiment_are_those_of_its_real_runs_and_the_flag_is_above_them() {
    let text = TEXT.replace("replicates = 10", "replicates = 10\nmeter = \"package\"");
    let file = ExperimentFile::parse("small", &text).unwrap();
    let meters = |on: OnPlatform| {
        on.layers(&file, &file.sweep[0])
            .unwrap()
            .options
            .base
            .energy
            .meters
    };
    assert_eq!(meters(on(Platform::Real, false)), ["package"]);
    assert!(meters(on(Platform::Twin, false)).is_empty());
    let mut flag = on(Platform::Real, false);
    flag.base.energy.meters = vec!["none".into()];
    assert_eq!(meters(flag), ["none"]);
}
