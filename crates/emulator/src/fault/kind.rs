//! The kinds of faults, and their names.

use super::time::{self, Printed};
use joulio_nvme_spec::Status;
use joulio_units::Nanos;
use std::fmt;

/// A fault of an I/O command (the one that it is planned for, or the next one that is fetched) or of the controller,
/// which happens at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `status=SCT/SC[/dnr]`, in hexadecimal; without a value Internal Error. The command fails with this status, and
    /// transfers no data.
    Status(Status),
    /// `drop`: the command is executed, but its completion is never posted: it stays outstanding until it is aborted,
    /// its queue is deleted, or the controller is reset.
    Drop,
    /// `late=TIME`: the completion is posted later by this time.
    Late(Nanos),
    /// `double`: the completion is posted twice.
    Double,
    /// `reorder`: the completion is withheld until a later one of its queue has been posted, or a millisecond has
    /// passed.
    Reorder,
    /// `stale`: after the completion, an older one of its queue is posted again.
    Stale,
    /// `unknown`: after the completion, one is posted whose identifier no command has.
    Unknown,
    /// `lost-irq`: the completion raises no interrupt.
    LostIrq,
    /// `spurious-irq`: the vector of the command's queue is raised when the command is fetched.
    SpuriousIrq,
    /// `flip`: the data of the command, if it is a read, arrives with one wrong bit, and the command succeeds.
    Flip,
    /// `cfs`: the controller fails (CSTS.CFS), and does nothing until it is reset.
    Cfs,
    /// `removed`: the controller is removed for ever: registers read as all ones, and it does not access memory any
    /// more.
    Removed,
    /// `admin-stuck`: admin commands are fetched and never completed, until a reset.
    AdminStuck,
    /// `namespace-removed[=NSID]`, without a value NSID 1: the namespace becomes inactive.
    NamespaceRemoved(u32),
    /// `full`: from now on writes fail with Capacity Exceeded.
    Full,
    /// `stuck-reset`: clearing CC.EN has no effect from now on: the controller continues, and CSTS.RDY stays set. A
    /// function-level reset helps.
    StuckReset,
    /// `stuck-flr`: a function-level reset has no effect from now on either. If a served host requests one, it is
    /// refused.
    StuckFlr,
}

/// All kinds as they are written, for messages.
pub(super) const KINDS: &str = "status[=SCT/SC[/dnr]], drop, late=TIME, double, reorder, stale, \
     unknown, lost-irq, spurious-irq, flip, cfs, removed, admin-stuck, namespace-removed[=NSID], full, \
     stuck-reset, stuck-flr";

impl Fault {
    /// Whether the fault is one of a command, not of the controller.
    pub fn is_of_a_command(self) -> bool {
        match self {
            Fault::Status(_)
            | Fault::Drop
            | Fault::Late(_)
            | Fault::Double
            | Fault::Reorder
            | Fault::Stale
            | Fault::Unknown
            | Fault::LostIrq
            | Fault::SpuriousIrq
            | Fault::Flip => true,
            Fault::Cfs
            | Fault::Removed
            | Fault::AdminStuck
            | Fault::NamespaceRemoved(_)
            | Fault::Full
            | Fault::StuckReset
            | Fault::StuckFlr => false,
        }
    }

    /// Parses `kind[=parameter]`; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Fault, &'static str> {
        let (kind, parameter) = match text.split_once('=') {
            Some((kind, parameter)) => (kind, Some(parameter)),
            None => (text, None),
        };
        let fault = match (kind, parameter) {
            ("status", None) => return Ok(Fault::Status(Status::INTERNAL_ERROR)),
            ("status", Some(text)) => return status(text).map(Fault::Status),
            ("late", Some(text)) => {
                let late = time::parse(text).ok_or("a time is a number and s, ms, us or ns")?;
                return Ok(Fault::Late(late));
            }
            ("late", None) => return Err("it takes a time, as late=50ms"),
            ("namespace-removed", None) => return Ok(Fault::NamespaceRemoved(1)),
            ("namespace-removed", Some(text)) => {
                return match text.parse() {
                    Ok(nsid @ 1..=0xffff_fffe) => Ok(Fault::NamespaceRemoved(nsid)),
                    _ => Err("an NSID is a number from 1"),
                };
            }
            ("drop", _) => Fault::Drop,
            ("double", _) => Fault::Double,
            ("reorder", _) => Fault::Reorder,
            ("stale", _) => Fault::Stale,
            ("unknown", _) => Fault::Unknown,
            ("lost-irq", _) => Fault::LostIrq,
            ("spurious-irq", _) => Fault::SpuriousIrq,
            ("flip", _) => Fault::Flip,
            ("cfs", _) => Fault::Cfs,
            ("removed", _) => Fault::Removed,
            ("admin-stuck", _) => Fault::AdminStuck,
            ("full", _) => Fault::Full,
            ("stuck-reset", _) => Fault::StuckReset,
            ("stuck-flr", _) => Fault::StuckFlr,
            _ => return Err("there is no such fault"),
        };
        match parameter {
            None => Ok(fault),
            Some(_) => Err("it takes no parameter"),
        }
    }
}

/// Parses `SCT/SC[/dnr]`, in hexadecimal.
fn status(text: &str) -> Result<Status, &'static str> {
    const WRONG: &str = "a status is SCT/SC or SCT/SC/dnr in hexadecimal, 0/01 to 7/ff";
    let hexadecimal = |text: &str, max| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u16::from_str_radix(text, 16).ok();
        value.filter(|&value| digits && value <= max).ok_or(WRONG)
    };
    let mut parts = text.split('/');
    let sct = hexadecimal(parts.next().unwrap_or_default(), 7)?;
    let sc = hexadecimal(parts.next().unwrap_or_default(), 0xff)?;
    let status = Status::from_field(sct << 8 | sc);
    match (parts.next(), parts.next()) {
        _ if status.is_success() => Err(WRONG),
        (None, None) => Ok(status),
        (Some("dnr"), None) => Ok(status.do_not_retry()),
        _ => Err(WRONG),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Status(status) => {
                let (sct, sc) = (status.field() >> 8 & 7, status.code());
                let dnr = if status.dnr() { "/dnr" } else { "" };
                write!(f, "status={sct:x}/{sc:02x}{dnr}")
            }
            Fault::Drop => f.write_str("drop"),
            Fault::Late(late) => write!(f, "late={}", Printed(*late)),
            Fault::Double => f.write_str("double"),
            Fault::Reorder => f.write_str("reorder"),
            Fault::Stale => f.write_str("stale"),
            Fault::Unknown => f.write_str("unknown"),
            Fault::LostIrq => f.write_str("lost-irq"),
            Fault::SpuriousIrq => f.write_str("spurious-irq"),
            Fault::Flip => f.write_str("flip"),
            Fault::Cfs => f.write_str("cfs"),
            Fault::Removed => f.write_str("removed"),
            Fault::AdminStuck => f.write_str("admin-stuck"),
            Fault::NamespaceRemoved(nsid) => write!(f, "namespace-removed={nsid}"),
            Fault::Full => f.write_str("full"),
            Fault::StuckReset => f.write_str("stuck-reset"),
            Fault::StuckFlr => f.write_str("stuck-flr"),
        }
    }
}
