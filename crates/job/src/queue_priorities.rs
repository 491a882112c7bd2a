//! Priority classes of the jobs' queues.

use crate::ParseError;
use joulio_nvme_spec::command::QueuePriority;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `--queue_priority`: priority classes of the jobs' submission queues, one or several. Jobs take them in turn, as
/// they take the sizes of [`BlockSizes`](crate::BlockSizes). In JSON a string, such as `high:low`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueuePriorities(Vec<QueuePriority>);

/// Classes by name, the most urgent first.
const NAMES: [(QueuePriority, &str); 4] = [
    (QueuePriority::URGENT, "urgent"),
    (QueuePriority::HIGH, "high"),
    (QueuePriority::MEDIUM, "medium"),
    (QueuePriority::LOW, "low"),
];

impl QueuePriorities {
    /// Returns the class of job `index`.
    pub fn of_job(&self, index: usize) -> QueuePriority {
        self.0[index % self.0.len()]
    }

    /// Returns the number of classes in the list, at least 1.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromStr for QueuePriorities {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<QueuePriorities, ParseError> {
        let class = |name: &str| {
            let mut all = NAMES.iter();
            let found = all.find(|(_, known)| *known == name);
            let unknown = || {
                let problem =
                    format!("no priority '{name}': there are urgent, high, medium and low");
                ParseError::list(problem)
            };
            found.map(|(class, _)| *class).ok_or_else(unknown)
        };
        let classes = text.split(':').map(class);
        Ok(QueuePriorities(classes.collect::<Result<_, _>>()?))
    }
}

impl TryFrom<String> for QueuePriorities {
    type Error = ParseError;

    fn try_from(text: String) -> Result<QueuePriorities, ParseError> {
        text.parse()
    }
}

impl From<QueuePriorities> for String {
    fn from(classes: QueuePriorities) -> String {
        classes.to_string()
    }
}

impl fmt::Display for QueuePriorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |class: &QueuePriority| {
            let mut all = NAMES.iter();
            all.find(|(known, _)| known == class)
                .map_or("", |(_, name)| *name)
        };
        let names: Vec<_> = self.0.iter().map(name).collect();
        f.write_str(&names.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_take_them_in_turn_and_their_text_is_read_back() {
        let classes: QueuePriorities = "high:high:low".parse().unwrap();
        let jobs: Vec<_> = (0..4).map(|job| classes.of_job(job)).collect();
        use QueuePriority as Class;
        assert_eq!(jobs, [Class::HIGH, Class::HIGH, Class::LOW, Class::HIGH]);
        let json = serde_json::to_string(&classes).unwrap();
        assert_eq!(json, "\"high:high:low\"");
        assert_eq!(
            serde_json::from_str::<QueuePriorities>(&json).unwrap(),
            classes
        );
    }

    #[test]
    fn a_class_that_does_not_exist_is_named() {
        for text in ["", "high:", "low:none", "HIGH"] {
            let error = text.parse::<QueuePriorities>().unwrap_err().to_string();
            assert!(error.contains("urgent, high"), "{error}");
        }
    }
}
