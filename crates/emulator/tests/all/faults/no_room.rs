//! A file system that is really full, in contrast to the fault that pretends so.

use super::Faulty;
use crate::common::options;
use joulio_emulator::{NamespaceOptions, StoreOptions};
use joulio_nvme_spec::{CommandId, NvmOpcode, Status};
use std::path::Path;
use std::process::Command;

/// A file system of 64 KiB, unmounted on drop.
struct Small(tempfile::TempDir);

impl Small {
    /// Mounts it; `None` if this process may not mount.
    fn mount() -> Option<Small> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "none"]);
        let mounted = mount.arg(dir.path()).output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then(|| Small(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[test]
fn a_full_file_system_is_a_namespace_without_room() {
    let Some(small) = Small::mount() else {
        println!("skipped: mounting a small file system takes root");
        return;
    };
    let mut options = options();
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::File {
            path: small.path().join("disk"),
            bytes: Some(1 << 20),
            read_only: false,
        },
        block: Some(4096),
    }];
    let mut faulty = Faulty::with(&options);
    let write = |faulty: &mut Faulty, block: u16| {
        let mut command = crate::common::transfer(NvmOpcode::WRITE, 0, 1, &faulty.buffer);
        command.cdw10[0].set(block.into());
        faulty.pair.submit(block, command);
        let done = faulty.step(0);
        assert_eq!((done.len(), done[0].0), (1, CommandId(block)));
        done[0].1
    };
    let full = Status::CAPACITY_EXCEEDED.do_not_retry();
    let statuses: Vec<Status> = (0..32).map(|block| write(&mut faulty, block)).collect();
    let fit = statuses.iter().take_while(|s| s.is_success()).count();
    assert!((1..=16).contains(&fit), "{statuses:?}");
    assert!(statuses[fit..].iter().all(|&s| s == full), "{statuses:?}");
    // What is there can be written again, and read.
    assert!(write(&mut faulty, 0).is_success());
    let mut read = crate::common::transfer(NvmOpcode::READ, 0, 1, &faulty.buffer);
    read.cdw10[0].set(200);
    faulty.pair.submit(40, read);
    assert!(faulty.step(0)[0].1.is_success());
    assert_eq!(faulty.done().full, 0);
}
