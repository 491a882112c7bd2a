//! Commands that change settings, on a file tree in a folder.

use super::joulio;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// A folder with a journal, and with the tree of a system that has a disk `d`.
pub struct Room(TempDir);

impl Room {
    pub fn new() -> Room {
        let room = Room(tempdir().expect("a room"));
        for (file, text) in [
            ("scheduler", "none [mq-deadline] kyber"),
            ("nr_requests", "256"),
            ("nomerges", "0"),
        ] {
            let file = room.queue(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("created");
            fs::write(file, text).expect("written");
        }
        room
    }

    pub fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }

    pub fn queue(&self, file: &str) -> PathBuf {
        self.root().join("sys/block/d/queue").join(file)
    }

    pub fn value(&self, file: &str) -> String {
        let text = fs::read_to_string(self.queue(file)).expect("a file");
        text.trim().into()
    }

    pub fn ran(&self, line: &str) -> Output {
        let mut command = joulio(line);
        command.env("XDG_STATE_HOME", self.0.path());
        command.output().expect("it runs")
    }

    /// Starts a command with the arguments in `line`.
    pub fn begin(&self, line: &str) -> Child {
        self.begin_into(line, Stdio::piped())
    }

    /// Starts a command with the arguments in `line`, which prints to `out`.
    pub fn begin_into(&self, line: &str, out: Stdio) -> Child {
        let mut command = super::program();
        command
            .args(line.split_whitespace())
            .env("XDG_STATE_HOME", self.0.path())
            .stdout(out)
            .stderr(Stdio::piped());
        command.spawn().expect("it starts")
    }

    /// Runs `joulio knobs` on the tree.
    pub fn knobs(&self, line: &str) -> Output {
        self.ran(&format!("knobs {line} --root {}", self.root().display()))
    }

    pub fn entries(&self) -> usize {
        let files = fs::read_dir(self.0.path().join("joulio/journal"));
        files.into_iter().flatten().count()
    }

    /// Starts a command that holds the settings in `line` for a long time.
    pub fn holding(&self, line: &str) -> Holder {
        let mut child = super::program()
            .args(["knobs", "--for", "10m"])
            .args(line.split_whitespace())
            .env("XDG_STATE_HOME", self.0.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = String::new();
        let out = child.stdout.as_mut().expect("piped");
        BufReader::new(out).read_line(&mut said).expect("a line");
        assert!(said.starts_with("scheduler"), "{said}");
        Holder(child)
    }

    pub fn holding_on_tree(&self, line: &str) -> Holder {
        self.holding(&format!("{line} --root {}", self.root().display()))
    }
}

/// A command that holds settings.
pub struct Holder(pub Child);

impl Holder {
    pub fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), signal).expect("it runs");
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into()
}

pub fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into()
}

/// Returns a pipe that is full.
pub fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("set");
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    fcntl_setfl(&writer, flags).expect("set");
    (reader, writer)
}

/// Sends `signal` until the command ends; returns its status and its messages.
pub fn ended_by_many(mut child: Child, signal: Signal) -> (Option<i32>, String) {
    while child.try_wait().expect("waited for").is_none() {
        kill_process(Pid::from_child(&child), signal).expect("sent");
        sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it has ended");
    (output.status.code(), error(&output))
}
