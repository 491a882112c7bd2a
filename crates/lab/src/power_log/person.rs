//! The person at the machine.

use super::error::PowerLogError;

/// A person who carries out a step on request and confirms it.
pub trait Person {
    /// Shows `text` to the person.
    fn report(&mut self, text: &str);

    /// Waits until the person confirms the step; returns false if the input ends or a signal comes.
    ///
    /// # Errors
    /// The input cannot be read: [`PowerLogError::Person`].
    fn done(&mut self) -> Result<bool, PowerLogError>;
}
