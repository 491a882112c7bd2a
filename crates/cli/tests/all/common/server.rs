//! Server of an emulated device, for tests that use one through its socket.

use super::wait_for_end;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// A running `joulio serve`, killed when this is dropped if it still runs.
pub struct Server {
    child: Child,
    /// First line of its output, after which it accepts hosts.
    pub said: String,
}

impl Server {
    /// Starts a server of a device of `size` at `socket` in `room`, with the additional arguments `words`.
    pub fn start(room: &Path, socket: &str, size: &str, words: &[&str]) -> Server {
        let line = format!("serve --device emulated:instant,size={size} --socket {socket}");
        let mut child = super::program()
            .args(line.split_whitespace())
            .args(words)
            .current_dir(room)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut said)
            .expect("a line");
        Server { child, said }
    }

    /// Kills it and waits until it is gone.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        wait_for_end(&mut self.child);
    }

    /// Ends it as a user would. It has to end successfully and remove its socket `s` in `room`.
    pub fn end(mut self, room: &Path) {
        self.signal(Signal::TERM);
        wait_for_end(&mut self.child);
        let status = self.child.wait().expect("wait");
        assert_eq!(status.code(), Some(0));
        assert!(!room.join("s").exists(), "the socket is still there");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
