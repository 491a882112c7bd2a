//! `joulio job-process`: a job of `joulio bench --process`, controlled through standard input and output.

use crate::Outcome;
use crate::failure::Failure;
use joulio_workload::tenant;
use std::io::{BufReader, stdin, stdout};

/// Runs `joulio job-process`.
pub fn run() -> Outcome {
    tenant(BufReader::new(stdin()), stdout()).map_err(Failure::input)
}
