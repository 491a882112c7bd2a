//! Block sizes of a workload's I/Os.

use crate::parse_size;
use crate::quantity::format_size;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::once;
use std::str::FromStr;

/// `--bs`: bytes of an I/O, one size or several. Jobs take them in turn: with `4k:8k` half of the
/// jobs are at 4 KiB and half at 8 KiB. In JSON a number, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OneOrMore", into = "OneOrMore")]
pub struct BlockSizes {
    first: u64,
    rest: Vec<u64>,
}

/// In JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(u64),
    More(Vec<u64>),
}

impl BlockSizes {
    /// Sizes, in the order of the jobs.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        once(self.first).chain(self.rest.iter().copied())
    }

    /// The size of job `index`.
    pub fn of_job(&self, index: usize) -> u64 {
        match index % self.count() {
            0 => self.first,
            turn => self.rest[turn - 1],
        }
    }

    /// Number of sizes.
    pub fn count(&self) -> usize {
        1 + self.rest.len()
    }

    /// The shortest length that is a whole number of blocks of every size; `None` past 64 bits.
    pub(crate) fn common_multiple(&self) -> Option<u64> {
        let mut sizes = self.iter();
        sizes.try_fold(1, |multiple: u64, size| {
            multiple.checked_mul(size / common_divisor(multiple, size).max(1))
        })
    }
}

/// Euclid's.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<u64> for BlockSizes {
    fn from(first: u64) -> BlockSizes {
        BlockSizes {
            first,
            rest: Vec::new(),
        }
    }
}

impl TryFrom<OneOrMore> for BlockSizes {
    type Error = &'static str;

    fn try_from(sizes: OneOrMore) -> Result<BlockSizes, &'static str> {
        match sizes {
            OneOrMore::One(size) => Ok(size.into()),
            OneOrMore::More(sizes) => sizes.try_into(),
        }
    }
}

impl TryFrom<Vec<u64>> for BlockSizes {
    type Error = &'static str;

    fn try_from(mut sizes: Vec<u64>) -> Result<BlockSizes, &'static str> {
        if sizes.is_empty() {
            return Err("no size");
        }
        let rest = sizes.split_off(1);
        Ok(BlockSizes {
            first: sizes[0],
            rest,
        })
    }
}

impl From<BlockSizes> for OneOrMore {
    fn from(sizes: BlockSizes) -> OneOrMore {
        match sizes.rest.as_slice() {
            [] => OneOrMore::One(sizes.first),
            _ => OneOrMore::More(sizes.iter().collect()),
        }
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<_> = self.iter().map(format_size).collect();
        f.write_str(&sizes.join(":"))
    }
}

impl FromStr for BlockSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<BlockSizes, String> {
        let sizes: Result<Vec<_>, _> = text.split(':').map(parse_size).collect();
        Ok(sizes?.try_into()?)
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
