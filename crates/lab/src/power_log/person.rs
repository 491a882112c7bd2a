//! The person at the machine.

use super::error::PowerLogError;

/// A person who does what is requested and says when it is done.
pub trait Person {
    /// Shows `text`.
    fn report(&mut self, text: &str);

    /// Waits until the step is done; false: nobody is there any more, or a signal came.
    ///
    /// # Errors
    /// The person cannot be heard: [`PowerLogError::Person`].
    fn done(&mut self) -> Result<bool, PowerLogError>;
}
