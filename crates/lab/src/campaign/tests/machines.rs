//! Results of several machines.

use super::here::on_device;
use super::*;
use crate::idle_interval::IdleInterval;
use serde_json::{Value, json};

/// Writes the file of records of a folder that has no run yet, with `change` made to the header of `campaign`.
fn begun(path: &Path, campaign: &Campaign, change: impl FnOnce(&mut Value)) {
    let mut header = serde_json::to_value(campaign.header()).unwrap();
    change(&mut header);
    fs::create_dir(path).unwrap();
    fs::write(path.join("records.jsonl"), format!("{header}\n")).unwrap();
}

#[test]
fn results_of_another_machine_are_not_continued() {
    assert_eq!(campaign().header().machine, None);
    let room = TempDir::new().unwrap();
    let campaign = emulated(room.path(), "", 1);
    for (part, name) in [("kernel", "kernel"), ("host", "host name")] {
        let path = room.path().join(part);
        begun(&path, &campaign, |header| {
            assert!(header["machine"][part].is_string());
            header["machine"][part] = "another".into();
        });
        let ended = campaign.run(&path, Shard::ALL, 1, &Stop::default(), &Silent);
        let error = ended.unwrap_err();
        assert!(error.is_refusal());
        let says = format!("another machine ({name} another, here ");
        assert!(error.to_string().contains(&says), "{error}");
    }
}

#[test]
fn merged_results_are_of_a_machine_if_all_are() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    let campaign = emulated(room.path(), "", 1);
    for name in ["here", "again"] {
        begun(&path(name), &campaign, |_| {});
    }
    begun(&path("there"), &campaign, |header| {
        header["machine"]["host"] = "another".into();
    });
    begun(&path("old"), &campaign, |header| {
        header.as_object_mut().unwrap().remove("machine");
    });
    for (at, (folders, machine)) in [
        (["here", "again", "here"], campaign.header().machine),
        (["here", "there", "again"], None),
        (["there", "here", "again"], None),
        (["old", "here", "again"], None),
        (["here", "again", "old"], None),
    ]
    .into_iter()
    .enumerate()
    {
        let into = path(&format!("merged{at}"));
        merge(&folders.map(path), &into, Existing::Keep).unwrap();
        let merged = ResultsFolder::read(&into).unwrap();
        assert_eq!(merged.header.machine, machine, "{folders:?}");
    }
}

#[test]
fn a_folder_of_two_machines_at_one_point_is_not_compared() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    run(&path("one"), Shard::ALL);
    run(&path("two"), Shard::ALL);
    let file = path("two").join("records.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let of_two = text.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["replicate"] == 2 {
            line["machine"] = "another".into();
        }
        format!("{line}\n")
    });
    fs::write(&file, of_two.collect::<String>()).unwrap();
    for (one, other) in [("one", "two"), ("two", "one")] {
        let error = compare(&path(one), &path(other), Kinds::Alike).unwrap_err();
        assert!(
            error.to_string().contains("(another, xeon-e3-1230v5)"),
            "{error}"
        );
    }
}

/// Writes a folder of the results in `whole` of one repetition, as made on `host`, with an idle interval before it.
fn of_host(path: &Path, whole: &ResultsFolder, host: &str, replicate: u32) {
    let mut part = whole.clone();
    part.records.retain(|one| one.replicate == replicate);
    for record in &mut part.records {
        // This machine may be busy.
        record.result.spoiled.clear();
    }
    let mut header = serde_json::to_value(&part.header).unwrap();
    header["machine"]["host"] = host.into();
    part.header = serde_json::from_value(header).unwrap();
    fs::create_dir(path).unwrap();
    fs::write(path.join("records.jsonl"), part.text().unwrap()).unwrap();
    let idle = IdleInterval {
        sweep: "main".into(),
        after: None,
        before: Some(replicate),
        platform: Platform::Emulated,
        machine: part.records[0].machine.clone(),
        unix_seconds: 1.0,
        busy: None,
        meters: Vec::new(),
        missing: Some(format!("{host} has no meter")),
    };
    ResultsFolder::add_manifest(path, &json!({ "idle": idle })).unwrap();
}

#[test]
fn hosts_with_the_same_cpu_are_several_machines() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    let sweep = "[[sweep]]\nname = \"main\"\nrw = \"randread\"\nengine = \"nvme\"\ncompletion = \"poll\"\n\
                 run = { replicates = 3 }\n";
    let campaign = on_device("emulated:instant,size=1M", sweep);
    let run = |name: &str| campaign.run(&path(name), Shard::ALL, 1, &Stop::default(), &Silent);
    run("whole").unwrap();
    let whole = ResultsFolder::read(&path("whole")).unwrap();
    for (host, replicate) in [("a", 1), ("b", 2), ("c", 3)] {
        of_host(&path(host), &whole, host, replicate);
    }
    let all = ["a", "b", "c"].map(path);
    merge(&all, &path("merged"), Existing::Keep).unwrap();
    merge(&all[..2], &path("two"), Existing::Keep).unwrap();
    // Results that were merged before have the same names.
    let rest = [path("c"), path("two")];
    merge(&rest, &path("again"), Existing::Keep).unwrap();
    for file in ResultsFolder::FILES {
        let bytes = |name: &str| fs::read(path(name).join(file)).unwrap();
        assert_eq!(bytes("merged"), bytes("again"), "{file}");
    }
    for folders in [&all[..], &[path("merged")], &rest] {
        let report = report(folders, None).unwrap();
        let sets = &report.experiments[0].sets;
        assert_eq!(sets.len(), 3, "{folders:?}");
        for (set, host) in sets.iter().zip(["a", "b", "c"]) {
            let names = format!(" ({host}, kernel ");
            assert!(set.machine.contains(&names), "{}", set.machine);
            let missing = set.idle.missing.as_deref();
            assert_eq!(missing, Some(format!("{host} has no meter").as_str()));
        }
    }
    let error = compare(&path("merged"), &path("merged"), Kinds::Alike).unwrap_err();
    assert!(matches!(error, CompareError::Machines { .. }), "{error}");
    let error = run("merged").unwrap_err();
    assert!(error.is_refusal(), "{error}");
    // The results of one machine stay as they are.
    merge(&[path("a"), path("a")], &path("one"), Existing::Keep).unwrap();
    let records = ResultsFolder::read(&path("one")).unwrap().records;
    assert_eq!(records[0].machine, whole.records[0].machine);
}
