//! Trims, flushes and written data through the user-space driver on an emulated controller: as many as the job
//! requests, and the blocks read as the controller says.

use joulio_emulator::{Activity, EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_energy::Meters;
use joulio_job::{Counts, Flushes};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_workload::{
    EmulatedInfo, EngineName, Job, Member, Method, NvmeTarget, ReadWrite, Setup, Stop, Target,
    TargetActivity, Verify, run,
};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

const BYTES: usize = 4 << 20;

thread_local! {
    /// Activity of the controller when it was last read, after the run.
    static SEEN: Cell<Activity> = Cell::default();
}

fn see(device: &EmulatedDevice) -> TargetActivity {
    SEEN.set(device.activity());
    TargetActivity::default()
}

fn target(file: &Path) -> Box<dyn Target> {
    let profile = DeviceProfile::builtin("instant").unwrap();
    let mut options = Options::new(profile.clone());
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::File {
            path: file.into(),
            bytes: None,
            read_only: false,
        },
        block: Some(512),
    }];
    let device = EmulatedDevice::spawn(&options).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let emulated = EmulatedInfo {
        profile,
        activity: see,
        thread: |_| None,
    };
    Box::new(NvmeTarget::new("emulated".into(), controller, 1, true, Some(emulated)).unwrap())
}

/// Runs `job` in `mode` on a device full of bytes of 7. Returns the counts, the controller's activity, and the
/// bytes of the device afterwards.
fn done(job: &Job, mode: &str) -> (Counts, Activity, Vec<u8>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; BYTES]).unwrap();
    let targets = [target(file.path())];
    let stop = Stop::default();
    let setup = Setup {
        targets: &targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop: &stop,
        root: Path::new("/"),
        progress: &|_| (),
        trace: None,
    };
    let method = Method {
        engine: EngineName::Nvme,
        mode: mode.parse().unwrap(),
    };
    let result = run(
        &[Member::alone(job.clone(), method, 1)],
        &setup,
        &mut Meters::default(),
    )
    .unwrap();
    let counts = result.counts.unwrap();
    assert_eq!(counts.first_error, None, "{mode}");
    drop(targets);
    (counts, SEEN.get(), std::fs::read(file.path()).unwrap())
}

#[test]
fn trimmed_blocks_read_as_zeroes_and_no_others_do() {
    for mode in ["poll", "interrupt"] {
        let job = Job {
            rw: ReadWrite::Trim,
            iodepth: 8,
            offset: 1 << 20,
            size: Some(1 << 20),
            ..Job::random_reads(256)
        };
        let (counts, activity, bytes) = done(&job, mode);
        let trim = counts.trim.unwrap();
        assert_eq!((trim.ios, counts.all.ios, counts.write.ios), (256, 256, 0));
        assert_eq!((activity.other.ios, activity.write.ios), (256, 0), "{mode}");
        let kept = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 7);
        assert!(
            bytes[1 << 20..2 << 20].iter().all(|byte| *byte == 0),
            "{mode}"
        );
        assert!(kept(&bytes[..1 << 20]) && kept(&bytes[2 << 20..]), "{mode}");
    }
}

#[test]
fn reads_leave_nothing_for_the_writes_after_them() {
    for mode in ["poll", "interrupt"] {
        let job = Job {
            rw: ReadWrite::RandRw,
            iodepth: 4,
            size: Some(256 << 10),
            ..Job::random_reads(4_000)
        };
        let (_, _, bytes) = done(&job, mode);
        let blocks = bytes[..256 << 10].chunks(4096);
        let contents: BTreeSet<&[u8]> = blocks.collect();
        // Each block was written, from one of four buffers.
        assert!(!contents.contains(&[7_u8; 4096][..]), "{mode}");
        assert_eq!(contents.len(), 4, "{mode}");
    }
}

#[test]
fn a_trim_longer_than_a_transfer_is_one_command() {
    let job = Job {
        rw: ReadWrite::TrimWrite,
        bs: (BYTES as u64).into(),
        iodepth: 2,
        ..Job::random_reads(4)
    };
    let (counts, activity, bytes) = done(&job, "poll");
    assert_eq!((counts.write.ios, activity.other.ios), (4, 4));
    assert!(activity.write.ios > 4, "{}", activity.write.ios);
    assert_eq!(activity.write.bytes, 4 * BYTES as u64);
    assert!(bytes.iter().any(|byte| *byte != 7));
}

#[test]
fn each_block_is_trimmed_and_written_and_flushes_come_between() {
    for (mode, iodepth) in [("poll", 1), ("interrupt", 8)] {
        let job = Job {
            rw: ReadWrite::RandTrimWrite,
            iodepth,
            verify: Verify::Crc32c,
            flushes: Flushes {
                fsync: 10,
                fdatasync: 5,
                end_fsync: true,
            },
            ..Job::random_reads(100)
        };
        let (counts, activity, _) = done(&job, mode);
        let done = (
            counts.trim.unwrap().ios,
            counts.write.ios,
            counts.sync.unwrap().ios,
        );
        let seen = (activity.other.ios, activity.write.ios, activity.flush.ios);
        // No flush follows the hundredth write, except the one at the end.
        assert_eq!((done, seen), ((100, 100, 20), (100, 100, 20)), "{mode}");
        let verified = counts.verify.unwrap();
        assert!(verified.errors == 0 && verified.blocks > 50, "{verified:?}");
    }
}
