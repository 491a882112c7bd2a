//! Release of the kernel.

use std::fmt;

/// Release of a kernel: the two numbers on which features depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Major number: 6 of 6.18.
    pub major: u32,
    /// Minor number: 18 of 6.18.
    pub minor: u32,
}

impl Release {
    /// Returns the release of the running kernel; `None` if it does not begin with two numbers.
    pub fn running() -> Option<Release> {
        Release::parse(&rustix::system::uname().release().to_string_lossy())
    }

    /// Parses a text such as `6.18.44-cloud-amd64` (uname(2)).
    pub fn parse(text: &str) -> Option<Release> {
        let mut parts = text.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let rest = parts.next()?;
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let minor = rest[..digits.unwrap_or(rest.len())].parse().ok()?;
        Some(Release { major, minor })
    }

    /// Returns the release `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Release {
        Release { major, minor }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases_are_read_and_ordered_by_number() {
        let of = |text| Release::parse(text);
        assert_eq!(of("6.18.44-fc-v595"), Some(Release::new(6, 18)));
        assert_eq!(of("5.10"), Some(Release::new(5, 10)));
        assert_eq!(of("7.2-rc1"), Some(Release::new(7, 2)));
        assert_eq!(of("6"), None);
        assert_eq!(of("6.x"), None);
        assert!(Release::new(6, 3) < Release::new(6, 18));
        assert!(Release::running().is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = Release::parse(&text);
        }
    }
}
