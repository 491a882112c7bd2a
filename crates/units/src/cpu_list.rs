//! Lists of CPUs, as the kernel writes them: `0-3,8`.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Limit of the CPUs in a list: the kernel is built for fewer (CONFIG_NR_CPUS).
const MAX_CPUS: u32 = 8192;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

/// Error of a text that is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a list of CPUs: write numbers and ranges, as 0-3,8")]
pub struct ParseCpuListError {
    /// Text that was given.
    pub text: String,
}

/// Parses a list of CPUs, and returns them in its order; none for an empty text.
///
/// # Errors
/// [`ParseCpuListError`], for a text that is no list.
pub fn parse_cpus(text: &str) -> Result<Vec<u32>, ParseCpuListError> {
    let refused = || ParseCpuListError { text: text.into() };
    let number = |word: &str| {
        let number = word.trim().parse().ok();
        number
            .filter(|&cpu: &u32| cpu < MAX_CPUS)
            .ok_or_else(refused)
    };
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        // A list with repeated CPUs has no more entries than there can be CPUs.
        if first > last || cpus.len() > MAX_CPUS as usize {
            return Err(refused());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

impl CpuList {
    /// Whether the list has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the CPUs, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether every CPU of the list is in `other`.
    pub fn is_subset(&self, other: &CpuList) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> CpuList {
        CpuList(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = ParseCpuListError;

    fn from_str(text: &str) -> Result<CpuList, ParseCpuListError> {
        Ok(parse_cpus(text)?.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    /// Writes ranges of adjacent numbers, as the kernel does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|&next| next == last + 1) {
                last = next;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_list_is_written_as_the_kernel_writes_it() {
        for (text, written) in [
            ("", ""),
            ("3", "3"),
            ("0,1,2,8", "0-2,8"),
            ("4-5,0-1", "0-1,4-5"),
            ("0-3,2-4", "0-4"),
        ] {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.to_string(), written);
        }
        for text in ["x", "1-", "3-1", "0,,1", "-1", "0-4294967295", " "] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[test]
    fn cpus_keep_the_order_in_which_they_are_named() {
        assert_eq!(parse_cpus("8,0-2, 1").unwrap(), [8, 0, 1, 2, 1]);
        assert_eq!(parse_cpus("").unwrap(), Vec::<u32>::new());
        let many = "0-8191,".repeat(3);
        assert!(parse_cpus(&many[..many.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cpus in prop::collection::vec(0_u32..300, 0..40)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn no_text_panics(text in "[0-9,x-]{0,12}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
