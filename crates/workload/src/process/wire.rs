//! Messages between a job's process and its relay, as lines of JSON.

use crate::protocol::{JobMessage, JobOrder};
use crate::target::ProcessTarget;
use joulio_job::{Assignment, Job, Method};
use joulio_kernel_io::RingOptions;
use joulio_nvme::wait::WaitCosts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, ErrorKind, Write};
use std::ops::Range;

/// Part of the run for a job's process: the first line of its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) job: Job,
    pub(super) index: usize,
    pub(super) turn: usize,
    pub(super) bs: u64,
    pub(super) assignment: Assignment,
    pub(super) blocks: Range<u64>,
    pub(super) name: Option<String>,
    pub(super) method: Method,
    pub(super) wait_costs: Option<WaitCosts>,
    #[serde(with = "RingOptionsForm")]
    pub(super) ring: RingOptions,
    pub(super) target: ProcessTarget,
}

/// Options of io_uring.
#[derive(Serialize, Deserialize)]
#[serde(remote = "joulio_kernel_io::RingOptions")]
struct RingOptionsForm {
    poller_idle_ms: u32,
    poller_cpu: Option<u32>,
    fixed_buffers: bool,
    registered_file: bool,
}

/// An order, in each further line of the standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Order of the conductor.
    Job(JobOrder),
    /// Order to end early. The end of the input would also end the job, but without a result.
    Stop,
}

/// A line on the standard output of a job's process.
#[derive(Serialize, Deserialize)]
pub(super) enum Line {
    /// Message to the conductor.
    Message(JobMessage),
    /// I/Os done, and their bytes.
    Progress(u64, u64),
    /// Last line of the process.
    Ended(Ending),
}

/// End of a job's process that was not killed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    /// The process has sent everything, or its completion mode is unavailable.
    Done,
    /// The job did not start, because another one could not.
    NotStarted,
    /// The job failed, for this reason.
    Failed(String),
}

/// Writes a line of JSON.
pub(super) fn say(to: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}

/// Reads the next line; `None`: the other side has ended. A line that cannot be parsed is `InvalidData`.
pub(super) fn hear<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    // An incomplete line means that its writer has ended.
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    let heard = serde_json::from_slice(&line);
    heard.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strange_bytes_are_an_error_or_the_end(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let heard = hear::<Line>(&mut bytes.as_slice());
            prop_assert!(!matches!(heard, Ok(Some(_))));
        }
    }
}
