//! Campaigns on devices of this machine.

use super::*;
use crate::record::RunRecord;

/// Returns the experiment of `sweeps`, without meters, on the emulated `device`.
pub(super) fn on_device(device: &str, sweeps: &str) -> Campaign {
    let mut on = OnPlatform {
        platform: Platform::Emulated,
        devices: vec![device.into()],
        ..campaign().on
    };
    on.base.energy.meters = vec!["none".into()];
    let text = format!("name = \"here\"\ntitle = \"Here\"\n[run]\nnumber_ios = 9\n{sweeps}");
    Campaign::new(ExperimentFile::parse("here", &text).unwrap(), on).unwrap()
}

#[test]
fn the_coalescing_of_a_point_is_set_and_its_clock_is_unavailable() {
    let sweeps = r#"
[[sweep]]
name = "coalesced"
rw = "randread"
engine = "nvme"
completion = "interrupt"
coalescing = ["off", "8,100"]
[[sweep]]
name = "clocked"
rw = "randread"
engine = "nvme"
completion = "interrupt"
frequency = "2GHz"
"#;
    let campaign = on_device("emulated:instant,size=1M", sweeps);
    let plan = campaign.plan(Shard::ALL, &Stop::default());
    assert_eq!(plan.sweeps[0].unavailable, []);
    let clocked = &plan.sweeps[1].unavailable[0];
    assert!(clocked.why.contains("in virtual time only"), "{clocked:?}");
    let folder = TempDir::new().unwrap();
    let end = campaign.run(folder.path(), Shard::ALL, 1, &Stop::default(), &Silent);
    let end = end.unwrap();
    assert_eq!((end.all, end.with_figures), (3, 2), "{end:?}");
    assert_eq!(end.unavailable, [(clocked.why.clone(), 1)]);
    let records = ResultsFolder::read(folder.path()).unwrap().records;
    let set = |value: &str| {
        let of_point = |record: &&RunRecord| {
            let there = record.point.get("coalescing");
            there.is_some_and(|there| there == value)
        };
        let record = records.iter().find(of_point).unwrap();
        record.result.settings["coalescing"].clone()
    };
    assert_eq!(set("off"), "off");
    assert_eq!(set("8,100"), "8 completions or 100 us");
    let emulated = |record: &RunRecord| record.platform == Platform::Emulated;
    assert!(records.iter().all(emulated));
}

#[test]
fn results_are_not_continued_on_another_drive_with_the_same_name() {
    let room = TempDir::new().unwrap();
    let disk = room.path().join("disk.img");
    let drive_of = |bytes: usize| fs::write(&disk, vec![0; bytes]).unwrap();
    drive_of(1 << 20);
    let device = format!("emulated:instant,file={}", disk.display());
    let sweep =
        "[[sweep]]\nname = \"main\"\nrw = \"randread\"\nengine = \"nvme\"\ncompletion = \"poll\"\n";
    let campaign = on_device(&device, sweep);
    let results = room.path().join("out");
    let run = || campaign.run(&results, Shard::ALL, 1, &Stop::default(), &Silent);
    // The last record is cut off, so that its run is left to do.
    let cut = || {
        let records = ResultsFolder::records_path(&results);
        let text = fs::read_to_string(&records).unwrap();
        fs::write(&records, &text[..text.len() - 9]).unwrap();
    };
    for _ in 0..2 {
        assert_eq!(run().unwrap().done, 1);
        cut();
    }
    drive_of(2 << 20);
    let error = run().unwrap_err();
    assert!(error.is_refusal(), "{error}");
    let says = format!("{device} was another drive in its runs (");
    assert!(error.to_string().contains(&says), "{error}");
    drive_of(1 << 20);
    assert_eq!(run().unwrap().done, 1);
    // Names of drives are not passed on.
    let whole = ResultsFolder::read(&results).unwrap();
    assert!(whole.manifests.iter().any(|one| one["drives"].is_object()));
    let text = fs::read_to_string(whole.write_whole().unwrap()).unwrap();
    assert!(!text.contains("\"drives\""), "{text}");
}

#[test]
fn a_plan_says_what_the_check_of_a_run_refuses() {
    let room = TempDir::new().unwrap();
    let disk = room.path().join("disk.img");
    fs::write(&disk, vec![7; 1 << 20]).unwrap();
    let planned = |device: &str, sweep: &str| {
        let sweep = format!("[[sweep]]\nname = \"main\"\nengine = \"nvme\"\n{sweep}");
        let campaign = on_device(device, &sweep);
        let plan = campaign.plan(Shard::ALL, &Stop::default());
        plan.sweeps[0].unavailable.clone()
    };
    let device = format!("emulated:instant,file={}", disk.display());
    let patterns = "rw = [\"randread\", \"randwrite\", \"trim\"]\ncompletion = \"poll\"\n";
    let refused = planned(&device, patterns);
    assert_eq!(refused.len(), 2, "{refused:?}");
    for (one, rw) in refused.iter().zip(["randwrite", "trim"]) {
        assert_eq!(one.what, format!("rw {rw}"));
        assert!(one.why.contains("add --allow-write"), "{one:?}");
    }
    let device = "emulated:instant,size=1M";
    for (list, what) in [
        ("queue_priority = [\"none\", \"low\"]", "queue_priority low"),
        ("queue_priority = [\"low\", \"none\"]", "queue_priority low"),
        ("iodepth = [1, 5000]", "iodepth 5000"),
    ] {
        let sweep = format!("rw = \"randread\"\ncompletion = \"poll\"\n{list}\n");
        let refused = planned(device, &sweep);
        let points = refused.iter().map(|one| (one.what.as_str(), one.points));
        assert_eq!(points.collect::<Vec<_>>(), [(what, 1)], "{refused:?}");
    }
}

#[test]
fn what_was_unavailable_is_done_once_it_is_available() {
    let room = TempDir::new().unwrap();
    let disk = room.path().join("disk.img");
    fs::write(&disk, vec![7; 1 << 20]).unwrap();
    let device = format!("emulated:instant,size=1M,file={}", disk.display());
    let sweep = "[[sweep]]\nname = \"main\"\nrw = [\"randread\", \"randwrite\"]\nengine = \"nvme\"\n\
                 completion = \"poll\"\n";
    let campaign = on_device(&device, sweep);
    let results = room.path().join("out");
    let run = || {
        let end = campaign.run(&results, Shard::ALL, 1, &Stop::default(), &Silent);
        let end = end.unwrap();
        (end.done, end.with_figures, end.unavailable.len())
    };
    assert_eq!(run(), (2, 1, 1));
    // Its data may still not be lost.
    assert_eq!(run(), (0, 1, 1));
    fs::remove_file(&disk).unwrap();
    assert_eq!(run(), (1, 2, 0));
    assert_eq!(run(), (0, 2, 0));
    let records = ResultsFolder::read(&results).unwrap().records;
    assert!(records.iter().all(|record| !record.is_unavailable()));
}
