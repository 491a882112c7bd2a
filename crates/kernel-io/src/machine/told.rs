//! A value, or why there is none.

use serde::Serialize;

/// A value, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told<T> {
    /// The value.
    pub value: Option<T>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl<T> Told<T> {
    /// There is one.
    pub fn some(value: T) -> Told<T> {
        Told {
            value: Some(value),
            reason: None,
        }
    }

    /// There is none, because of this.
    pub fn none(reason: impl ToString) -> Told<T> {
        Told {
            value: None,
            reason: Some(reason.to_string()),
        }
    }
}

impl<T, E: ToString> From<Result<T, E>> for Told<T> {
    fn from(result: Result<T, E>) -> Told<T> {
        match result {
            Ok(value) => Told::some(value),
            Err(error) => Told::none(error.to_string()),
        }
    }
}
