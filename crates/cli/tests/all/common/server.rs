//! A server of an emulated device, for tests that use one over its socket.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// `joulio serve`, killed when it is dropped.
pub struct Server(Child);

impl Server {
    /// A server of a device of `size` at `socket` in `room`, which takes hosts.
    pub fn start(room: &Path, socket: &str, size: &str) -> Server {
        let line = format!("serve --device emulated:instant,size={size} --socket {socket}");
        let mut child = super::program()
            .args(line.split_whitespace())
            .current_dir(room)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut said)
            .expect("a line");
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
