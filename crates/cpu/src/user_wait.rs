//! Waiting in user space: TPAUSE and UMWAIT, or MWAITX.

use crate::{CacheLine, Feature, MissingFeature, Tsc};
use joulio_units::Nanos;
use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// Depth of the power state of a user-level wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// C0.1: lighter, back sooner. On AMD: no idle state.
    C01,
    /// C0.2: deeper; the system may not allow it and give C0.1 instead ([`crate::PauseLimits`]). On
    /// AMD: C1.
    #[default]
    C02,
}

/// End of a user-level wait, as far as the CPU reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The system's limit: the requested time is not over, and nothing came.
    Limit,
    /// A write to the cache line, an interrupt, the time, or nothing in particular.
    Other,
}

/// The instructions of this CPU's user-level waits.
#[derive(Clone, Copy, Debug)]
pub struct UserWait {
    by: By,
    depth: Depth,
    tsc: Tsc,
}

#[derive(Clone, Copy, Debug)]
enum By {
    Waitpkg,
    Mwaitx,
}

/// MWAITX watches something, or does not wait: this, when there is only a time to wait for.
static NOTHING: AtomicU32 = AtomicU32::new(0);

impl UserWait {
    /// Returns the instructions of this CPU.
    ///
    /// # Errors
    /// The CPU lacks both WAITPKG and MONITORX.
    pub fn detect(depth: Depth) -> Result<UserWait, MissingFeature> {
        let by = match (Feature::Waitpkg.check(), Feature::Mwaitx.check()) {
            (Ok(()), _) => By::Waitpkg,
            (_, Ok(())) => By::Mwaitx,
            (Err(missing), _) => return Err(missing),
        };
        let tsc = Tsc::get();
        Ok(UserWait { by, depth, tsc })
    }

    /// Depth of the power state of a user-level wait.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Name of the instruction that pauses: `tpause` or `mwaitx`.
    pub fn name(&self) -> &'static str {
        match self.by {
            By::Waitpkg => "tpause",
            By::Mwaitx => "mwaitx",
        }
    }

    /// Pauses for `time`, or shorter: interrupts and the system's limit end it too.
    #[inline]
    pub fn pause(&self, time: Nanos) -> Ended {
        match self.by {
            By::Waitpkg => tpause(self.depth, self.tsc.after(time)),
            By::Mwaitx => {
                monitorx(CacheLine::from(&NOTHING));
                mwaitx(self.depth, self.tsc.cycles(time));
                Ended::Other
            }
        }
    }

    /// Begins to watch `line`. A write to it from now on ends the next [`UserWait::wait`], or keeps
    /// it from waiting.
    #[inline]
    pub fn arm(&self, line: CacheLine<'_>) {
        match self.by {
            By::Waitpkg => umonitor(line),
            By::Mwaitx => monitorx(line),
        }
    }

    /// Waits for a write to the line for `time`, or shorter, as [`UserWait::pause`]. Returns at
    /// once when nothing is watched.
    #[inline]
    pub fn wait(&self, time: Nanos) -> Ended {
        match self.by {
            By::Waitpkg => umwait(self.depth, self.tsc.after(time)),
            By::Mwaitx => {
                mwaitx(self.depth, self.tsc.cycles(time));
                Ended::Other
            }
        }
    }
}

/// Bit 0 of the operand of TPAUSE and UMWAIT: set for C0.1.
pub(crate) fn operand(depth: Depth) -> u32 {
    u32::from(depth == Depth::C01)
}

fn ended(carry: u8) -> Ended {
    match carry {
        0 => Ended::Other,
        _ => Ended::Limit,
    }
}

/// TPAUSE or UMWAIT, which take the same operands, until the counter says `$deadline`. CF: the
/// system's limit came first. On a CPU with WAITPKG only; changes nothing but the flags.
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

/// MWAITX for `cycles` of the TSC, counted from now (ECX bit 1: EBX has a time), at most 2^32 - 1.
/// EAX bits 7:4 name the idle state: Fh is none, 0 is C1.
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
    fn a_cpu_without_the_instructions_says_so() {
        let has = Feature::Waitpkg.check().is_ok() || Feature::Mwaitx.check().is_ok();
        match UserWait::detect(Depth::C02) {
            Ok(wait) => {
                assert!(has);
                // Whatever ends it, it comes back.
                wait.pause(Nanos::from_micros(1));
                let word = AtomicU32::new(0);
                wait.arm(CacheLine::from(&word));
                wait.wait(Nanos::from_micros(1));
            }
            Err(missing) => {
                assert!(!has);
                assert_eq!(missing, MissingFeature(Feature::Waitpkg));
            }
        }
    }

    #[test]
    fn the_operand_names_the_depth() {
        assert_eq!((operand(Depth::C01), operand(Depth::C02)), (1, 0));
        assert_eq!((ended(0), ended(1)), (Ended::Other, Ended::Limit));
    }
}
