//! The person at the machine.

use super::error::PowerLogError;

/// A person who carries out a step on request and confirms it.
pub trait Person {
    /// Shows `text`.
    fn report(&mut self, text: &str);

    /// Waits until the step is done; returns false if the person has left, or a signal came.
    ///
    /// # Errors
    /// The input cannot be read: [`PowerLogError::Person`].
    fn done(&mut self) -> Result<bool, PowerLogError>;
}
