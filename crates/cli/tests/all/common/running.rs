//! A command that runs during the test.

use super::wait_for;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout};
use std::time::Duration;

/// A running command that prints a JSON object on each line.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// Starts the command with the arguments in `line`.
    pub fn begin(line: &str) -> Running {
        let mut child = super::begin(&format!("{line} --output json"));
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Running { child, lines }
    }

    /// Returns the next line.
    pub fn line(&mut self) -> Value {
        let mut text = String::new();
        self.lines.read_line(&mut text).expect("a line");
        serde_json::from_str(&text).expect("an object a line")
    }

    /// Returns the lines up to the first one for which `ends` is true.
    pub fn until(&mut self, ends: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        for _ in 0..30 {
            lines.push(self.line());
            if ends(lines.last().expect("one")) {
                return lines;
            }
        }
        panic!("it does not come: {lines:#?}");
    }

    /// Interrupts the command, which has to end successfully.
    pub fn end(mut self) {
        super::interrupt(&self.child);
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("read");
        let output = self.child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

/// Returns the threads of a process's jobs, as folders of `/proc`.
fn jobs(pid: u32) -> Vec<PathBuf> {
    threads(pid, "joulio-job")
}

/// Returns the threads of a process whose names begin with `name`, as folders of `/proc`.
pub fn threads(pid: u32, name: &str) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let folders = tasks.map(|task| task.path());
    let named = |folder: &PathBuf| {
        fs::read_to_string(folder.join("comm")).is_ok_and(|comm| comm.starts_with(name))
    };
    folders.filter(named).collect()
}

/// Waits until a job's thread exists: signals are handled, and a run is about to begin.
pub fn wait_for_job(pid: u32) {
    wait_for("job", || (!jobs(pid).is_empty()).then_some(()));
}

/// Returns how often a job has blocked, which is about once for each I/O that it waits for.
pub fn blocked(pid: u32) -> u64 {
    let blocked = jobs(pid).into_iter().map(|job| {
        let status = fs::read_to_string(job.join("status")).unwrap_or_default();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.map_or(0, |count| count.trim().parse().expect("a number"))
    });
    blocked.max().unwrap_or(0)
}

/// Returns the CPU time that a job has had.
pub fn ran(pid: u32) -> Duration {
    let ran = jobs(pid).into_iter().map(|job| {
        let times = fs::read_to_string(job.join("schedstat")).unwrap_or_default();
        let first = times.split(' ').next().unwrap_or_default();
        Duration::from_nanos(first.parse().unwrap_or(0))
    });
    ran.max().unwrap_or_default()
}

/// Waits until the process has a handler of `signal` (proc(5), SigCgt).
pub fn wait_for_handler(process: u32, signal: Signal) {
    let status = format!("/proc/{process}/status");
    wait_for("handler of a signal", || {
        let status = fs::read_to_string(&status).ok()?;
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught & 1 << (signal.as_raw() - 1) != 0).then_some(())
    });
}

/// Waits until a job is doing I/Os, or waiting for them.
pub fn wait_for_work(pid: u32) {
    let works = || blocked(pid) > 1 || ran(pid) > Duration::from_millis(10);
    wait_for("job at work", || works().then_some(()));
}
