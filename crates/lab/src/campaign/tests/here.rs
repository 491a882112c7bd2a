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
