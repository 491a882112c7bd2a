//! Zones in bytes that random I/Os prefer, as fio's `random_distribution=zoned_abs`.

use crate::quantity::format_size;
use crate::random_zones::{MAX_ZONES, filled, percent};
use crate::{ParseError, parse_size};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A part of the area, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomZoneAbs {
    /// Percent of the I/Os that begin in the zone.
    pub access: f64,
    /// Bytes of the zone.
    pub bytes: u64,
}

/// Zones of an area, from its start on: together they get all I/Os. The area after them gets none (`60/20G:40/80G`).
#[derive(Clone, Debug, PartialEq)]
pub struct RandomZonesAbs(Vec<RandomZoneAbs>);

impl RandomZonesAbs {
    /// Returns the zones from the start of the area on, at least one.
    pub fn zones(&self) -> &[RandomZoneAbs] {
        &self.0
    }

    /// Returns the bytes of all zones together.
    pub fn bytes(&self) -> u64 {
        let zones = self.0.iter();
        zones.fold(0, |sum, zone| sum.saturating_add(zone.bytes))
    }

    /// Returns the blocks of each zone in an area of `blocks` of `bs` bytes: a block belongs to the zone in which it
    /// begins.
    pub fn blocks(&self, blocks: u64, bs: u64) -> Vec<Range<u64>> {
        let (mut bytes, mut start) = (0_u64, 0);
        let parts = self.0.iter().map(|zone| {
            bytes = bytes.saturating_add(zone.bytes);
            let end = bytes.div_ceil(bs.max(1)).min(blocks);
            let part = start..end;
            start = end;
            part
        });
        parts.collect()
    }
}

impl fmt::Display for RandomZonesAbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zones = self.0.iter();
        let zones = zones.map(|zone| format!("{}/{}", zone.access, format_size(zone.bytes)));
        f.write_str(&zones.collect::<Vec<_>>().join(":"))
    }
}

impl FromStr for RandomZonesAbs {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<RandomZonesAbs, ParseError> {
        if text.contains(',') {
            let problem = "reads and writes have the same zones: give one list";
            return Err(ParseError::list(problem));
        }
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() > MAX_ZONES {
            let problem = format!("{} zones: at most {MAX_ZONES}", parts.len());
            return Err(ParseError::list(problem));
        }
        let (mut access, mut bytes) = (Vec::new(), Vec::new());
        for part in parts {
            let wrong =
                || ParseError::form(part, "is not a percent of the I/Os and a size", "60/20G");
            let (of_ios, size) = part.split_once('/').ok_or_else(wrong)?;
            access.push(percent(part, of_ios)?);
            let size = parse_size(size).ok().filter(|size| *size > 0);
            bytes.push(size.ok_or_else(wrong)?);
        }
        let zones = filled(access, "I/Os")?.into_iter().zip(bytes);
        let zones = zones.map(|(access, bytes)| RandomZoneAbs { access, bytes });
        Ok(RandomZonesAbs(zones.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_the_zone_that_they_begin_in() {
        let zones: RandomZonesAbs = "60/8k:/6k:10/2k".parse().unwrap();
        assert_eq!(zones.to_string(), "60/8k:30/6k:10/2k");
        assert_eq!(zones.bytes(), 16 << 10);
        assert_eq!(zones.blocks(100, 4096), [0..2, 2..4, 4..4]);
        assert_eq!(zones.blocks(100, 512), [0..16, 16..28, 28..32]);
        assert_eq!(zones.blocks(20, 512), [0..16, 16..20, 20..20]);
    }

    #[test]
    fn what_makes_no_zones_is_refused() {
        for (text, why) in [
            ("", "'' is not a percent of the I/Os and a size"),
            ("60/1g:30/1g", "I/Os are 90 together"),
            ("60/1g:40", "'40' is not"),
            ("60/1g:40/0", "'40/0' is not"),
            ("60/1g:40/x", "'40/x' is not"),
            ("60/1g:40/1g,50/1g:50/1g", "give one list"),
        ] {
            let error = text.parse::<RandomZonesAbs>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!("1/1g:".repeat(300).parse::<RandomZonesAbs>().is_err());
    }
}
