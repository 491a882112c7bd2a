//! Errors of texts that are not values.

use joulio_units::proposal;

/// Error of a text that is not a value of its kind. Its own text says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text does not have the form of such a value: write it as `expected` says.
    #[error("'{value}' {problem}: {expected}")]
    Form {
        /// Text that was given.
        value: String,
        /// Kind that the text is not of: `is not a size`.
        problem: &'static str,
        /// Description of a value's form.
        expected: &'static str,
    },
    /// No such value has this name: take a known one, maybe the most similar one.
    #[error("'{value}' is not {kind}: {near}known are {known}")]
    Unknown {
        /// Text that was given.
        value: String,
        /// Kind of the values, with its article.
        kind: &'static str,
        /// Proposal of the known name that is most similar; empty if none is similar enough.
        near: String,
        /// List of the known names.
        known: String,
    },
    /// The text is not one of a few: take one of those.
    #[error("'{value}' is not one of {known}")]
    NotOneOf {
        /// Text that was given.
        value: String,
        /// List of the valid texts.
        known: String,
    },
    /// A part of the text is not valid: change it as `problem` says.
    #[error("'{value}': {problem}")]
    Part {
        /// Text that was given.
        value: String,
        /// Description of the mistake, or of valid texts.
        problem: String,
    },
    /// The parameter of a completion mode is out of its range: take one that is in it.
    #[error("{value}: {expected}")]
    Parameter {
        /// Mode with its parameter, as it was given.
        value: String,
        /// Description of the range.
        expected: String,
    },
    /// The parts of a list are not valid, or not together: change them as `problem` says.
    #[error("{problem}")]
    List {
        /// Description of the mistake.
        problem: String,
    },
}

impl ParseError {
    /// Makes the error of a text that does not have the form of its kind.
    pub(crate) fn form(value: &str, problem: &'static str, expected: &'static str) -> ParseError {
        ParseError::Form {
            value: value.into(),
            problem,
            expected,
        }
    }

    /// Makes the error of a text that is not one of the `known`; the most similar of `names` is searched for `name`.
    pub(crate) fn unknown<T: AsRef<str>>(
        value: &str,
        kind: &'static str,
        name: &str,
        names: impl IntoIterator<Item = T>,
        known: String,
    ) -> ParseError {
        ParseError::Unknown {
            value: value.into(),
            kind,
            near: proposal(name, names),
            known,
        }
    }

    /// Makes the error of a text with an invalid part.
    pub(crate) fn part(value: &str, problem: impl ToString) -> ParseError {
        ParseError::Part {
            value: value.into(),
            problem: problem.to_string(),
        }
    }

    /// Makes the error of a completion mode's parameter.
    pub(crate) fn parameter(value: &str, expected: impl Into<String>) -> ParseError {
        ParseError::Parameter {
            value: value.into(),
            expected: expected.into(),
        }
    }

    /// Makes the error of a list, or of a part of it.
    pub(crate) fn list(problem: impl ToString) -> ParseError {
        ParseError::List {
            problem: problem.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_proposed_before_the_known_ones() {
        let names = ["poll", "interrupt"];
        let error = |text: &str| {
            let known = names.join(", ");
            ParseError::unknown(text, "a mode", text, names, known).to_string()
        };
        assert_eq!(
            error("interupt"),
            "'interupt' is not a mode: did you mean interrupt? known are poll, interrupt"
        );
        assert_eq!(
            error("quartz"),
            "'quartz' is not a mode: known are poll, interrupt"
        );
    }
}
