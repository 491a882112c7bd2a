//! The system calls of an I/O, under every policy: none to poll, and otherwise those that the
//! counters explain.
//!
//! The test runs itself under `strace`, a file for each thread: that of the driver's has marks in
//! it, writes to nowhere. Not under QEMU's user emulation, whose own system calls `strace` would count.

#[path = "all/common/mod.rs"]
mod common;

use common::policies::{self, Waits};
use joulio_nvme::wait::Policy;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Set where the test runs under `strace`.
const TRACED: &str = "JOULIO_TEST_IS_TRACED";
/// I/Os before those that are counted, and with them.
const ROUNDS: (usize, usize) = (20, 60);
/// Queues of a group, and how many of them have I/Os.
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
    println!(
        "not counted, for this CPU or the emulated device lacks what they take: {:?}",
        policies::lacking()
    );
}

/// Waits by every step, with the counters between marks that the tracer sees.
fn wait_by_every_step() {
    let mut marks = File::options().write(true).open("/dev/null").unwrap();
    let mut mark = |text: &str| marks.write_all(text.as_bytes()).unwrap();
    for (which, policy) in policies::at_hand().iter().enumerate() {
        // Queues, and how many of them have I/Os.
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

/// The calls of the thread that made the marks.
fn driver_thread(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap();
    let mut texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let driver = texts.find(|text| text.contains(BEGIN));
    driver.expect("a thread that counted")
}

/// The counted I/Os of one policy.
#[derive(Debug, Default)]
struct Count {
    /// The policy, how many queues, what the counters say.
    of: String,
    /// Number of calls by system call.
    calls: BTreeMap<String, u64>,
    /// Polls that ended at their time.
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
        // Waiting for the lock of the emulated device, which no other has.
        left.remove("futex");
        // A clock that the vDSO cannot read, as some virtual machines have; elsewhere it is no
        // call.
        left.remove("clock_gettime");
        let mut made = |name: &str| left.remove(name).unwrap_or(0);
        // The emulated device interrupts by a write, here what came while it was masked.
        assert!(made("write") <= arms, "{of:?}");
        // Where a block ends at its time with completions there, each of the (two) queues waits for
        // the interrupt of its own.
        let polls = made("ppoll");
        assert!(
            (blocks..=blocks + 2 * self.timed_out).contains(&polls),
            "{of:?}"
        );
        assert_eq!(made("clock_nanosleep"), sleeps, "{of:?}");
        // A policy that asks for lost time has it read now and then: a file is opened, read, closed.
        let opens = made("open") + made("openat");
        // A debug build checks the file's number when it is closed.
        assert!(made("fcntl") <= opens, "{of:?}");
        let adapts = self.of.starts_with("adaptive");
        assert!(opens == 0 || adapts, "{of:?}");
        assert_eq!([made("read"), made("close")], [opens; 2], "{of:?}");
        assert!(opens <= ios, "{of:?}");
        // The interrupt of a completion is read once: by the block that it ends, or by the next
        // one, if the completion was found without. Both queues may owe one of before.
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
