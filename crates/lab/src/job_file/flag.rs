//! Flags that are equivalent to options of a section.

/// Flag of `joulio bench`, and the option of a section that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Number of the option's line, from 1; 0 on a command line.
    pub line: usize,
    /// The option as it is written; the section's name in brackets if the flag is a default of fio's.
    pub option: String,
    /// The flag as one argument, with its value if there is one: `--bs=4k`.
    pub argument: String,
}

impl Flag {
    /// Returns the flag's name with its hyphens: `--bs`.
    pub fn name(&self) -> &str {
        let parts = self.argument.split_once('=');
        parts.map_or(self.argument.as_str(), |(name, _)| name)
    }

    /// Returns the flag's value; `None` if it is on without one.
    pub fn value(&self) -> Option<&str> {
        self.argument.split_once('=').map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_equals_sign_is_before_the_value() {
        let flag = |argument: &str| Flag {
            line: 1,
            option: String::new(),
            argument: argument.into(),
        };
        let slo = flag("--slo=p99=1ms");
        assert_eq!((slo.name(), slo.value()), ("--slo", Some("p99=1ms")));
        let process = flag("--process");
        assert_eq!((process.name(), process.value()), ("--process", None));
    }
}
