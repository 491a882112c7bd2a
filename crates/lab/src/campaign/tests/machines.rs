//! Results of several machines.

use super::*;
use serde_json::Value;

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
