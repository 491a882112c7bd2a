//! Words and figures of the text.

use crate::{EventKind, FaultKind, PlanOfIo, TracedIo, WaitKind};
use joulio_units::{Direction, Nanos};

/// Returns microseconds with one decimal.
pub(crate) fn micros(time: Nanos) -> String {
    let tenths = time.0 / 100 + u64::from(time.0 % 100 >= 50);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Returns the word for an I/O's operation; a question mark if its submission is missing.
pub(crate) fn operation(io: &TracedIo) -> &'static str {
    match io.submitted.map(|submitted| submitted.direction) {
        Some(Direction::Read) => "read",
        Some(Direction::Write) => "write",
        Some(Direction::Other) => "other",
        None => "?",
    }
}

/// Returns the steps of a plan, each with its end in microseconds after the submission: `z` asleep with a timer,
/// `u` a user-level wait, `p` polling, `b` blocked.
pub(crate) fn steps(plan: &PlanOfIo) -> String {
    let mut steps = match plan.rest {
        Some((WaitKind::Sleep, until)) => format!("z{} ", micros(until)),
        Some((_, until)) => format!("u{} ", micros(until)),
        None => String::new(),
    };
    match plan.loose {
        Some((WaitKind::Block, until)) => steps += &format!("b{} ", micros(until)),
        Some((_, until)) => steps += &format!("u{} ", micros(until)),
        None => {}
    }
    if plan.watch_until > Nanos::ZERO {
        let watch = match plan.watch {
            WaitKind::Spin => 'p',
            _ => 'u',
        };
        steps += &format!("{watch}{} ", micros(plan.watch_until));
    }
    steps + "b"
}

/// Returns the reason why an I/O is incomplete.
pub(crate) fn missing(io: &TracedIo) -> &'static str {
    match (io.submitted, io.completed) {
        _ if io.doubled => "completed once more",
        (None, _) => "no submission recorded",
        (_, None) => "no completion recorded",
        _ => "",
    }
}

/// Returns a status field in the notation of the specification's tables (Base figure 92).
pub(crate) fn status(field: u16) -> String {
    format!("sct {:x}h sc {:02x}h", (field >> 8) & 7, field & 0xff)
}

/// Returns the text of a mark.
pub(crate) fn mark(kind: EventKind) -> String {
    match kind {
        EventKind::Timeout { cid } => format!("command {cid:#06x} timed out"),
        EventKind::Abort { cid } => format!("abort of command {cid:#06x}"),
        EventKind::Reset => "controller reset".into(),
        EventKind::LostInterrupt => "completion without its interrupt".into(),
        EventKind::Fault { fault, cid } => {
            let fault = match fault {
                FaultKind::Stale => "stale",
                FaultKind::Doubled => "doubled",
                FaultKind::Unknown => "unknown",
            };
            format!("{fault} completion of command {cid:#06x}, not delivered")
        }
        // Other kinds are parts of I/Os and waits, and never marks.
        other => format!("{other:?}"),
    }
}
