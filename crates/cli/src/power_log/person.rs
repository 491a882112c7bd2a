//! The person at the machine.

use crate::failure::Failure;
use joulio_workload::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write, stderr, stdin};
use std::os::fd::AsFd;

/// How long a wait for a key goes on before a signal is looked for: 100 ms.
const CHECK_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Somebody who does what is asked and says when it is done.
pub trait Person {
    /// Tells something.
    fn tell(&mut self, text: &str);

    /// Waits until it is done. False: nobody is there any more, or a signal came.
    fn done(&mut self) -> Result<bool, Failure>;
}

/// Whoever is at the terminal: asked on standard error, so that standard output has the result
/// alone, and heard on standard input.
pub struct Terminal {
    input: File,
    stop: Stop,
}

impl Terminal {
    /// Until `stop`.
    pub fn new(stop: &Stop) -> Result<Terminal, Failure> {
        let input = stdin().as_fd().try_clone_to_owned();
        Ok(Terminal {
            input: File::from(input.map_err(Failure::run)?),
            stop: stop.clone(),
        })
    }

    /// There is something to read, or an end; false when a signal came first.
    fn wait(&self) -> Result<bool, Failure> {
        while !self.stop.stopped() {
            let mut inputs = [PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut inputs, Some(&CHECK_INTERVAL)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(Failure::run(error)),
            }
        }
        Ok(false)
    }
}

impl Person for Terminal {
    fn tell(&mut self, text: &str) {
        // When standard error is closed there is nobody to tell.
        let _ = stderr().write_all(text.as_bytes());
    }

    fn done(&mut self) -> Result<bool, Failure> {
        // A byte at a time: what is read ahead would not be seen by `poll`.
        let mut byte = [0];
        while self.wait()? {
            match self.input.read(&mut byte) {
                Ok(0) => return Ok(false),
                Ok(_) if byte == *b"\n" => return Ok(true),
                Ok(_) => {}
                Err(error) => return Err(Failure::run(format!("standard input: {error}"))),
            }
        }
        Ok(false)
    }
}
