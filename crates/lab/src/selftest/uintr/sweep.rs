//! Interrupts at each instruction of the window between the check and the sleep, and of the handler itself. A
//! breakpoint of the CPU, set at each byte in turn, raises them.

use super::super::check::SelftestCheck;
use super::super::error::SelftestError;
use super::super::latency::Latency;
use super::super::report::Parts;
use super::setup::UintrSetup;
use joulio_cpu::Tsc;
use joulio_cpu::uintr::{Code, Once, UintrError};
use joulio_units::Nanos;
use std::ops::Range;

/// Time after which a wait ends if nothing else ends it.
const LONG: Nanos = Nanos::from_millis(100);
/// Highest bit of the half of a deadline that TPAUSE takes in EAX. How the deadline is split must not affect how a wait
/// ends. The bit changes about once a second, so a test with arbitrary deadlines would use only one of its values.
const TOP_OF_LOW_HALF: u64 = 1 << 31;
/// Number of tries for each byte. One is not enough: another thread may run, and the mark that follows keeps the wait
/// from its TPAUSE; or a timer may end a sleep that should not have begun.
const TRIES: usize = 5;

/// Results of trying the addresses of some code.
#[derive(Default)]
struct Swept {
    /// Addresses at which the breakpoint was hit, which are those of instructions.
    hits: Vec<usize>,
    lost: u64,
}

/// Result of trying one address.
enum Met {
    /// No instruction begins at the address.
    Nothing,
    Seen,
    Lost,
}

impl Swept {
    /// Tries the address `at`.
    fn address(
        &mut self,
        at: usize,
        mut once: impl FnMut() -> Result<Met, UintrError>,
    ) -> Result<(), SelftestError> {
        for _ in 0..TRIES {
            let met = once()?;
            if !matches!(met, Met::Nothing) && self.hits.last() != Some(&at) {
                self.hits.push(at);
            }
            self.lost += u64::from(matches!(met, Met::Lost));
        }
        Ok(())
    }

    fn judge(&self, name: &str, code: &Code, range: &Range<usize>) -> SelftestCheck {
        let expected = code.instructions.iter().filter(|at| range.contains(at));
        let expected: Vec<_> = expected.copied().collect();
        let mut check = SelftestCheck::new(name);
        check.count("addresses", range.len() as u64);
        check.count("instructions", expected.len() as u64);
        check.count("hit", self.hits.len() as u64);
        check.count("lost", self.lost);
        check.demand(self.hits == expected, || {
            let (hit, all) = (self.hits.len(), expected.len());
            format!("{hit} addresses were met, and {all} instructions begin there")
        });
        check.demand(self.lost == 0, || format!("{} lost", self.lost));
        check
    }
}

/// Returns the first counter value from `from` on in which the bit is `set`.
fn with_top(from: u64, set: bool) -> u64 {
    if (from & TOP_OF_LOW_HALF != 0) == set {
        return from;
    }
    // The next value in which the bit changes has only zeroes below it.
    (from | (TOP_OF_LOW_HALF - 1)) + 1
}

/// Returns true if a round that was marked before the sleep did not sleep: neither the system's limit nor the deadline
/// ended it.
fn prompt(once: Once, deadline: u64) -> bool {
    once.marked && !once.limited && Tsc::now() < deadline
}

fn met(seen: bool) -> Met {
    match seen {
        true => Met::Seen,
        false => Met::Lost,
    }
}

/// Tests an interrupt at each byte from the first instruction of a wait to its TPAUSE, with both kinds of deadlines.
pub fn wait(setup: &UintrSetup, parts: &mut Parts) -> Result<(), SelftestError> {
    for set in [false, true] {
        wait_until(setup, set, parts)?;
    }
    Ok(())
}

fn wait_until(setup: &UintrSetup, set: bool, parts: &mut Parts) -> Result<(), SelftestError> {
    let UintrSetup {
        receiver, source, ..
    } = setup;
    let code = Code::here();
    let mut swept = Swept::default();
    for at in code.wait.clone() {
        swept.address(at, || {
            let before = source.raised()?;
            source.raise_at(Some(at))?;
            receiver.clear();
            let deadline = with_top(Tsc::get().after(LONG), set);
            let once = receiver.wait_once(deadline)?;
            let prompt = prompt(once, deadline);
            source.raise_at(None)?;
            Ok(match source.raised()? == before {
                true => Met::Nothing,
                false => met(prompt),
            })
        })?;
    }
    let bit = u32::from(set);
    let name = format!("uintr, raised at every byte of the wait, bit 31 of the deadline {bit}");
    parts.checks.push(swept.judge(&name, &code, &code.wait));
    Ok(())
}

/// Tests a second interrupt within the handler of a first one, which arrived in the window. Before the handler re-arms,
/// the second is swallowed and the mark stands for both; afterwards the handler runs again. In either case a later
/// interrupt has to be delivered.
pub fn handler(setup: &UintrSetup, parts: &mut Parts) -> Result<(), SelftestError> {
    let UintrSetup {
        receiver, source, ..
    } = setup;
    let code = Code::here();
    let mut swept = Swept::default();
    for at in code.handler.clone() {
        swept.address(at, || {
            let (before, handled) = (source.raised()?, receiver.delivered());
            source.raise_at(Some(at))?;
            receiver.clear();
            let deadline = Tsc::get().after(LONG);
            let once = receiver.interrupt_at(code.window.start, deadline, || source.raise())?;
            let both = prompt(once, deadline);
            source.raise_at(None)?;
            if source.raised()? < before + 2 {
                return Ok(Met::Nothing);
            }
            let runs = if at > code.rearm { 2 } else { 1 };
            let delivered = receiver.delivered() - handled >= runs;
            receiver.clear();
            let deadline = Tsc::get().after(LONG);
            source.raise()?;
            let next = prompt(receiver.wait_once(deadline)?, deadline);
            Ok(met(both && delivered && next))
        })?;
    }
    let name = "uintr, raised at every byte of the handler";
    parts.checks.push(swept.judge(name, &code, &code.handler));
    Ok(())
}

/// Tests an interrupt that is pending and delivered before each instruction of the window in turn.
pub fn pending(setup: &UintrSetup, rounds: u32, parts: &mut Parts) -> Result<(), SelftestError> {
    let UintrSetup {
        receiver, source, ..
    } = setup;
    let code = Code::here();
    let inside = code.instructions.iter().copied();
    let inside: Vec<_> = inside.filter(|at| code.window.contains(at)).collect();
    let (mut lost, mut took) = (0, Vec::new());
    for (round, at) in (0..rounds).flat_map(|round| inside.iter().map(move |&at| (round, at))) {
        receiver.clear();
        let deadline = with_top(Tsc::get().after(LONG), round % 2 == 1);
        let mut begun = 0;
        let once = receiver.interrupt_at(at, deadline, || {
            source.raise()?;
            begun = Tsc::now();
            Ok(())
        });
        let once = once?;
        took.push(Tsc::now().wrapping_sub(begun));
        lost += u64::from(!prompt(once, deadline));
    }
    let mut check = SelftestCheck::new("uintr, pending at every instruction of the window");
    check.count("raised", took.len() as u64);
    check.count("lost", lost);
    check.demand(lost == 0, || format!("{lost} of {} lost", took.len()));
    parts.checks.push(check);
    let what = "uintr: from UIRET with one pending, through the handler, to the end of the wait";
    parts.latency.push(Latency::of(what, took));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        Code {
            handler: 100..110,
            wait: 90..95,
            window: 90..95,
            instructions: vec![90, 93, 100, 101, 108],
            rearm: 101,
        }
    }

    fn swept(hits: &[usize]) -> Swept {
        let mut swept = Swept::default();
        for at in 100..110 {
            let hit = hits.contains(&at);
            swept
                .address(at, || Ok(if hit { Met::Seen } else { Met::Nothing }))
                .unwrap();
        }
        swept
    }

    #[test]
    fn every_instruction_has_to_be_met_and_nothing_else() {
        let code = code();
        let judge = |hits: &[usize]| swept(hits).judge("x", &code, &code.handler).passed;
        assert!(judge(&[100, 101, 108]));
        assert!(!judge(&[100, 108]));
        assert!(!judge(&[100, 102, 108]));
        assert!(!judge(&[]));
    }

    #[test]
    fn an_address_is_tried_again_and_any_loss_is_counted() {
        let mut swept = Swept::default();
        let mut tries = 0;
        let third = || {
            tries += 1;
            Ok(if tries == 3 { Met::Lost } else { Met::Nothing })
        };
        swept.address(100, third).unwrap();
        assert_eq!(
            (tries, swept.hits.as_slice(), swept.lost),
            (TRIES, &[100][..], 1)
        );
        swept.address(101, || Ok(Met::Seen)).unwrap();
        assert_eq!((swept.hits.as_slice(), swept.lost), (&[100, 101][..], 1));
        assert!(!swept.judge("x", &code(), &(100..102)).passed);
    }

    #[test]
    fn a_deadline_has_bit_31_as_requested_and_is_not_before_its_time() {
        let now = 0x3_7fff_fff0;
        assert_eq!(with_top(now, false), now);
        assert_eq!(with_top(now, true), 0x3_8000_0000);
        assert_eq!(with_top(0x3_8000_0001, true), 0x3_8000_0001);
        assert_eq!(with_top(0x3_8000_0001, false), 0x4_0000_0000);
    }

    #[test]
    fn a_wait_that_slept_is_not_prompt() {
        let once = |marked, limited| Once { marked, limited };
        assert!(prompt(once(true, false), u64::MAX));
        assert!(!prompt(once(true, true), u64::MAX));
        assert!(!prompt(once(false, false), u64::MAX));
        assert!(!prompt(once(true, false), 0));
    }
}
