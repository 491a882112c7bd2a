//! Helpers of the policies' unit tests.

use crate::{Class, Outstanding};
use joulio_units::{Direction, Nanos};

pub(crate) const READ: Class = Class::new(Direction::Read, 4096);
pub(crate) const WRITE: Class = Class::new(Direction::Write, 4096);
pub(crate) const MS: u64 = 1_000_000;

/// Commands by class and submission time.
pub(crate) struct Commands(pub(crate) Vec<(Class, u64)>);

impl Outstanding for Commands {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        self.0
            .iter()
            .for_each(|&(class, at)| each(class, Nanos(at)));
    }
}
