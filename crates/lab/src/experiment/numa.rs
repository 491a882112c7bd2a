//! NUMA nodes of this machine.

use super::cpus::{allowed_cpus, wrong};
use joulio_units::parse_cpus;
use joulio_workload::JobError;
use std::fs;
use std::path::Path;

const FLAG: &str = "--numa";

/// Returns the CPUs of `node` that this process may use, at least one.
pub(super) fn cpus(node: u32) -> Result<Vec<usize>, JobError> {
    let allowed = allowed_cpus(FLAG)?;
    let mut cpus = of_node(Path::new("/"), node)?;
    cpus.retain(|&cpu| allowed.is_set(cpu));
    if cpus.is_empty() {
        let problem = format!("this process may use no CPU of node {node}: choose another node");
        return Err(wrong(FLAG, &problem));
    }
    Ok(cpus)
}

/// Returns the CPUs of `node` (Documentation/ABI/stable/sysfs-devices-node).
fn of_node(root: &Path, node: u32) -> Result<Vec<usize>, JobError> {
    let nodes = root.join("sys/devices/system/node");
    let list = fs::read_to_string(nodes.join(format!("node{node}/cpulist")));
    match list {
        // A node with only memory has no CPUs.
        Ok(list) => {
            let cpus = parse_cpus(list.trim()).unwrap_or_default();
            Ok(cpus.into_iter().map(|cpu| cpu as usize).collect())
        }
        Err(_) => {
            let online = fs::read_to_string(nodes.join("online")).unwrap_or_default();
            let has = match online.trim() {
                "" => "this system has no NUMA nodes".into(),
                online => format!("this machine has {online}"),
            };
            Err(wrong(FLAG, &format!("no NUMA node {node}: {has}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_its_cpus_and_another_is_answered_with_those_there_are() {
        let root = tempfile::tempdir().unwrap();
        let problem = |root: &Path, node| of_node(root, node).unwrap_err().problem;
        assert!(problem(root.path(), 0).contains("no NUMA nodes"));
        let nodes = root.path().join("sys/devices/system/node");
        fs::create_dir_all(nodes.join("node1")).unwrap();
        fs::write(nodes.join("online"), "0-1\n").unwrap();
        fs::write(nodes.join("node1/cpulist"), "2,4-5\n").unwrap();
        assert_eq!(of_node(root.path(), 1).unwrap(), [2, 4, 5]);
        assert_eq!(
            problem(root.path(), 7),
            "no NUMA node 7: this machine has 0-1"
        );
        // A node with only memory.
        fs::create_dir_all(nodes.join("node0")).unwrap();
        fs::write(nodes.join("node0/cpulist"), "\n").unwrap();
        assert_eq!(of_node(root.path(), 0).unwrap(), [0; 0]);
    }
}
