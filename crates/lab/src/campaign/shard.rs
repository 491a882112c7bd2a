//! Parts of a campaign that different machines run independently.

use std::fmt;
use std::str::FromStr;

/// One of several equal parts of a campaign, written as `3/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    number: usize,
    of: usize,
}

impl Shard {
    /// The whole campaign.
    pub const ALL: Shard = Shard { number: 1, of: 1 };

    /// Returns true if the run with this number in the campaign, from 0, belongs to the shard. Runs are dealt out in
    /// turn, so that every shard gets some of the long ones.
    pub fn has(self, run: usize) -> bool {
        run % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/');
        let parse = |part: &str| part.parse::<usize>().ok();
        match parts.and_then(|(number, of)| Some((parse(number)?, parse(of)?))) {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err(format!(
                "'{text}' is not a shard: write 3/16, the third of sixteen"
            )),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}
