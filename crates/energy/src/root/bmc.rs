//! Access to a BMC: through the kernel's IPMI driver, or over the network.

use crate::bmc::client::Client;
use std::fmt;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A tool that reads the machine's own BMC.
pub trait BmcTool: Send + Sync + fmt::Debug {
    /// Runs `ipmitool dcmi power reading` and returns its output.
    ///
    /// # Errors
    /// `NotFound` if there is no ipmitool, otherwise its own error.
    fn power_reading(&self) -> io::Result<String>;
}

/// A client that fetches URLs.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Fetches the body of `url`, which is a checked [`RedfishUrl`](crate::RedfishUrl).
    ///
    /// # Errors
    /// The cause in one line, without any part of the credentials.
    fn get(&self, url: &str) -> io::Result<Vec<u8>>;
}

/// ipmitool, run for each reading. The ioctls of `/dev/ipmi0` would need unsafe code, or the one crate that has them,
/// which adds all of IPMI over networks and its ciphers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ipmitool;

impl BmcTool for Ipmitool {
    fn power_reading(&self) -> io::Result<String> {
        let mut child = Command::new("ipmitool")
            .args(["-I", "open", "dcmi", "power", "reading"])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        wait(&mut child)?;
        // The process has ended; its output fits the pipe, or it would not have ended.
        let output = child.wait_with_output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("ipmitool failed");
        Err(io::Error::other(said.trim().to_owned()))
    }
}

/// Waits for the end of the process, with a time limit: a BMC may never answer.
fn wait(child: &mut Child) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "ipmitool: no answer from the BMC",
            ));
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A tool without a BMC, for a tree that was captured elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere;

impl BmcTool for Elsewhere {
    fn power_reading(&self) -> io::Result<String> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a captured tree has no BMC",
        ))
    }
}

/// A client for HTTPS.
#[derive(Debug, Default)]
pub(super) struct Https(Client);

impl Fetch for Https {
    fn get(&self, url: &str) -> io::Result<Vec<u8>> {
        self.0.get(url)
    }
}
