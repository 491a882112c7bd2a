//! Failures of changes to the machine: refused ones were never made, others are to be put back.

use super::Failure;
use joulio_host::{ChangeError, ControllerOpenError};

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Failure {
        match error.leaves_changes() {
            true => Failure::run(error),
            false => Failure::input(error),
        }
    }
}

impl From<ControllerOpenError> for Failure {
    fn from(error: ControllerOpenError) -> Failure {
        Failure::input(error)
    }
}
