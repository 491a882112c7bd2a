//! Person at the terminal who carries out the steps.

use joulio_lab::power_log::{Person, PowerLogError};
use joulio_workload::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write, stderr, stdin};
use std::os::fd::AsFd;

/// Time to wait for a key before checking for a signal: 100 ms.
const CHECK_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The person's terminal. Prompts go to standard error, so that standard output has only the result; answers come from
/// standard input.
pub struct Terminal {
    input: File,
    stop: Stop,
}

impl Terminal {
    /// Creates the terminal; `stop` ends its waits.
    pub fn new(stop: &Stop) -> Result<Terminal, PowerLogError> {
        let input = stdin().as_fd().try_clone_to_owned();
        Ok(Terminal {
            input: File::from(input.map_err(PowerLogError::Person)?),
            stop: stop.clone(),
        })
    }

    /// Waits for input or its end; returns false if a signal came first.
    fn wait(&self) -> Result<bool, PowerLogError> {
        while !self.stop.stopped() {
            let mut inputs = [PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut inputs, Some(&CHECK_INTERVAL)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(PowerLogError::Person(error.into())),
            }
        }
        Ok(false)
    }
}

impl Person for Terminal {
    fn report(&mut self, text: &str) {
        // If standard error is closed, nobody can read the prompt.
        let _ = stderr().write_all(text.as_bytes());
    }

    fn done(&mut self) -> Result<bool, PowerLogError> {
        // Reads one byte at a time: bytes that were read ahead would not be visible to `poll`.
        let mut byte = [0];
        while self.wait()? {
            match self.input.read(&mut byte) {
                Ok(0) => return Ok(false),
                Ok(_) if byte == *b"\n" => return Ok(true),
                Ok(_) => {}
                Err(error) => {
                    let why = format!("standard input: {error}");
                    return Err(PowerLogError::Person(io::Error::other(why)));
                }
            }
        }
        Ok(false)
    }
}
