//! Pattern and direction of a workload's I/Os.

use crate::ParseError;
use joulio_units::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Pattern and direction, as fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReadWrite {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random reads and writes.
    RandRw,
    /// Sequential reads and writes.
    Rw,
    /// Sequential trims.
    Trim,
    /// Random trims.
    RandTrim,
    /// Blocks in sequence, each trimmed and then written.
    TrimWrite,
    /// Random blocks, each trimmed and then written.
    RandTrimWrite,
}

impl ReadWrite {
    const ALL: [(ReadWrite, &'static str); 10] = [
        (ReadWrite::Read, "read"),
        (ReadWrite::Write, "write"),
        (ReadWrite::RandRead, "randread"),
        (ReadWrite::RandWrite, "randwrite"),
        (ReadWrite::RandRw, "randrw"),
        (ReadWrite::Rw, "rw"),
        (ReadWrite::Trim, "trim"),
        (ReadWrite::RandTrim, "randtrim"),
        (ReadWrite::TrimWrite, "trimwrite"),
        (ReadWrite::RandTrimWrite, "randtrimwrite"),
    ];

    /// Returns random I/Os of `direction`; reads, if it is neither reading nor writing.
    pub fn random(direction: Direction) -> ReadWrite {
        match direction {
            Direction::Write => ReadWrite::RandWrite,
            Direction::Read | Direction::Other => ReadWrite::RandRead,
        }
    }

    /// Returns random I/Os of which `read_percent` percent, 0 to 100, are reads.
    pub fn random_mix(read_percent: u8) -> ReadWrite {
        match read_percent {
            0 => ReadWrite::RandWrite,
            100 => ReadWrite::RandRead,
            _ => ReadWrite::RandRw,
        }
    }

    /// Returns true for random offsets, false for sequential ones.
    pub fn is_random(self) -> bool {
        matches!(
            self,
            ReadWrite::RandRead
                | ReadWrite::RandWrite
                | ReadWrite::RandRw
                | ReadWrite::RandTrim
                | ReadWrite::RandTrimWrite
        )
    }

    /// Returns true if some of the I/Os have `direction`. A trim counts as a write, since it destroys data.
    pub fn does(self, direction: Direction) -> bool {
        let reads = matches!(
            self,
            ReadWrite::Read | ReadWrite::RandRead | ReadWrite::Rw | ReadWrite::RandRw
        );
        match direction {
            Direction::Read => reads,
            Direction::Write => !matches!(self, ReadWrite::Read | ReadWrite::RandRead),
            Direction::Other => false,
        }
    }

    /// Returns true if some of the I/Os are trims.
    pub fn trims(self) -> bool {
        self.only_trims() || self.trims_and_writes()
    }

    /// Returns true if all I/Os are trims.
    pub fn only_trims(self) -> bool {
        matches!(self, ReadWrite::Trim | ReadWrite::RandTrim)
    }

    /// Returns true if each block is trimmed and then written.
    pub fn trims_and_writes(self) -> bool {
        matches!(self, ReadWrite::TrimWrite | ReadWrite::RandTrimWrite)
    }

    /// Returns how many I/Os count as one in a number of I/Os, as in fio: a trim and the write of its block do.
    pub fn ios_of_one(self) -> u64 {
        1 + u64::from(self.trims_and_writes())
    }

    /// Returns the percentage of reads, 0 to 100; a mixed workload has `mix` percent.
    pub fn read_percent(self, mix: u8) -> u8 {
        match (self.does(Direction::Read), self.does(Direction::Write)) {
            (true, true) => mix,
            (true, false) => 100,
            (false, _) => 0,
        }
    }
}

impl fmt::Display for ReadWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(rw, _)| rw == self)
            .map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for ReadWrite {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = if text == "readwrite" { "rw" } else { text };
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(rw, _)| *rw)
            .ok_or_else(|| ParseError::NotOneOf {
                value: text.into(),
                known: Self::ALL.map(|(_, name)| name).join(", "),
            })
    }
}
