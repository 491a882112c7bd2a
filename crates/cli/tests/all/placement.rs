//! NUMA nodes of a run's CPUs, buffers and devices, and the flag `--numa`.

use crate::common::{refused_with, runs};
use std::path::Path;

const READS: &str = "--device emulated:instant,size=1m --completion poll --number_ios 64";

#[test]
fn a_run_says_on_which_nodes_and_pages_it_was() {
    let of = |line: &str| runs(line)[0]["placement"].clone();
    let nodes = Path::new("/sys/devices/system/node/node0").exists();
    let own = of(READS);
    assert_eq!(own["cpu_nodes"].as_array().map(Vec::len), Some(1), "{own}");
    assert_eq!(
        own["memory_nodes"].as_array().map(Vec::len),
        Some(usize::from(nodes)),
        "{own}"
    );
    assert_eq!(
        own["memory_pages"].as_array().map(Vec::len),
        Some(1),
        "{own}"
    );
    // A device in this process has no node.
    assert_eq!(
        own["device_nodes"].as_array().map(Vec::len),
        Some(0),
        "{own}"
    );
    // Small buffers do not use huge pages; for large ones the system decides.
    assert_eq!(own["memory_pages"][0], "ordinary", "{own}");
    if nodes {
        let bound = of(&format!("{READS} --numa 0 --iodepth 8"));
        assert_eq!(bound["memory_nodes"][0], 0, "{bound}");
        assert_eq!(bound["cpu_nodes"][0], 0, "{bound}");
    }
    let modelled = of(&format!("{READS} --twin"));
    assert_eq!(
        modelled["cpu_nodes"].as_array().map(Vec::len),
        Some(0),
        "{modelled}"
    );
}

#[test]
fn nodes_that_are_not_there_are_refused() {
    refused_with(&format!("bench {READS} --numa 1000"), &["--numa", "1000"]);
    refused_with(&format!("bench {READS} --numa x"), &["--numa"]);
    let twin = format!("bench {READS} --twin --numa 0");
    refused_with(&twin, &["--numa", "virtual time"]);
}
