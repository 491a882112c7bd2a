//! File trees of simulated machines.

use std::fs;
use tempfile::{TempDir, tempdir};

/// Writes a file of a tree atomically: a reader sees the old content or the new one.
pub fn file(tree: &TempDir, path: &str, text: &str) {
    let path = tree.path().join(path);
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("made");
    let new = path.with_extension("new");
    fs::write(&new, text).expect("written");
    fs::rename(new, path).expect("in its place");
}

/// Returns the tree of a virtual machine without a meter.
pub fn guest() -> TempDir {
    let tree = tempdir().expect("a temporary directory");
    let cpu = "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor sse\n";
    file(&tree, "proc/cpuinfo", cpu);
    file(
        &tree,
        "etc/machine-id",
        "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
    );
    file(&tree, "proc/sys/kernel/osrelease", "6.12.1\n");
    tree
}

/// Returns the tree of a server: a package whose counter does not change, and an ACPI power meter at 250 W.
pub fn server() -> TempDir {
    let tree = guest();
    file(&tree, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    let zone = "sys/class/powercap/intel-rapl:0";
    file(&tree, &format!("{zone}/name"), "package-0\n");
    file(
        &tree,
        &format!("{zone}/max_energy_range_uj"),
        "262143328850\n",
    );
    file(&tree, &format!("{zone}/energy_uj"), "1000000\n");
    let chip = "sys/class/hwmon/hwmon0";
    file(&tree, &format!("{chip}/name"), "power_meter\n");
    file(&tree, &format!("{chip}/power1_average"), "250000000\n");
    file(&tree, &format!("{chip}/power1_average_interval"), "1000\n");
    tree
}
