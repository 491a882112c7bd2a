//! The system calls of an I/O with every policy that this CPU and the emulated device can do: none to poll, and
//! otherwise those that the counters explain. The other policies are printed with the reason.
//!
//! The test runs itself under `strace`, with a file for each thread. The file of the driver's thread contains
//! marks, which are writes to /dev/null. Not under QEMU's user emulation, whose own system calls `strace` would
//! count.

#[path = "all/common/mod.rs"]
mod common;

use common::policies::{self, Waits};
use joulio_nvme::wait::Policy;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Variable that is set while the test runs under `strace`.
const TRACED: &str = "JOULIO_TEST_IS_TRACED";
/// Number of I/Os before the counted ones, and in all.
const ROUNDS: (usize, usize) = (20, 60);
/// Number of queues of a group, and how many of them have I/Os.
const SHAPES: [(usize, usize); 3] = [(1, 1), (2, 2), (2, 1)];
const BEGIN: &str = "the counted I/Os begin";
const END: &str = "the counted I/Os end";

#[test]
fn each_policy_makes_the_system_calls_that_its_counters_explain() {
    if std::env::var_os(TRACED).is_some() {
        return wait_by_every_step();
    }
    let folder = std::env::temp_dir().join(format!("joulio-calls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let status = Command::new("strace")
        .args(["-ff", "-qq", "-s", "200", "-o"])
        .arg(folder.join("thread"))
        .arg(std::env::current_exe().unwrap())
        .arg("each_policy_makes_the_system_calls_that_its_counters_explain")
        .args(["--exact", "--quiet"])
        .env(TRACED, "1")
        .status()
        .expect("strace, which counts the system calls: install it");
    assert!(status.success(), "under strace: {status}");
    let counts = counts(&driver_thread(&folder));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(counts.len(), SHAPES.len() * policies::at_hand().len());
    for count in &counts {
        println!("{count:?}");
        count.check();
    }
    policies::print_lacking();
}

/// Waits with every step, and writes the counters between marks that the tracer sees.
fn wait_by_every_step() {
    let mut marks = File::options().write(true).open("/dev/null").unwrap();
    let mut mark = |text: &str| marks.write_all(text.as_bytes()).unwrap();
    for (which, policy) in policies::at_hand().iter().enumerate() {
        // Number of queues, and how many of them have I/Os.
        for (queues, busy) in SHAPES {
            let mut waits = Waits::of(which, queues, busy);
            let mut before = waits.group.counters();
            waits.run(ROUNDS.1, |round, group, io| {
                if round == ROUNDS.0 {
                    before = group.counters();
                    mark(BEGIN);
                }
                io(group);
                if round == ROUNDS.1 - 1 {
                    mark(END);
                }
            });
            let done = waits.group.counters() - before;
            mark(&format!(
                "{} on {busy} of {queues}: ios {} arms {} blocks {} sleeps {} vain {}",
                policy.name(),
                busy * (ROUNDS.1 - ROUNDS.0),
                done.arms,
                done.blocks,
                done.sleeps,
                done.vain_wakes
            ));
        }
    }
}

/// Returns the system calls of the thread that made the marks.
fn driver_thread(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap();
    let mut texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let driver = texts.find(|text| text.contains(BEGIN));
    driver.expect("a thread that counted")
}

/// The counted I/Os of one policy.
#[derive(Debug, Default)]
struct Count {
    /// Description: the policy, the number of queues, the counters.
    of: String,
    /// Number of calls of each system call.
    calls: BTreeMap<String, u64>,
    /// Number of polls that ended at their time limit.
    timed_out: u64,
}

fn counts(text: &str) -> Vec<Count> {
    let mut counts = Vec::new();
    let mut count = Count::default();
    let mut counting = false;
    for line in text.lines() {
        let name = line.split('(').next().unwrap_or_default();
        if line.contains(BEGIN) {
            (count, counting) = (Count::default(), true);
        } else if line.contains(END) {
            counting = false;
        } else if line.contains(": ios ") {
            count.of = line.split('"').nth(1).unwrap().into();
            counts.push(std::mem::take(&mut count));
        } else if counting {
            *count.calls.entry(name.into()).or_default() += 1;
            count.timed_out += u64::from(name == "ppoll" && line.contains("= 0 "));
        }
    }
    counts
}

impl Count {
    fn counter(&self, name: &str) -> u64 {
        let mut words = self.of.split(' ').skip_while(|word| *word != name);
        words.nth(1).unwrap().parse().unwrap()
    }

    fn check(&self) {
        let of = &self;
        let [ios, arms, blocks, sleeps, vain] =
            ["ios", "arms", "blocks", "sleeps", "vain"].map(|name| self.counter(name));
        let mut left = self.calls.clone();
        // Waits for the lock of the emulated device; a real one has none.
        left.remove("futex");
        // Reads of a clock that the vDSO cannot read, as on some virtual machines; elsewhere they are no system
        // calls.
        left.remove("clock_gettime");
        let mut made = |name: &str| left.remove(name).unwrap_or(0);
        // The emulated device raises an interrupt with a write; here, of completions that came while the vector was
        // masked.
        assert!(made("write") <= arms, "{of:?}");
        // If a block ends at its time limit and finds completions, each of the (two) queues waits for the interrupt
        // of its own.
        let polls = made("ppoll");
        assert!(
            (blocks..=blocks + 2 * self.timed_out).contains(&polls),
            "{of:?}"
        );
        assert_eq!(made("clock_nanosleep"), sleeps, "{of:?}");
        // A policy that asks for lost time has it read at intervals: a file is opened, read and closed.
        let opens = made("open") + made("openat");
        // In a debug build, the standard library checks the descriptor when it closes the file.
        assert!(made("fcntl") <= opens, "{of:?}");
        let adapts = self.of.starts_with("adaptive");
        assert!(opens == 0 || adapts, "{of:?}");
        assert_eq!([made("read"), made("close")], [opens; 2], "{of:?}");
        assert!(opens <= ios, "{of:?}");
        // The interrupt of a completion is read once: by the block that it ends, or by the next block, if the
        // completion was found without one. Both queues may have one left from before.
        let reads = made("preadv2");
        let max = if arms == 0 {
            0
        } else {
            ios + vain + 2 + self.timed_out
        };
        assert!(reads <= max, "{of:?}");
        assert!(left.is_empty(), "{of:?}: and {left:?}");
    }
}
