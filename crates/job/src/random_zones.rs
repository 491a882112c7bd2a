//! Zones of an area that random I/Os prefer, as fio's `random_distribution=zoned`.

use crate::ParseError;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Largest number of zones.
pub(crate) const MAX_ZONES: usize = 256;

/// Sums of percentages that count as 100.
const WHOLE: Range<f64> = 99.999..100.001;

/// A part of the area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomZone {
    /// Percent of the I/Os that begin in the zone.
    pub access: f64,
    /// Size of the zone in percent of the area.
    pub span: f64,
}

/// Zones of an area, from its start on. Together they have all of it, and all I/Os (`60/10:30/20:10/70`).
#[derive(Clone, Debug, PartialEq)]
pub struct RandomZones(Vec<RandomZone>);

impl RandomZones {
    /// Returns the zones from the start of the area on, at least one.
    pub fn zones(&self) -> &[RandomZone] {
        &self.0
    }

    /// Returns the blocks of each zone in an area of `blocks`: a block belongs to the zone in which it begins.
    pub fn blocks(&self, blocks: u64) -> Vec<Range<u64>> {
        let mut percent = 0.0;
        let ends = self.0.iter().map(|zone| {
            percent += zone.span;
            ((percent / 100.0 * blocks as f64).round() as u64).min(blocks)
        });
        let mut ends: Vec<u64> = ends.collect();
        if let Some(last) = ends.last_mut() {
            *last = blocks;
        }
        let mut start = 0;
        let parts = ends.into_iter().map(|end| {
            let part = start..end;
            start = end;
            part
        });
        parts.collect()
    }
}

impl fmt::Display for RandomZones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zones = self.0.iter();
        let zones = zones.map(|zone| format!("{}/{}", zone.access, zone.span));
        f.write_str(&zones.collect::<Vec<_>>().join(":"))
    }
}

impl FromStr for RandomZones {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<RandomZones, ParseError> {
        if text.contains(',') {
            return Err(ParseError::list(
                "reads and writes have the same zones: give one list",
            ));
        }
        if text.is_empty() {
            return Err(ParseError::list(
                "zones are percents of the I/Os and of the area: 60/10:40/90",
            ));
        }
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() > MAX_ZONES {
            let problem = format!("{} zones: at most {MAX_ZONES}", parts.len());
            return Err(ParseError::list(problem));
        }
        let (mut access, mut span) = (Vec::new(), Vec::new());
        for part in parts {
            let (of_ios, of_area) = part.split_once('/').unwrap_or((part, ""));
            access.push(percent(part, of_ios)?);
            span.push(percent(part, of_area)?);
        }
        let access = filled(access, "I/Os")?.into_iter();
        let zones = access.zip(filled(span, "area")?);
        let zones: Vec<_> = zones
            .map(|(access, span)| RandomZone { access, span })
            .collect();
        match zones
            .iter()
            .find(|zone| zone.access > 0.0 && zone.span == 0.0)
        {
            Some(empty) => Err(ParseError::list(format!(
                "{} percent of the I/Os cannot begin in none of the area",
                empty.access
            ))),
            None => Ok(RandomZones(zones)),
        }
    }
}

/// Parses a percentage; `None` if it is left out.
pub(crate) fn percent(part: &str, text: &str) -> Result<Option<f64>, ParseError> {
    if text.is_empty() {
        return Ok(None);
    }
    let percent = text.parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(Some).ok_or_else(|| {
        ParseError::form(
            part,
            "is not a percent of the I/Os and one of the area",
            "60/10",
        )
    })
}

/// Returns the percentages of `what`: those that were left out share the rest, as in fio.
pub(crate) fn filled(percents: Vec<Option<f64>>, what: &str) -> Result<Vec<f64>, ParseError> {
    let given: f64 = percents.iter().flatten().sum();
    let open = percents.iter().filter(|percent| percent.is_none()).count();
    if given >= WHOLE.end || open == 0 && given < WHOLE.start {
        let problem =
            format!("the percents of the {what} are {given} together: they have to be 100");
        return Err(ParseError::list(problem));
    }
    let each = (100.0 - given).max(0.0) / open.max(1) as f64;
    let filled = percents.into_iter();
    Ok(filled.map(|percent| percent.unwrap_or(each)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn zones(text: &str) -> Vec<(f64, f64)> {
        let zones: RandomZones = text.parse().unwrap();
        let zones = zones.zones().iter();
        zones.map(|zone| (zone.access, zone.span)).collect()
    }

    #[test]
    fn what_is_left_out_is_what_the_others_leave() {
        let whole = [(60.0, 10.0), (30.0, 20.0), (8.0, 30.0), (2.0, 40.0)];
        assert_eq!(zones("60/10:30/20:8/30:2/40"), whole);
        assert_eq!(
            zones("50/5:30/15:20/"),
            [(50.0, 5.0), (30.0, 15.0), (20.0, 80.0)]
        );
        assert_eq!(
            zones("90/10:/30:/"),
            [(90.0, 10.0), (5.0, 30.0), (5.0, 60.0)]
        );
    }

    #[test]
    fn what_makes_no_zones_is_refused() {
        for (text, why) in [
            ("60/10:30/20", "I/Os are 90 together"),
            ("60/10:40/20", "area are 30 together"),
            ("60/60:40/60", "area are 120 together"),
            ("60/10:40/x", "'40/x' is not"),
            ("60/10:-1/20:", "'-1/20' is not"),
            ("60/10:40/90,50/50:50/50", "give one list"),
            ("60/0:40/100", "cannot begin in none"),
        ] {
            let error = text.parse::<RandomZones>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!("1/1:".repeat(300).parse::<RandomZones>().is_err());
    }

    proptest! {
        #[test]
        fn the_zones_are_the_area(
            spans in prop::collection::vec(1..1000_u32, 1..20),
            blocks in 1..10_000_000_u64,
        ) {
            let all: u32 = spans.iter().sum();
            let zones = spans.iter().map(|&span| RandomZone {
                access: 100.0 / spans.len() as f64,
                span: f64::from(span) * 100.0 / f64::from(all),
            });
            let zones = RandomZones(zones.collect());
            let parts = zones.blocks(blocks);
            let mut next = 0;
            for part in &parts {
                prop_assert!(part.start == next && part.end >= part.start);
                next = part.end;
            }
            prop_assert_eq!((parts.len(), next), (spans.len(), blocks));
        }
    }
}
