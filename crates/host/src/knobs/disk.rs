//! Disks, by the names that users give them.

use crate::tree::Tree;
use std::path::Path;

/// Error of a disk that the machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no disk '{name}': {}", known(.there))]
pub struct NoSuchDisk {
    /// Name that was given.
    pub name: String,
    /// Names of the machine's disks.
    pub there: Vec<String>,
}

fn known(there: &[String]) -> String {
    match there.is_empty() {
        true => "there is none in /sys/block".into(),
        false => format!("there are {}", there.join(", ")),
    }
}

/// Returns the name in /sys/block of the disk or partition `text`: `nvme0n1`, `/dev/nvme0n1`, a link to that, or
/// `cciss/c0d0`, which /sys/block has as `cciss!c0d0`.
pub fn disk_name(text: &str) -> String {
    let path = Path::new(text);
    let target = path.canonicalize().ok().filter(|_| path.is_absolute());
    let name = target.as_deref().unwrap_or(path).to_string_lossy();
    name.strip_prefix("/dev/")
        .unwrap_or(&name)
        .replace('/', "!")
}

/// Checks that the system whose file tree begins at `root` has the disk `name`, as /sys/block names
/// it.
///
/// # Errors
/// The system does not have the disk: the error names those that it has.
pub fn find_disk(root: &Path, name: &str) -> Result<(), NoSuchDisk> {
    let there = Tree::at(root).names("sys/block");
    match there.iter().any(|disk| disk == name) {
        true => Ok(()),
        false => Err(NoSuchDisk {
            name: name.into(),
            there,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeMachine;

    #[test]
    fn a_disk_in_a_folder_of_dev_is_found_by_either_name() {
        let machine = FakeMachine::new();
        machine.put("sys/block/cciss!c0d0/queue/nomerges", "0");
        for text in ["cciss/c0d0", "/dev/cciss/c0d0", "cciss!c0d0"] {
            let name = disk_name(text);
            assert_eq!(name, "cciss!c0d0");
            assert_eq!(find_disk(machine.root(), &name), Ok(()));
        }
        let missing = find_disk(machine.root(), &disk_name("/dev/sda")).unwrap_err();
        let said = missing.to_string();
        assert_eq!(said, "no disk 'sda': there are cciss!c0d0");
    }
}
