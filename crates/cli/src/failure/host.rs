//! Failures of the room `host` as the command has them: what was refused before anything was done
//! is wrong input, what was begun went wrong in the doing.

use super::Failure;
use joulio_host::energy_sources::{RootError, SelectionError};
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

impl From<RootError> for Failure {
    fn from(error: RootError) -> Failure {
        Failure::input(format!("--root: {error}"))
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Failure {
        Failure::input(format!("--meter: {error}"))
    }
}
