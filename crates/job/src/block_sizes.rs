//! Block sizes of a workload's I/Os.

use crate::block_size_split::{BlockSizeSplit, common_divisor};
use crate::quantity::format_size;
use crate::{ParseError, parse_size};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::once;
use std::str::FromStr;

/// `--bs`: bytes of an I/O, one size or several. Jobs take them in turn: with `4k:8k` half of the
/// jobs are at 4 KiB and half at 8 KiB; or each I/O draws its own: `4k/60:8k/40`, `4k-64k`. In JSON a
/// number, a list, or that text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "OneOrMore", into = "OneOrMore")]
pub struct BlockSizes {
    /// The size of the first job; of sizes that are drawn the longest.
    first: u64,
    rest: Vec<u64>,
    split: Option<BlockSizeSplit>,
}

/// JSON form of the sizes.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum OneOrMore {
    One(u64),
    More(Vec<u64>),
    Drawn(String),
}

impl BlockSizes {
    /// Returns the sizes, in the order of the jobs, or those that are drawn.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let split = self.split.iter().flat_map(BlockSizeSplit::iter);
        let in_turn = once(self.first).chain(self.rest.iter().copied());
        split.chain(in_turn.filter(|_| self.split.is_none()))
    }

    /// Returns the sizes that are drawn for each I/O; `None`: each job has one size.
    pub fn split(&self) -> Option<&BlockSizeSplit> {
        self.split.as_ref()
    }

    /// Returns the size of job `index`, the longest if it draws several.
    pub fn of_job(&self, index: usize) -> u64 {
        match index % self.count() {
            0 => self.first,
            turn => self.rest[turn - 1],
        }
    }

    /// Returns the number of sizes that the jobs take in turn.
    pub fn count(&self) -> usize {
        1 + self.rest.len()
    }

    /// Returns the shortest length that is a whole number of blocks of every size; `None` beyond 64 bits.
    pub(crate) fn common_multiple(&self) -> Option<u64> {
        let mut sizes = self.iter();
        sizes.try_fold(1, |multiple: u64, size| {
            multiple.checked_mul(size / common_divisor(multiple, size).max(1))
        })
    }
}

impl From<u64> for BlockSizes {
    fn from(first: u64) -> BlockSizes {
        BlockSizes {
            first,
            rest: Vec::new(),
            split: None,
        }
    }
}

impl TryFrom<OneOrMore> for BlockSizes {
    type Error = ParseError;

    fn try_from(sizes: OneOrMore) -> Result<BlockSizes, ParseError> {
        match sizes {
            OneOrMore::One(size) => Ok(size.into()),
            OneOrMore::More(sizes) => sizes.try_into(),
            OneOrMore::Drawn(text) => text.parse(),
        }
    }
}

impl TryFrom<Vec<u64>> for BlockSizes {
    type Error = ParseError;

    fn try_from(mut sizes: Vec<u64>) -> Result<BlockSizes, ParseError> {
        if sizes.is_empty() {
            return Err(ParseError::list("no size"));
        }
        let rest = sizes.split_off(1);
        Ok(BlockSizes {
            first: sizes[0],
            rest,
            split: None,
        })
    }
}

impl From<BlockSizes> for OneOrMore {
    fn from(sizes: BlockSizes) -> OneOrMore {
        if let Some(split) = &sizes.split {
            return OneOrMore::Drawn(split.to_string());
        }
        match sizes.rest.as_slice() {
            [] => OneOrMore::One(sizes.first),
            _ => OneOrMore::More(sizes.iter().collect()),
        }
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(split) = &self.split {
            return split.fmt(f);
        }
        let sizes: Vec<_> = self.iter().map(format_size).collect();
        f.write_str(&sizes.join(":"))
    }
}

impl FromStr for BlockSizes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<BlockSizes, ParseError> {
        if BlockSizeSplit::is_meant_by(text) {
            let split: BlockSizeSplit = text.parse()?;
            return Ok(BlockSizes {
                first: split.max(),
                rest: Vec::new(),
                split: Some(split),
            });
        }
        let sizes: Result<Vec<_>, _> = text.split(':').map(parse_size).collect();
        sizes?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_take_the_sizes_in_turn() {
        let sizes: BlockSizes = "4k:8k:512".parse().unwrap();
        let jobs: Vec<_> = (0..5).map(|job| sizes.of_job(job)).collect();
        assert_eq!(jobs, [4096, 8192, 512, 4096, 8192]);
        assert_eq!(sizes.to_string(), "4k:8k:512");
        assert_eq!(sizes.common_multiple(), Some(8192));
        for wrong in ["", "4k:", ":4k", "4k,8k", "4k::8k"] {
            assert!(wrong.parse::<BlockSizes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn drawn_sizes_are_one_jobs() {
        for text in ["4k/60:16k/40", "4k-16k"] {
            let sizes: BlockSizes = text.parse().unwrap();
            assert_eq!((sizes.count(), sizes.of_job(3)), (1, 16384));
            let spacing = sizes.split().map(BlockSizeSplit::common_divisor);
            assert_eq!((spacing, sizes.to_string()), (Some(4096), text.into()));
            let json = serde_json::to_string(&sizes).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<BlockSizes>(&json).unwrap(), sizes);
        }
    }

    #[test]
    fn one_size_is_a_number_in_json_and_several_are_a_list() {
        for (text, json) in [("4k", "4096"), ("4k:8k", "[4096,8192]")] {
            let sizes: BlockSizes = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&sizes).unwrap(), json);
            assert_eq!(serde_json::from_str::<BlockSizes>(json).unwrap(), sizes);
        }
        assert!(serde_json::from_str::<BlockSizes>("[]").is_err());
    }

    #[test]
    fn sizes_whose_multiple_is_too_long_have_none() {
        let primes = [(1 << 61) - 1, (1 << 31) - 1].to_vec();
        let sizes = BlockSizes::try_from(primes).unwrap();
        assert_eq!(sizes.common_multiple(), None);
    }
}
