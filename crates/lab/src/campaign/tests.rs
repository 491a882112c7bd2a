mod here;
mod machines;

use super::*;
use crate::experiment::Silent;
use crate::experiment::{ExperimentOptions, Observer};
use crate::output_file::Existing;
use joulio_workload::{Member, Stop};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const TEXT: &str = r#"
name = "small"
title = "A small one"
[run]
runtime = "1s"
replicates = 3
order = "random"
[twin]
machine = "xeon-e3-1230v5"
device = "emulated:optane-900p"
number_ios = 300
[[sweep]]
name = "sizes"
rw = "randread"
bs = ["4k", "32k"]
engine = "psync"
completion = ["interrupt", "poll"]
[[sweep]]
name = "more"
rw = ["randread", "randwrite"]
engine = ["nvme"]
completion = ["poll", "sqpoll"]
[[sweep]]
name = "elsewhere"
on = "real"
needs = "a disk"
[[figure]]
id = "F1"
title = "One"
kind = "lines"
sweep = "more"
x = "bs"
y = "iops"
[[figure]]
id = "F2"
title = "Two"
kind = "lines"
sweep = "elsewhere"
x = "bs"
y = "iops"
"#;

fn campaign() -> Campaign {
    let file = ExperimentFile::parse("small", TEXT).unwrap();
    let on = OnPlatform {
        platform: Platform::Twin,
        quick: false,
        devices: Vec::new(),
        replicates: None,
        base: ExperimentOptions::default(),
    };
    Campaign::new(file, on).unwrap()
}

fn run(path: &std::path::Path, shard: Shard) -> CampaignEnd {
    campaign()
        .run(path, shard, 2, &Stop::default(), &Silent)
        .unwrap()
}

#[test]
fn a_link_in_the_place_of_the_manifests_is_not_followed() {
    let folder = TempDir::new().unwrap();
    let theirs = folder.path().join("theirs");
    fs::write(&theirs, "").unwrap();
    std::os::unix::fs::symlink(&theirs, folder.path().join("manifests.jsonl")).unwrap();
    let manifest = serde_json::json!({});
    assert!(ResultsFolder::add_manifest(folder.path(), &manifest).is_err());
    assert_eq!(fs::read(&theirs).unwrap(), b"");
}

#[test]
fn a_manifest_that_was_cut_off_costs_no_other() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Shard::ALL);
    let file = folder.path().join("manifests.jsonl");
    let manifest = |number: u32| serde_json::json!({ "sweep": number });
    let add = |number: u32| ResultsFolder::add_manifest(folder.path(), &manifest(number)).unwrap();
    add(1);
    add(2);
    let whole = fs::read(&file).unwrap();
    // Also within a character.
    for end in [&b""[..], b"\xc3"] {
        fs::write(&file, [&whole[..whole.len() - 4], end].concat()).unwrap();
        add(3);
        let read = ResultsFolder::read(folder.path()).unwrap();
        assert_eq!(read.manifests, [manifest(1), manifest(3)]);
    }
}

#[test]
fn what_cannot_be_had_is_recorded_with_its_reason() {
    let folder = TempDir::new().unwrap();
    let end = run(folder.path(), Shard::ALL);
    // 2 sizes x 2 modes, and 2 directions x 2 modes, with three repetitions each.
    assert_eq!((end.all, end.done), (24, 24));
    assert_eq!(end.with_figures, 18);
    assert_eq!(end.unavailable.len(), 1);
    assert!(
        end.unavailable[0].0.contains("not modelled"),
        "{:?}",
        end.unavailable
    );
    assert_eq!(end.unavailable[0].1, 6);
    assert_eq!(end.trouble(), None);
    let read = ResultsFolder::read(folder.path()).unwrap();
    assert_eq!(read.records.len(), 24);
    assert_eq!(read.header, campaign().header());
    // No run is left to do.
    assert_eq!(run(folder.path(), Shard::ALL).done, 0);
}

#[test]
fn shards_merge_in_any_order_to_the_same_bytes() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    let shards: Vec<PathBuf> = (1..=3).map(|n| path(&n.to_string())).collect();
    for (number, folder) in shards.iter().enumerate() {
        let shard = format!("{}/3", number + 1).parse().unwrap();
        assert_eq!(run(folder, shard).all, 8);
    }
    run(&path("whole"), Shard::ALL);
    let orders = [[0, 1, 2], [2, 0, 1], [1, 2, 0]];
    let mut texts = Vec::new();
    for (at, order) in orders.iter().enumerate() {
        let into = path(&format!("merged{at}"));
        let folders: Vec<_> = order.iter().map(|n| shards[*n].clone()).collect();
        assert_eq!(merge(&folders, &into, Existing::Keep).unwrap(), 24);
        texts.push(fs::read(into.join("records.jsonl")).unwrap());
    }
    assert!(texts.iter().all(|text| *text == texts[0]));
    // The shards' merged results equal those of the whole campaign, merged with itself.
    let whole = [path("whole"), path("whole")];
    merge(&whole, &path("once"), Existing::Keep).unwrap();
    assert_eq!(
        fs::read(path("once").join("records.jsonl")).unwrap(),
        texts[0]
    );
}

#[test]
fn results_of_another_campaign_are_not_merged() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    run(&path("one"), Shard::ALL);
    let other = TEXT.replace("number_ios = 300", "number_ios = 400");
    let mut campaign = campaign();
    campaign = Campaign::new(ExperimentFile::parse("small", &other).unwrap(), campaign.on).unwrap();
    campaign
        .run(&path("two"), Shard::ALL, 1, &Stop::default(), &Silent)
        .unwrap();
    let error = merge(&[path("one"), path("two")], &path("all"), Existing::Keep).unwrap_err();
    assert!(
        error.to_string().contains("the experiment's file differs"),
        "{error}"
    );
    assert!(!path("all").exists());
    let error = campaign.run(&path("one"), Shard::ALL, 1, &Stop::default(), &Silent);
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("results of another experiment")
    );
    let error = merge(&[path("none")], &path("all"), Existing::Keep).unwrap_err();
    assert!(error.to_string().contains("no results"), "{error}");
}

#[test]
fn results_are_those_of_the_profiles_that_their_files_had() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    let file = path("mine.toml");
    let text = include_str!("../../../../profiles/devices/optane-900p.toml");
    let (first, quicker) = ("us = { value = 7.0,", "us = { value = 6.0,");
    assert!(text.contains(first));
    fs::write(&file, text).unwrap();
    let run = |folder: &str, devices: &[&str]| {
        let mut on = campaign().on;
        on.devices = devices.iter().map(ToString::to_string).collect();
        let campaign = Campaign::new(ExperimentFile::parse("small", TEXT).unwrap(), on).unwrap();
        let end = campaign.run(&path(folder), Shard::ALL, 1, &Stop::default(), &Silent);
        end.map(|end| end.done).map_err(|why| why.to_string())
    };
    let mine = format!("emulated:{}", file.display());
    let built_in = "emulated:optane-900p";
    assert_eq!(run("one", &[&mine]), Ok(24));
    assert_eq!(run("one", &[&mine]), Ok(0));
    // The devices are a list; a device that is built in is always the same.
    assert_eq!(run("one", &[&mine, built_in]), Ok(24));
    assert_eq!(run("one", &[built_in]), Ok(0));
    fs::write(&file, text.replace(first, quicker)).unwrap();
    let error = run("one", &[&mine]).unwrap_err();
    assert!(error.contains("results of another experiment"), "{error}");
    assert_eq!(run("two", &[&mine]), Ok(24));
    let error = merge(&[path("one"), path("two")], &path("all"), Existing::Keep).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("a profile behind one name differs"),
        "{error}"
    );
}

#[test]
fn a_plan_loses_no_data_where_it_may() {
    let room = TempDir::new().unwrap();
    let disk = room.path().join("disk.img");
    fs::write(&disk, vec![7; 1 << 20]).unwrap();
    let mut on = OnPlatform {
        platform: Platform::Emulated,
        devices: vec![format!("emulated:instant,file={}", disk.display())],
        ..campaign().on
    };
    on.base.targets.allow_write = true;
    let text = "name = \"all\"\ntitle = \"All\"\n[run]\nnumber_ios = 9\n[[sweep]]\nname = \"all\"\n\
                engine = \"nvme\"\ncompletion = \"poll\"\nrw = [\"read\", \"write\", \"randread\", \"randwrite\", \
                \"rw\", \"randrw\", \"trim\", \"randtrim\", \"trimwrite\", \"randtrimwrite\"]\n";
    let campaign = Campaign::new(ExperimentFile::parse("all", text).unwrap(), on).unwrap();
    let plan = campaign.plan(Shard::ALL, &Stop::default());
    assert_eq!(plan.sweeps[0].points, 10);
    assert_eq!(plan.sweeps[0].unavailable, []);
    assert!(fs::read(&disk).unwrap() == vec![7; 1 << 20]);
}

#[test]
fn a_merge_that_is_refused_writes_nothing() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    run(&path("one"), Shard::ALL);
    for there in ["records.jsonl", "manifests.jsonl"] {
        let into = path(&format!("into {there}"));
        fs::create_dir(&into).unwrap();
        fs::write(into.join(there), "theirs").unwrap();
        let error = merge(&[path("one")], &into, Existing::Keep).unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
        assert_eq!(fs::read(into.join(there)).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
    }
}

#[test]
fn a_record_that_was_cut_off_is_done_again() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), Shard::ALL);
    let path = folder.path().join("records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let before = ResultsFolder::read(folder.path()).unwrap().records;
    for cut in [text.len() - 1, text.len() - 40, text.len() / 2] {
        fs::write(&path, &text.as_bytes()[..cut]).unwrap();
        assert!(run(folder.path(), Shard::ALL).done > 0);
        assert_eq!(ResultsFolder::read(folder.path()).unwrap().records, before);
    }
    // Within a character.
    fs::write(&path, [text.as_bytes(), b"\"\xc3"].concat()).unwrap();
    assert_eq!(ResultsFolder::read(folder.path()).unwrap().records, before);
    assert_eq!(run(folder.path(), Shard::ALL).done, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn results_are_compared_point_by_point() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    run(&path("one"), Shard::ALL);
    let mut faster = campaign();
    let text = TEXT.replace("xeon-e3-1230v5", "xeon-6230");
    faster = Campaign::new(ExperimentFile::parse("small", &text).unwrap(), faster.on).unwrap();
    faster
        .run(&path("two"), Shard::ALL, 1, &Stop::default(), &Silent)
        .unwrap();
    let same = compare(&path("one"), &path("one"), Kinds::Alike).unwrap();
    assert!(same.notes.is_empty() && same.alone == 0);
    assert!(
        same.points
            .iter()
            .all(|point| !point.differs() && point.percent == 0.0)
    );
    let compared = compare(&path("one"), &path("two"), Kinds::Alike).unwrap();
    let notes = [
        "machine: xeon-e3-1230v5 and xeon-6230",
        "the experiment's file is not the same",
    ];
    assert_eq!(compared.notes, notes);
    let latency = compared
        .points
        .iter()
        .filter(|one| one.metric.to_string() == "latency_us");
    assert!(latency.clone().count() == 6 && latency.clone().any(ComparedPoint::differs));
    // Energy at different boundaries or from different meters is not compared; energy of two models is.
    assert!(
        compared
            .points
            .iter()
            .any(|one| one.metric.to_string() == "ios_per_joule")
    );
}

#[test]
fn joules_of_unlike_meters_are_not_compared_and_unlike_requests_are_noted() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    run(&path("one"), Shard::ALL);
    let whole = ResultsFolder::read(&path("one")).unwrap();
    let by = |name: &str, meter: &str, model: &str| {
        let mut folder = whole.clone();
        for record in &mut folder.records {
            let counts = record.result.counts.iter_mut();
            for figure in counts.flat_map(|counts| &mut counts.energy) {
                (figure.modelled, figure.band_joules) = (false, None);
                figure.source = meter.into();
            }
        }
        fs::create_dir(path(name)).unwrap();
        let records = ResultsFolder::records_path(&path(name));
        fs::write(records, folder.text().unwrap()).unwrap();
        let manifest = serde_json::json!({ "energy": { "machine_profile": model } });
        let session = serde_json::json!({ "manifest": manifest });
        ResultsFolder::add_manifest(&path(name), &session).unwrap();
    };
    by("plug", "plug", "xeon-6230");
    by("again", "plug", "xeon-6230");
    by("bmc", "bmc", "xeon-8558");
    let compared = |other: &str| compare(&path("plug"), &path(other), Kinds::Alike).unwrap();
    let joules = |other: &str| {
        let points = compared(other).points.into_iter();
        points.filter(|one| one.metric.to_string() == "ios_per_joule")
    };
    assert!(joules("again").count() > 0 && compared("again").notes.is_empty());
    assert_eq!(joules("bmc").count(), 0);
    let notes = compared("bmc").notes;
    assert_eq!(notes, ["machine of the model: xeon-6230 and xeon-8558"]);
    let mut on = campaign().on;
    on.base.targets.allow_write = true;
    let writing = Campaign::new(ExperimentFile::parse("small", TEXT).unwrap(), on).unwrap();
    let ended = writing.run(&path("two"), Shard::ALL, 1, &Stop::default(), &Silent);
    ended.unwrap();
    let compared = compare(&path("one"), &path("two"), Kinds::Alike).unwrap();
    assert_eq!(compared.notes.len(), 1, "{:?}", compared.notes);
    assert!(compared.notes[0].starts_with("the options are not the same"));
}

#[test]
fn devices_are_compared_with_themselves_and_with_another_where_each_has_one() {
    let room = TempDir::new().unwrap();
    let on = |name: &str, devices: &[&str]| -> PathBuf {
        let mut on = campaign().on;
        on.devices = devices.iter().map(ToString::to_string).collect();
        let file = ExperimentFile::parse("small", TEXT).unwrap();
        let path = room.path().join(name);
        let campaign = Campaign::new(file, on).unwrap();
        campaign
            .run(&path, Shard::ALL, 1, &Stop::default(), &Silent)
            .unwrap();
        path
    };
    let (optane, ssd) = ("emulated:optane-900p", "emulated:samsung-980-pro");
    let (one, both) = (on("one", &[optane]), on("both", &[optane, ssd]));
    // The runs of the device that both have are compared; those of the other device are counted as alone.
    let compared = compare(&one, &both, Kinds::Alike).unwrap();
    assert!(compared.points.iter().all(|point| point.percent == 0.0));
    assert_eq!(compared.alone, 6);
    let other = on("other", &[ssd]);
    let compared = compare(&one, &other, Kinds::Alike).unwrap();
    assert!(compared.points.iter().any(ComparedPoint::differs));
    assert_eq!(compared.alone, 0);
    let third = on("third", &["emulated:optane-p5800x"]);
    let nothing = compare(&both, &third, Kinds::Alike);
    assert!(matches!(nothing, Err(CompareError::Nothing { .. })));
}

#[test]
fn a_plan_says_what_is_unavailable_and_why() {
    let plan = campaign().plan(Shard::ALL, &Stop::default());
    let runs: Vec<_> = plan
        .sweeps
        .iter()
        .map(|one| (one.name.as_str(), one.points, one.runs))
        .collect();
    assert_eq!(
        runs,
        [("sizes", 4, 12), ("more", 4, 12), ("elsewhere", 0, 0)]
    );
    assert!(plan.sweeps[0].unavailable.is_empty());
    let lacking = &plan.sweeps[1].unavailable[0];
    assert_eq!(
        (lacking.what.as_str(), lacking.points),
        ("completion sqpoll", 2)
    );
    let items: Vec<_> = plan
        .items
        .iter()
        .map(|one| (one.available, one.points))
        .collect();
    assert_eq!(items, [(2, 4), (0, 0)]);
    assert_eq!(plan.items[1].why.as_deref(), Some("a disk"));
    let third = campaign().plan("1/3".parse().unwrap(), &Stop::default());
    assert_eq!(third.sweeps.iter().map(|one| one.runs).sum::<usize>(), 8);
}

/// Observer that removes the meter's counter after the first run.
struct Dying {
    counter: PathBuf,
}

impl Observer for Dying {
    fn planned(&self, over: usize, _: usize) {
        if over == 1 {
            fs::remove_file(&self.counter).unwrap();
        }
    }

    fn begin(&self, _: &[Member]) {}
    fn progress(&self, _: joulio_workload::RunProgress) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}

impl CampaignObserver for Dying {}

/// Creates a file tree with a meter of the package in `room`; returns the file of its counter.
fn metered(room: &Path) -> PathBuf {
    let put = |path: &str, text: &str| {
        let path = room.join("tree").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    put("proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    let zone = "sys/class/powercap/intel-rapl:0";
    put(&format!("{zone}/name"), "package-0\n");
    put(&format!("{zone}/max_energy_range_uj"), "262143328850\n");
    put(&format!("{zone}/energy_uj"), "1000000\n")
}

/// Returns a campaign of two points on an emulated device, with additional `keys`, whose meters are those of the tree
/// in `room`.
fn emulated(room: &Path, keys: &str, replicates: u32) -> Campaign {
    let mut base = ExperimentOptions::default();
    base.energy.root = Some(room.join("tree"));
    let text = TEXT.replace(
        "runtime = \"1s\"",
        &format!("runtime = \"1200ms\"\nramp_time = \"0\"\n{keys}"),
    );
    let text = text.replace("engine = \"psync\"", "engine = \"nvme\"\non = \"emulated\"");
    let text = text.replace("bs = [\"4k\", \"32k\"]", "bs = \"4k\"");
    let text = text.replace("engine = [\"nvme\"]", "engine = [\"nvme\"]\non = \"twin\"");
    let on = OnPlatform {
        platform: Platform::Emulated,
        quick: false,
        devices: vec!["emulated:instant,size=1M".into()],
        replicates: Some(replicates),
        base,
    };
    Campaign::new(ExperimentFile::parse("small", &text).unwrap(), on).unwrap()
}

#[test]
fn the_idle_machine_is_measured_around_each_repetition() {
    if !crate::thorough() {
        return;
    }
    let room = TempDir::new().unwrap();
    metered(room.path());
    let campaign = emulated(room.path(), "idle = \"1s\"", 2);
    let path = room.path().join("out");
    let end = campaign.run(&path, Shard::ALL, 1, &Stop::default(), &Silent);
    assert_eq!(end.unwrap().with_figures, 4);
    let folder = ResultsFolder::read(&path).unwrap();
    let around = folder.idle().into_iter().map(|one| (one.after, one.before));
    let blocks = [(None, Some(1)), (Some(1), Some(2)), (Some(2), None)];
    assert_eq!(around.collect::<Vec<_>>(), blocks);
    for interval in folder.idle() {
        assert_eq!(interval.missing, None);
        assert_eq!(interval.meters[0].meter, "powercap:package-0");
        assert!(interval.meters[0].seconds >= 1.0);
    }
    for record in &folder.records {
        // The tree's counter never changes.
        assert_eq!(record.idle_watts["powercap:package-0"], 0.0);
        let energy = &record.result.counts.as_ref().unwrap().energy;
        assert!(
            energy
                .iter()
                .any(|figure| !figure.modelled && figure.idle_subtracted)
        );
    }
    let shown = report(std::slice::from_ref(&path), None).unwrap();
    let idle = &shown.experiments[0].sets[0].idle;
    assert_eq!((idle.meters.len(), idle.meters[0].intervals), (1, 3));
    let sentences = idle.sentences().join(" ");
    assert!(
        sentences.contains("0 W by powercap:package-0"),
        "{sentences}"
    );
    // No run is left to do, and nothing is measured again.
    let end = campaign.run(&path, Shard::ALL, 1, &Stop::default(), &Silent);
    assert_eq!(end.unwrap().done, 0);
    assert_eq!(ResultsFolder::read(&path).unwrap().idle().len(), 3);
}

#[test]
fn without_a_meter_and_in_virtual_time_the_report_says_so() {
    let room = TempDir::new().unwrap();
    metered(room.path());
    let campaign = emulated(room.path(), "idle = \"1h\"\nmeter = \"none\"", 1);
    let path = room.path().join("out");
    let end = campaign.run(&path, Shard::ALL, 1, &Stop::default(), &Silent);
    assert_eq!(end.unwrap().with_figures, 2);
    let said = |path: &Path| {
        let report = report(&[path.into()], None).unwrap();
        report.experiments[0].sets[0].idle.sentences()
    };
    assert_eq!(
        said(&path),
        [
            "Idle machine: not measured: no meter of this machine can be read: joulio power says why."
        ]
    );
    assert!(
        ResultsFolder::read(&path).unwrap().records[0]
            .idle_watts
            .is_empty()
    );
    let twin = room.path().join("twin");
    run(&twin, Shard::ALL);
    let told = said(&twin);
    assert_eq!(
        told,
        ["Idle machine: not measured: in virtual time nothing is measured."]
    );
}

#[test]
fn a_meter_that_dies_half_way_is_named_and_the_runs_go_on() {
    let room = TempDir::new().unwrap();
    let counter = metered(room.path());
    let campaign = emulated(room.path(), "", 1);
    let dying = Dying { counter };
    let path = room.path().join("out");
    let end = campaign
        .run(&path, Shard::ALL, 1, &Stop::default(), &dying)
        .unwrap();
    assert_eq!((end.all, end.with_figures), (2, 2));
    let records = ResultsFolder::read(&path).unwrap().records;
    let metered = |record: &&crate::record::RunRecord| {
        let energy = &record.result.counts.as_ref().unwrap().energy;
        energy.iter().any(|figure| !figure.modelled)
    };
    let unmetered = records
        .iter()
        .filter_map(|one| Some(&one.result.counts.as_ref()?.unmetered));
    let unmetered: Vec<_> = unmetered.collect();
    assert_eq!(records.iter().filter(metered).count(), 1, "{unmetered:?}");
    // The other runs report which meter has no figure.
    let lacking = end.unmetered.iter().map(|(_, runs)| *runs);
    assert_eq!(lacking.collect::<Vec<_>>(), [1]);
    let trouble = end.trouble().unwrap();
    assert!(
        trouble.contains("1 run(s) have no figure of powercap:package-0"),
        "{trouble}"
    );
}

#[test]
fn a_shard_is_a_part_of_a_whole() {
    for text in ["1/1", "3/16"] {
        assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
    }
    for text in ["", "0/3", "4/3", "1", "1/0", "a/b", "1/3/5"] {
        assert!(
            text.parse::<Shard>().unwrap_err().contains("3/16"),
            "{text}"
        );
    }
}

#[test]
fn a_survey_is_of_this_machine_unless_a_tree_is_named() {
    // A tree, also the one at /, has neither perf events nor a BMC.
    assert_eq!(campaign().survey_request().root, None);
    let room = TempDir::new().unwrap();
    let tree = emulated(room.path(), "", 1).survey_request().root;
    assert_eq!(tree, Some(room.path().join("tree")));
}

#[test]
fn the_idle_machine_has_meters_although_devices_meters_were_named() {
    let room = TempDir::new().unwrap();
    metered(room.path());
    for (words, there) in [
        ("package,nvme", true),
        ("package,device,nvme:/dev/nvme0", true),
        ("nvme", false),
    ] {
        let energy = crate::experiment::EnergyOptions {
            meters: words.split(',').map(String::from).collect(),
            root: Some(room.path().join("tree")),
            ..Default::default()
        };
        let second = joulio_units::Nanos::from_millis(1_000);
        let probe = crate::idle_interval::IdleProbe::new(second, &energy);
        assert_eq!(probe.has_meter(), there, "{words}");
    }
}
