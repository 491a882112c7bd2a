//! Feature 08h, Interrupt Coalescing (Base 5.27.1.6), in the form that users write and read.

use joulio_nvme_spec::feature::InterruptCoalescing;

/// Microseconds in a unit of TIME (Base figure 324).
const UNIT_US: u32 = 100;

/// Error of a text that is no interrupt coalescing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: write off, or 1 to 256 completions and up to 25500 us in steps of 100, as 8,200")]
pub struct ParseCoalescingError {
    /// Text that was given.
    pub text: String,
}

/// Parses `off`, or completions and microseconds, as `8,200`.
///
/// # Errors
/// The text is neither, or exceeds the range of the feature.
pub fn parse(text: &str) -> Result<InterruptCoalescing, ParseCoalescingError> {
    if text == "off" {
        return Ok(InterruptCoalescing::new());
    }
    let refused = || ParseCoalescingError { text: text.into() };
    let (count, time) = text.split_once(',').ok_or_else(refused)?;
    let count: u32 = count.parse().map_err(|_| refused())?;
    let time: u32 = time.parse().map_err(|_| refused())?;
    let thr = count.checked_sub(1).and_then(|thr| u8::try_from(thr).ok());
    let units = u8::try_from(time / UNIT_US)
        .ok()
        .filter(|_| time.is_multiple_of(UNIT_US));
    match (thr, units) {
        (Some(thr), Some(units)) => Ok(InterruptCoalescing::new().with_thr(thr).with_time(units)),
        _ => Err(refused()),
    }
}

/// Describes the feature: `off`, or `8 completions or 200 us`.
pub fn describe(value: InterruptCoalescing) -> String {
    match coalesced(value) {
        None => "off".into(),
        Some((completions, us)) => format!("{completions} completions or {us} us"),
    }
}

/// Returns completions and microseconds of coalescing that is on; `None` when it is off.
pub fn coalesced(value: InterruptCoalescing) -> Option<(u32, u32)> {
    let on = value.thr() > 0 && value.time() > 0;
    on.then(|| (completions(value), microseconds(value)))
}

/// Returns the completions for which one interrupt is raised, 1 to 256 (THR, which counts from 0).
pub fn completions(value: InterruptCoalescing) -> u32 {
    u32::from(value.thr()) + 1
}

/// Returns the microseconds that a completion may wait for others, 0 to 25500 (TIME).
pub fn microseconds(value: InterruptCoalescing) -> u32 {
    u32::from(value.time()) * UNIT_US
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_does_not_fit_is_refused() {
        for (text, words) in [
            ("off", "off"),
            ("8,200", "8 completions or 200 us"),
            ("256,25500", "256 completions or 25500 us"),
            ("1,100", "off"),
        ] {
            assert_eq!(parse(text).map(describe).as_deref(), Ok(words));
        }
        for text in [
            "",
            "8",
            "0,100",
            "257,100",
            "8,150",
            "8,25600",
            "-1,100",
            "8,4294967296",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
