//! A value, or the reason why it is not known.

use serde::Serialize;

/// A value, or the reason why it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Known_{T}")
)]
pub struct Known<T> {
    /// Value, if it is known.
    pub value: Option<T>,
    /// Reason why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl<T> Known<T> {
    /// Makes a known value.
    pub fn some(value: T) -> Known<T> {
        Known {
            value: Some(value),
            reason: None,
        }
    }

    /// Makes an unknown value, with the reason.
    pub fn none(reason: impl ToString) -> Known<T> {
        Known {
            value: None,
            reason: Some(reason.to_string()),
        }
    }
}

impl<T, E: ToString> From<Result<T, E>> for Known<T> {
    fn from(result: Result<T, E>) -> Known<T> {
        match result {
            Ok(value) => Known::some(value),
            Err(error) => Known::none(error.to_string()),
        }
    }
}
