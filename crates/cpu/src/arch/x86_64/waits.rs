//! Waiting in user space: TPAUSE and UMWAIT, or MWAITX.

use crate::{CacheLine, Depth, Ended, Feature, MissingFeature, Tsc};
use joulio_units::Nanos;
use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// The instructions of this CPU's user-level waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    Waitpkg,
    Mwaitx,
}

/// Word that MWAITX monitors when only a time is waited for: without a monitored line it does not wait.
static NOTHING: AtomicU32 = AtomicU32::new(0);

impl Waits {
    /// Returns the instructions of this CPU.
    pub(crate) fn detect() -> Result<Waits, MissingFeature> {
        match (Feature::Waitpkg.check(), Feature::Mwaitx.check()) {
            (Ok(()), _) => Ok(Waits::Waitpkg),
            (_, Ok(())) => Ok(Waits::Mwaitx),
            (Err(missing), _) => Err(missing),
        }
    }

    /// Returns the name of the instruction that pauses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Waits::Waitpkg => "tpause",
            Waits::Mwaitx => "mwaitx",
        }
    }

    /// Implements [`crate::UserWait::pause`].
    #[inline]
    pub(crate) fn pause(self, depth: Depth, tsc: Tsc, time: Nanos) -> Ended {
        match self {
            Waits::Waitpkg => tpause(depth, tsc.after(time)),
            Waits::Mwaitx => {
                monitorx(CacheLine::from(&NOTHING));
                mwaitx(depth, tsc.cycles(time));
                Ended::Other
            }
        }
    }

    /// Implements [`crate::UserWait::arm`].
    #[inline]
    pub(crate) fn arm(self, line: CacheLine<'_>) {
        match self {
            Waits::Waitpkg => umonitor(line),
            Waits::Mwaitx => monitorx(line),
        }
    }

    /// Implements [`crate::UserWait::wait`].
    #[inline]
    pub(crate) fn wait(self, depth: Depth, tsc: Tsc, time: Nanos) -> Ended {
        match self {
            Waits::Waitpkg => umwait(depth, tsc.after(time)),
            Waits::Mwaitx => {
                mwaitx(depth, tsc.cycles(time));
                Ended::Other
            }
        }
    }
}

/// Returns the operand of TPAUSE and UMWAIT, whose bit 0 is set for C0.1.
pub(super) fn operand(depth: Depth) -> u32 {
    u32::from(depth == Depth::C01)
}

fn ended(carry: u8) -> Ended {
    match carry {
        0 => Ended::Other,
        _ => Ended::Limit,
    }
}

/// Executes TPAUSE or UMWAIT, which take the same operands, until the counter reaches `$deadline`. CF is set if the
/// system's limit came first. Only for a CPU with WAITPKG; changes nothing but the flags.
macro_rules! until {
    ($instruction:literal, $depth:expr, $deadline:expr) => {{
        let carry: u8;
        asm!(
            concat!($instruction, " {operand:e}"),
            "setc {carry}",
            operand = in(reg) operand($depth),
            carry = out(reg_byte) carry,
            in("eax") $deadline as u32,
            in("edx") ($deadline >> 32) as u32,
            options(nostack),
        );
        ended(carry)
    }};
}

#[inline]
fn tpause(depth: Depth, deadline: u64) -> Ended {
    // SAFETY: called on a CPU with WAITPKG only.
    unsafe { until!("tpause", depth, deadline) }
}

#[inline]
fn umonitor(line: CacheLine<'_>) {
    // SAFETY: called on a CPU with WAITPKG only; the line may be read. Memory is not `nomem`, so
    // that no load of what the line announces is moved before it.
    unsafe { asm!("umonitor {}", in(reg) line.address(), options(nostack, preserves_flags)) };
}

#[inline]
fn umwait(depth: Depth, deadline: u64) -> Ended {
    // SAFETY: as `tpause`.
    unsafe { until!("umwait", depth, deadline) }
}

#[inline]
fn monitorx(line: CacheLine<'_>) {
    // SAFETY: called on a CPU with MONITORX only; the line may be read. No extensions, no hints.
    unsafe {
        asm!(
            "monitorx",
            in("rax") line.address(),
            in("ecx") 0,
            in("edx") 0,
            options(nostack, preserves_flags),
        );
    }
}

/// Executes MWAITX for `cycles` of the TSC, counted from now (ECX bit 1: EBX has a time), at most 2^32 - 1. EAX bits
/// 7:4 name the idle state: Fh is none, 0 is C1.
#[inline]
fn mwaitx(depth: Depth, cycles: u64) {
    let hint: u32 = match depth {
        Depth::C01 => 0xf0,
        Depth::C02 => 0,
    };
    let cycles = u32::try_from(cycles).unwrap_or(u32::MAX);
    // SAFETY: called on a CPU with MWAITX only. RBX, which the compiler keeps for itself, is put
    // back.
    unsafe {
        asm!(
            "xchg {saved:r}, rbx",
            "mwaitx",
            "mov rbx, {saved:r}",
            saved = inout(reg) u64::from(cycles) => _,
            in("eax") hint,
            in("ecx") 2,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operand_names_the_depth() {
        assert_eq!((operand(Depth::C01), operand(Depth::C02)), (1, 0));
        assert_eq!((ended(0), ended(1)), (Ended::Other, Ended::Limit));
    }
}
