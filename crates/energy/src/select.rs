//! Choice of the meters to read: `--meter`.

use crate::bmc::url::{RedfishUrl, RedfishUrlError};
use crate::finding::{Found, MeterFinding};
use crate::meter::{About, Source};
use crate::{Boundary, UnknownBoundary};
use std::str::FromStr;

/// A choice of meters. Without a word: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    terms: Vec<Term>,
}

/// Error of a text that chooses no meters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The text is not a meter: take one of those that the message lists.
    #[error(
        "'{0}' is not a meter: all, none, a name that joulio power lists, a source (perf, powercap, hwmon, ipmi, nvme), a boundary (wall, psys, package, cores, dram, device), NAME=BOUNDARY or redfish=URL"
    )]
    NotAMeter(String),
    /// A BMC is to be read over Redfish, without a URL: give it.
    #[error("redfish: say where: redfish=https://HOST/redfish/v1/...")]
    NoUrl,
    /// The URL of a BMC is not valid: correct it.
    #[error(transparent)]
    Url(#[from] RedfishUrlError),
    /// The boundary of a sensor does not exist: take one that does.
    #[error(transparent)]
    Boundary(#[from] UnknownBoundary),
}

/// A word of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    All,
    None,
    Source(Source),
    Boundary(Boundary),
    Name(String),
    /// A sensor, and the boundary that the user declares for it.
    Declared(String, Boundary),
    Redfish(RedfishUrl),
}

/// Reason why a meter was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Not chosen.
    Left,
    /// Chosen with others of its source or boundary.
    BySource,
    /// Chosen by its own name.
    ByName,
}

impl Term {
    /// Whether the word names `about`, or its source or boundary.
    pub(crate) fn picks(&self, about: &About) -> bool {
        match self {
            Term::All => true,
            Term::None => false,
            Term::Source(source) => *source == about.source,
            Term::Boundary(boundary) => *boundary == about.zone.boundary,
            Term::Name(name) | Term::Declared(name, _) => *name == about.name,
            Term::Redfish(url) => url.meter_name() == about.name,
        }
    }

    /// Whether `found` explains why there is no meter for the word.
    pub(crate) fn concerns(&self, found: &MeterFinding) -> bool {
        match self {
            Term::All | Term::None => false,
            Term::Source(source) => *source == found.source,
            Term::Boundary(boundary) => found
                .zone
                .as_ref()
                .is_some_and(|zone| zone.boundary == *boundary),
            Term::Name(name) | Term::Declared(name, _) => *name == found.name,
            Term::Redfish(url) => url.meter_name() == found.name,
        }
    }

    /// Returns the word as it was written; `None` for terms that choose nothing of their own.
    pub(crate) fn word(&self) -> Option<String> {
        match self {
            Term::All | Term::None => None,
            Term::Source(source) => Some(source.to_string()),
            Term::Boundary(boundary) => Some(boundary.to_string()),
            Term::Name(name) | Term::Declared(name, _) => Some(name.clone()),
            Term::Redfish(url) => Some(url.meter_name()),
        }
    }
}

impl Select {
    /// Chooses the meter `name`, whatever characters its name contains.
    pub fn name(name: &str) -> Select {
        Select {
            terms: vec![Term::Name(name.into())],
        }
    }

    /// Returns the words of the choice.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter()
    }

    /// Chooses every meter that can be read.
    pub fn all() -> Select {
        Select::default()
    }

    /// Chooses no meter.
    pub fn none() -> Select {
        Select {
            terms: vec![Term::None],
        }
    }

    /// Adds the words of `other`.
    pub fn extend(&mut self, other: Select) {
        self.terms.extend(other.terms);
    }

    /// Returns how the meter `about` was chosen. Declared sensors and a BMC's URL add to a choice of all; beside other
    /// words they add themselves.
    pub(crate) fn choice(&self, about: &About) -> Choice {
        let picks = |term: &Term| match term {
            _ if !term.picks(about) => Choice::Left,
            Term::Name(_) | Term::Declared(..) | Term::Redfish(_) => Choice::ByName,
            _ => Choice::BySource,
        };
        let chosen = self.terms.iter().map(picks);
        let restricts = |term: &Term| !matches!(term, Term::Declared(..) | Term::Redfish(_));
        let by_default = match self.terms.iter().any(restricts) {
            true => Choice::Left,
            false => Choice::BySource,
        };
        let rank = |choice: &Choice| match choice {
            Choice::Left => 0,
            Choice::BySource => 1,
            Choice::ByName => 2,
        };
        chosen
            .max_by_key(rank)
            .into_iter()
            .chain([by_default])
            .max_by_key(rank)
            .unwrap_or(by_default)
    }

    /// Returns the boundary that the user declared for the sensor `name`.
    pub(crate) fn boundary_of(&self, name: &str) -> Option<Boundary> {
        self.terms.iter().find_map(|term| match term {
            Term::Declared(declared, boundary) if declared == name => Some(*boundary),
            _ => None,
        })
    }

    /// Returns the BMCs to read.
    pub(crate) fn redfish(&self) -> impl Iterator<Item = &RedfishUrl> {
        self.terms.iter().filter_map(|term| match term {
            Term::Redfish(url) => Some(url),
            _ => None,
        })
    }

    /// Returns names that nothing in `found` has.
    pub(crate) fn unmatched(&self, found: &[Found]) -> Vec<String> {
        let known = |name: &str| {
            found.iter().any(|found| match found {
                Found::Meter(meter) => meter.about().name == name,
                Found::Not(finding) => finding.name == name,
            })
        };
        let names = self.terms.iter().filter_map(|term| match term {
            Term::Name(name) | Term::Declared(name, _) if !known(name) => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }
}

impl FromStr for Select {
    type Err = SelectError;

    /// Parses `all`, `none`, a source, a boundary, a meter's name, `NAME=BOUNDARY`, `redfish=URL`.
    fn from_str(text: &str) -> Result<Select, SelectError> {
        let term = match text {
            "all" => Term::All,
            "none" => Term::None,
            _ => named(text)?,
        };
        Ok(Select { terms: vec![term] })
    }
}

fn named(text: &str) -> Result<Term, SelectError> {
    if let Some(url) = text.strip_prefix("redfish=") {
        return Ok(Term::Redfish(url.parse()?));
    }
    if let Some(source) = Source::ALL
        .into_iter()
        .find(|source| source.to_string() == text)
    {
        return match source {
            Source::Redfish => Err(SelectError::NoUrl),
            source => Ok(Term::Source(source)),
        };
    }
    if let Ok(boundary) = text.parse() {
        return Ok(Term::Boundary(boundary));
    }
    if !text.contains(':') {
        return Err(SelectError::NotAMeter(text.into()));
    }
    match text.rsplit_once('=') {
        Some((name, boundary)) => Ok(Term::Declared(name.into(), boundary.parse()?)),
        None => Ok(Term::Name(text.into())),
    }
}
