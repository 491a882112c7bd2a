//! Loop device on a file in memory.

use super::joulio;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A loop device, with a folder for its image and the journal.
pub struct Loop {
    /// Path of the device.
    pub device: String,
    /// Folder of the image.
    pub room: TempDir,
}

impl Loop {
    /// Creates a loop device of 8 MiB; `None`, and a line on standard error, if that is not possible here.
    pub fn new() -> Option<Loop> {
        Loop::with(8 << 20, &[])
    }

    /// Creates a loop device of `bytes`, with more arguments for losetup(8).
    pub fn with(bytes: u64, words: &[&str]) -> Option<Loop> {
        let room = TempDir::new_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .ok()?;
        let image = room.path().join("disk.img");
        fs::write(&image, vec![7; bytes.min(8 << 20) as usize]).expect("written");
        let file = fs::OpenOptions::new().write(true).open(&image);
        file.expect("there").set_len(bytes).expect("longer");
        let made = Command::new("losetup")
            .args(["--find", "--show", "--sector-size", "4096"])
            .args(words)
            .arg(&image)
            .output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            eprintln!("skipped: no loop device to be had (not root?)");
            return None;
        };
        let device = String::from_utf8(made.stdout).expect("UTF-8").trim().into();
        Some(Loop { device, room })
    }

    /// Removes all of its blocks, even while it is open.
    pub fn take_away(&self) {
        self.resize(0);
    }

    /// Restores its blocks.
    pub fn give_back(&self) {
        self.resize(8 << 20);
    }

    fn resize(&self, bytes: u64) {
        let image = fs::OpenOptions::new()
            .write(true)
            .open(self.room.path().join("disk.img"));
        image.expect("there").set_len(bytes).expect("resized");
        let told = Command::new("losetup").args(["-c", &self.device]).status();
        assert!(told.expect("losetup").success());
    }

    /// Returns the file of its scheduler.
    pub fn file(&self) -> PathBuf {
        let name = self.device.trim_start_matches("/dev/");
        format!("/sys/block/{name}/queue/scheduler").into()
    }

    /// Returns the schedulers that it offers.
    pub fn offered(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file()).expect("read");
        let names = text.split_whitespace();
        names
            .map(|name| name.trim_matches(['[', ']']).into())
            .collect()
    }

    /// Returns its current scheduler.
    pub fn scheduler(&self) -> String {
        let text = fs::read_to_string(self.file()).expect("read");
        let set = text.split_once('[').expect("one is set").1;
        set.split_once(']').expect("closed").0.into()
    }

    /// Sets its scheduler.
    pub fn set(&self, name: &str) {
        fs::write(self.file(), name).expect("set");
    }

    /// Returns a command with a journal of its own.
    pub fn command(&self, line: &str) -> assert_cmd::Command {
        let mut command = joulio(line);
        command.env("XDG_STATE_HOME", self.room.path());
        command
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}
