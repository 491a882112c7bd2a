//! Words of a choice that match no readable meter.

use crate::discovery::Discovery;
use crate::finding::FindingState;
use crate::select::Select;

/// A word of a choice that matches no readable meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The word, without a possible password.
    pub word: String,
    /// Reason in words.
    pub why: String,
    /// Command that would permit it.
    pub allow: Option<String>,
}

impl Discovery {
    /// Returns the first word of `select` that chose a source, a boundary or a meter of which nothing can be read. A
    /// word whose meters are left out for others of the same zone counts as matched by those.
    pub fn unmet(&self, select: &Select) -> Option<Unmet> {
        let meters = self.meters.about();
        select.terms().find_map(|term| {
            let word = term.word()?;
            if meters.iter().any(|about| term.picks(about)) {
                return None;
            }
            let mut why = None;
            for finding in self.others.iter().filter(|other| term.concerns(other)) {
                match &finding.state {
                    FindingState::Unused { .. } if finding.zone.is_some() => return None,
                    FindingState::Unused { why: unused } => {
                        why = why.or(Some((unused.clone(), None)))
                    }
                    FindingState::Unreadable { why: reason, allow }
                    | FindingState::Absent { why: reason, allow } => {
                        why = why.or_else(|| Some((reason.clone(), allow.clone())));
                    }
                }
            }
            let (why, allow) = why.unwrap_or_else(|| ("there is none here".into(), None));
            Some(Unmet { word, why, allow })
        })
    }
}

impl std::fmt::Display for Unmet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no meter can be read for '{}': {}", self.word, self.why)?;
        match &self.allow {
            Some(allow) => write!(f, "; to allow it: {allow}"),
            None => Ok(()),
        }
    }
}
