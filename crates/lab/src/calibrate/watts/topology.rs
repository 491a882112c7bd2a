//! The cores of the machine, and those that a calibration of watts uses.

use joulio_units::parse_cpus;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Cores and packages of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// CPUs to use: one of each core, all in one package.
    pub used: Vec<usize>,
    /// Number of cores.
    pub cores: usize,
    /// Number of packages.
    pub packages: usize,
}

impl Topology {
    /// Reads the cores of the system whose file tree begins at `root`; only CPUs in `allowed` are used. A CPU without
    /// topology files counts as a core of its own.
    pub fn read(root: &Path, allowed: &[usize]) -> Topology {
        let folder = root.join("sys/devices/system/cpu");
        let text = |cpu: usize, file: &str| {
            let text = fs::read_to_string(folder.join(format!("cpu{cpu}/{file}"))).ok()?;
            Some(text.trim().to_owned())
        };
        let online = fs::read_to_string(folder.join("online"));
        let online = online.ok().and_then(|text| parse_cpus(text.trim()).ok());
        let online = online.map(|cpus| cpus.into_iter().map(|cpu| cpu as usize).collect());
        let cpus: Vec<usize> = online.unwrap_or_else(|| allowed.to_vec());
        let (mut cores, mut packages) = (BTreeSet::new(), BTreeMap::new());
        for cpu in cpus {
            let package = text(cpu, "topology/physical_package_id").unwrap_or_default();
            let siblings = text(cpu, "topology/thread_siblings_list");
            let one: &mut Vec<usize> = packages.entry(package).or_default();
            if cores.insert(siblings.clone().unwrap_or_else(|| cpu.to_string())) {
                // The first allowed CPU of the core.
                let siblings = siblings.and_then(|text| parse_cpus(&text).ok());
                let siblings = siblings.unwrap_or_else(|| vec![cpu as u32]);
                let mut siblings = siblings.into_iter().map(|cpu| cpu as usize);
                one.extend(siblings.find(|cpu| allowed.contains(cpu)));
            }
        }
        let most = packages.values().max_by_key(|used| used.len());
        Topology {
            used: most.cloned().unwrap_or_default(),
            cores: cores.len(),
            packages: packages.len().max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_used_once_and_in_one_package() {
        let tree = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = tree.path().join("sys/devices/system/cpu").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let nothing = Topology::read(tree.path(), &[3, 5]);
        assert_eq!(
            (nothing.used, nothing.cores, nothing.packages),
            (vec![3, 5], 2, 1)
        );
        put("online", "0-7\n");
        for cpu in 0..8 {
            let core = cpu % 4;
            put(
                &format!("cpu{cpu}/topology/physical_package_id"),
                &format!("{}\n", core / 2),
            );
            let siblings = format!("{core},{}\n", core + 4);
            put(
                &format!("cpu{cpu}/topology/thread_siblings_list"),
                &siblings,
            );
        }
        let read = |allowed: &[usize]| Topology::read(tree.path(), allowed);
        let all = read(&[2, 3, 4, 6, 7]);
        assert_eq!((all.used, all.cores, all.packages), (vec![2, 3], 4, 2));
        assert_eq!(read(&[0, 4]).used, [0]);
    }
}
