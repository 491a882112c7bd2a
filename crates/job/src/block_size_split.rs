//! Block sizes that are drawn for each I/O, as with fio's `bssplit` and `bsrange`.

use crate::quantity::format_size;
use crate::{ParseError, parse_size};
use rand_distr::weighted::WeightedAliasIndex;
use std::fmt;
use std::str::FromStr;

/// Largest number of sizes of a split.
const MAX_SIZES: u64 = 256;

/// Sizes that are drawn for each I/O: by percentages (`4k/60:8k/40`), or all multiples of the smallest with equal
/// probability (`4k-64k`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizeSplit {
    /// Bytes of an I/O, with the weight of that size; at least one.
    sizes: Vec<(u64, u8)>,
    /// True if the text is a range.
    range: bool,
}

impl BlockSizeSplit {
    /// True if `text` has the form of a split or a range.
    pub(crate) fn is_meant_by(text: &str) -> bool {
        text.contains(['/', '-'])
    }

    /// Returns the sizes in bytes, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.sizes.iter().map(|(bytes, _)| *bytes)
    }

    /// Returns the bytes of the longest I/O.
    pub fn max(&self) -> u64 {
        self.iter().max().unwrap_or_default()
    }

    /// Returns the largest length of which every size is a multiple.
    pub fn common_divisor(&self) -> u64 {
        self.iter().fold(0, common_divisor)
    }

    /// Returns the name of fio's option that takes the text.
    pub fn fio_option(&self) -> &'static str {
        match self.range {
            true => "bsrange",
            false => "bssplit",
        }
    }

    /// Returns the distribution from which the index of a size is drawn.
    pub(crate) fn draw(&self) -> Option<WeightedAliasIndex<u32>> {
        let weights = self.sizes.iter().map(|(_, weight)| u32::from(*weight));
        WeightedAliasIndex::new(weights.collect()).ok()
    }
}

/// Returns the greatest common divisor, by Euclid's algorithm.
pub(crate) fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for BlockSizeSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.range {
            let smallest = self.iter().min().unwrap_or_default();
            return write!(f, "{}-{}", format_size(smallest), format_size(self.max()));
        }
        let parts = self.sizes.iter();
        let parts = parts.map(|(bytes, percent)| format!("{}/{percent}", format_size(*bytes)));
        f.write_str(&parts.collect::<Vec<_>>().join(":"))
    }
}

impl FromStr for BlockSizeSplit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<BlockSizeSplit, ParseError> {
        if let Some((least, most)) = text.split_once('-') {
            return range(text, parse_size(least)?, parse_size(most)?);
        }
        let mut sizes = Vec::new();
        for part in text.split(':') {
            let (size, percent) = part.split_once('/').unwrap_or((part, ""));
            let percent = match percent {
                "" => None,
                number => Some(
                    number
                        .parse::<u8>()
                        .ok()
                        .filter(|percent| *percent <= 100)
                        .ok_or_else(|| {
                            ParseError::form(part, "is not a size and its percent", "4k/60")
                        })?,
                ),
            };
            sizes.push((parse_size(size)?, percent));
        }
        if sizes.len() as u64 > MAX_SIZES {
            let problem = format!("{} sizes: at most {MAX_SIZES}", sizes.len());
            return Err(ParseError::list(problem));
        }
        let given: u32 = sizes
            .iter()
            .flat_map(|(_, percent)| *percent)
            .map(u32::from)
            .sum();
        let open = sizes
            .iter()
            .filter(|(_, percent)| percent.is_none())
            .count() as u32;
        let left = 100u32.checked_sub(given);
        let each = match (left, open) {
            (Some(0), 0) => 0,
            // Sizes without a percentage share the rest equally, as in fio.
            (Some(left), open) if open > 0 && left >= open => left / open,
            _ => {
                let problem = "the percents of the sizes have to be 100 together";
                return Err(ParseError::part(text, problem));
            }
        };
        let mut extra = left.unwrap_or(0) - each * open;
        let sizes = sizes.into_iter().map(|(bytes, percent)| {
            let percent = percent.unwrap_or_else(|| {
                let one = u32::from(extra > 0);
                extra -= one;
                (each + one) as u8
            });
            (bytes, percent)
        });
        Ok(BlockSizeSplit {
            sizes: sizes.filter(|(_, percent)| *percent > 0).collect(),
            range: false,
        })
    }
}

/// Returns all multiples of `least` up to `most`, with equal weights.
fn range(text: &str, least: u64, most: u64) -> Result<BlockSizeSplit, ParseError> {
    if least == 0 || most < least || !most.is_multiple_of(least) {
        return Err(ParseError::form(
            text,
            "is not a range of sizes",
            "write 4k-64k, the larger a multiple of the smaller",
        ));
    }
    let count = most / least;
    if count > MAX_SIZES {
        let problem = format!("'{text}' has {count} sizes: at most {MAX_SIZES}");
        return Err(ParseError::list(problem));
    }
    Ok(BlockSizeSplit {
        sizes: (1..=count).map(|times| (times * least, 1)).collect(),
        range: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_given_or_share_what_is_left() {
        let split = |text: &str| text.parse::<BlockSizeSplit>();
        let sizes = |text: &str| split(text).expect(text).sizes;
        assert_eq!(sizes("4k/60:8k/40"), [(4096, 60), (8192, 40)]);
        assert_eq!(
            sizes("4k/50:8k/:16k/"),
            [(4096, 50), (8192, 25), (16384, 25)]
        );
        assert_eq!(sizes("4k/:8k/:16k/"), [(4096, 34), (8192, 33), (16384, 33)]);
        assert_eq!(sizes("4k/100:8k/0"), [(4096, 100)]);
        assert_eq!(sizes("512-2k").len(), 4);
        assert_eq!(
            split("512-2k").map(|it| it.to_string()).as_deref(),
            Ok("512-2k")
        );
        assert_eq!(split("8k/10:512/90").map(|it| it.common_divisor()), Ok(512));
        for wrong in [
            "4k/60:8k/30",
            "4k/60:8k/60",
            "4k/101",
            "4k/x",
            "/100",
            "8k-4k",
            "4k-6k",
            "0-4k",
            "512-1M",
            "4k-",
            "4k/100:8k",
        ] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_draw_keeps_the_percents() {
        use rand_distr::Distribution;
        use rand_pcg::rand_core::SeedableRng;
        let split: BlockSizeSplit = "4k/10:8k/90".parse().expect("a split");
        let draw = split.draw().expect("weights");
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let first = (0..10_000)
            .filter(|_| draw.sample(&mut random) == 0)
            .count();
        assert!((900..1_100).contains(&first), "{first}");
    }
}
