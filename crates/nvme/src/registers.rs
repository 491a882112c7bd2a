//! The controller's registers, typed, and the two transitions of CC.EN.

use crate::NvmeError;
use crate::cancel::{Cancel, Over, Patience};
use joulio_device::{Device, DeviceError};
use joulio_nvme_spec::register::{self, Aqa, Cap, Cc, Crto, Csts, Version};
use joulio_units::Nanos;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Longest time to become ready that is accepted from a controller, in units of 500 ms.
const MAX_READY: u16 = 1200;

/// CC.SHN = 01b: normal shutdown (Base 3.6.1).
const SHUTDOWN_NORMAL: u8 = 1;
/// CSTS.SHST = 10b: shutdown processing complete.
const SHUTDOWN_COMPLETE: u8 = 2;
/// Bounds, in microseconds, of the time that a shutdown may take before the controller is reset anyway.
const SHUTDOWN_TIME: RangeInclusive<u64> = 5_000_000..=60_000_000;

/// Number of checks of a device that does not answer.
pub(crate) const MAX_CHECKS: u32 = 10;
/// Number of checks of a function that somebody else resets. It is usable not when it answers, but once its settings
/// were restored after the reset: on a busy machine that takes seconds.
pub(crate) const MAX_RESET_CHECKS: u32 = 200;
/// Time between two of them.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Time after which a function that was reset answers again (PCI Express Base, 6.6.2), with a margin for a check.
const ANSWER_TIME: Nanos = Nanos::from_millis(150);

/// Returns the time for the shutdown of a controller that reports an RTD3 Entry Latency of `rtd3e` microseconds (Base
/// figure 275); 5 s if it reports 0, which is none. As in the kernel's driver, more than a minute is taken for a
/// minute.
pub(crate) fn shutdown_time(rtd3e: u32) -> Nanos {
    Nanos::from_micros(u64::from(rtd3e).clamp(*SHUTDOWN_TIME.start(), *SHUTDOWN_TIME.end()))
}

/// Returns CC.CSS for a controller with `cap` (Base 3.1.3.5): all its I/O command sets where they can be chosen
/// together, as only then a zoned namespace has its own commands; otherwise the NVM command set. A controller with
/// neither, which would be enabled for admin commands alone (111b), is refused before.
fn command_sets(cap: Cap) -> u8 {
    match cap.css() & Cap::ALL_COMMAND_SETS {
        0 => Cc::NVM_COMMAND_SET,
        _ => Cc::ALL_COMMAND_SETS,
    }
}

/// A device's registers, and the limit of waits for them.
pub(crate) struct Registers<'a, D: Device> {
    pub(crate) device: &'a D,
    pub(crate) cancel: &'a Cancel,
    /// Time after a write to CC before CSTS may be read; 0 for most drives.
    pub(crate) csts_delay: Nanos,
}

impl<D: Device> Registers<'_, D> {
    pub(crate) fn cap(&self) -> Result<Cap, NvmeError> {
        match self.device.read64(register::CAP) {
            u64::MAX => Err(self.removed()),
            bits => Ok(Cap::from(bits)),
        }
    }

    pub(crate) fn version(&self) -> Version {
        Version::from(self.device.read32(register::VS))
    }

    fn cc(&self) -> Cc {
        Cc::from(self.device.read32(register::CC))
    }

    pub(crate) fn csts(&self) -> Csts {
        Csts::from(self.device.read32(register::CSTS))
    }

    fn set_cc(&self, cc: Cc) {
        self.device.write32(register::CC, cc.into());
    }

    pub(crate) fn removed(&self) -> NvmeError {
        NvmeError::Removed {
            device: self.device.name().into(),
        }
    }

    pub(crate) fn unresponsive(&self) -> NvmeError {
        NvmeError::Unresponsive {
            device: self.device.name().into(),
        }
    }

    /// Checks that the controller answers and has not failed.
    pub(crate) fn check(&self) -> Result<(), NvmeError> {
        self.judge(self.csts())
    }

    fn judge(&self, csts: Csts) -> Result<(), NvmeError> {
        if csts.is_removed() {
            return Err(self.removed());
        }
        if csts.cfs() {
            return Err(NvmeError::Fatal {
                device: self.device.name().into(),
            });
        }
        Ok(())
    }

    /// Checks that a controller that was enabled answers, has not failed, and is still enabled.
    pub(crate) fn check_enabled(&self) -> Result<(), NvmeError> {
        let csts = self.csts();
        self.judge(csts)?;
        if !csts.rdy() {
            return Err(NvmeError::Stopped {
                device: self.device.name().into(),
            });
        }
        Ok(())
    }

    /// Clears CC.EN and waits until the controller no longer uses memory (Base 3.7.2).
    ///
    /// `rising`: RDY may still be about to become 1; clearing EN before that is undefined (Base 3.1.4.5), so that the
    /// driver waits for it first.
    pub(crate) fn disable(&self, cap: Cap, rising: bool) -> Result<(), NvmeError> {
        let cc = self.cc();
        if u32::from(cc) == u32::MAX {
            return Err(self.removed());
        }
        if rising && cc.en() && !self.csts().cfs() {
            let _ = self.wait_ready(true, cap);
        }
        if cc.en() {
            self.set_cc(cc.with_en(false));
            self.wait_to_read_csts()?;
        }
        self.wait_ready(false, cap)
    }

    /// Waits as long as the drive needs between a write to CC and a read of CSTS; most drives need no time.
    fn wait_to_read_csts(&self) -> Result<(), NvmeError> {
        let end = joulio_wait::now() + self.csts_delay;
        while joulio_wait::now() < end {
            if self.cancel.is_cancelled() {
                return Err(NvmeError::Cancelled {
                    device: self.device.name().into(),
                    what: "the time until CSTS may be read".into(),
                });
            }
            let left = end.since(joulio_wait::now());
            joulio_wait::sleep(Duration::from_nanos(left.0).min(CHECK_INTERVAL));
        }
        Ok(())
    }

    /// Disables the controller, and resets the whole function if that does not help; returns whether the reset was
    /// needed.
    pub(crate) fn disable_or_reset(&self, cap: Cap, rising: bool) -> Result<bool, NvmeError> {
        match self.disable(cap, rising) {
            Ok(()) => Ok(false),
            Err(error) => self.reset_function(cap, error).map(|()| true),
        }
    }

    /// Resets the whole function, and disables the controller; returns whether the function could be reset.
    pub(crate) fn reset_or_disable(&self, cap: Cap) -> Result<bool, NvmeError> {
        let reset = self.device.reset_function().is_ok();
        self.wait_for_answer(cap)?;
        self.disable(cap, false).map(|()| reset)
    }

    /// Resets the whole function because a reset of the controller ended with `error`, and disables the controller.
    /// An error that a reset does not help is returned as it is.
    pub(crate) fn reset_function(&self, cap: Cap, error: NvmeError) -> Result<(), NvmeError> {
        if !error.asks_for_function_reset() {
            return Err(error);
        }
        match self.device.reset_function() {
            Ok(()) => {}
            Err(DeviceError::NoFunctionReset { .. }) => return Err(error),
            Err(function) => {
                return Err(NvmeError::FunctionReset {
                    controller: Box::new(error),
                    function,
                });
            }
        }
        self.wait_for_answer(cap)?;
        self.disable(cap, false)
    }

    /// Waits until CAP reads as before, which it does as long as the controller is there.
    pub(crate) fn wait_for_answer(&self, known: Cap) -> Result<(), NvmeError> {
        let limit = |checks| Nanos(CHECK_INTERVAL.as_nanos() as u64 * u64::from(checks));
        let removed = joulio_wait::now() + limit(MAX_CHECKS);
        let mut patience =
            Patience::new(limit(MAX_RESET_CHECKS), self.cancel).with_grace(ANSWER_TIME);
        loop {
            // Before the last check: a thread that was kept from its CPU still finds what came in time.
            let (over, removed) = (patience.over(), joulio_wait::now() >= removed);
            let answer = match self.cap() {
                Ok(cap) if cap == known => return Ok(()),
                Ok(_) => self.unresponsive(),
                Err(error) if removed => return Err(error),
                Err(error) => error,
            };
            match over {
                None => {
                    joulio_wait::sleep(CHECK_INTERVAL);
                    self.device.settle_function();
                }
                Some(Over::TimedOut) => return Err(answer),
                Some(Over::Cancelled) => {
                    return Err(NvmeError::Cancelled {
                        device: self.device.name().into(),
                        what: "an answer after a reset".into(),
                    });
                }
            }
        }
    }

    /// Disables the controller; returns whether it was seen to stop using memory. A device that is gone from the bus
    /// writes no memory any more.
    pub(crate) fn lets_go(&self, cap: Cap) -> bool {
        matches!(
            self.disable_or_reset(cap, false),
            Ok(_) | Err(NvmeError::Removed { .. })
        )
    }

    /// Tells the controller that it may lose power (Base 3.6.1), and waits for up to `time`, even if cancelled: it
    /// writes its caches to non-volatile media. No error if it does not answer in time.
    pub(crate) fn shut_down(&self, time: Nanos) {
        let cc = self.cc();
        if !cc.en() || u32::from(cc) == u32::MAX {
            return;
        }
        self.set_cc(cc.with_shn(SHUTDOWN_NORMAL));
        let never = Cancel::default();
        let mut patience = Patience::new(time, &never);
        loop {
            let over = patience.over();
            let csts = self.csts();
            if csts.is_removed() || csts.shst() == SHUTDOWN_COMPLETE || over.is_some() {
                return;
            }
            joulio_wait::sleep(Duration::from_micros(100));
        }
    }

    /// Sets CC.EN with the admin queue at `asq` and `acq` and waits for CSTS.RDY (Base 3.5.1).
    pub(crate) fn enable(
        &self,
        cap: Cap,
        weighted: bool,
        (aqa, asq, acq): (Aqa, u64, u64),
    ) -> Result<(), NvmeError> {
        self.device.write32(register::AQA, aqa.into());
        self.device.write64(register::ASQ, asq);
        self.device.write64(register::ACQ, acq);
        let cc = Cc::new()
            .with_iosqes(Cc::SQES)
            .with_iocqes(Cc::CQES)
            .with_ams(if weighted { Cc::WEIGHTED } else { 0 })
            .with_css(command_sets(cap));
        self.set_cc(cc.with_en(true));
        if !self.cc().en() {
            return Err(self.unresponsive());
        }
        self.wait_ready(true, cap)
    }

    /// Returns the time that CSTS.RDY may take to follow CC.EN: CAP.TO. Its largest value is 127.5 s; a controller of
    /// NVM Express 2.0 can report more in CRTO. The longer of both counts, at most ten minutes: the register holds
    /// nine hours.
    fn ready_milliseconds(&self, enabled: bool, cap: Cap) -> u64 {
        let timeout = u16::from(cap.to());
        let timeout = match enabled && cap.crms() & Cap::READY_WITH_MEDIA != 0 {
            true => timeout.max(self.crto().crwmt().min(MAX_READY)),
            false => timeout,
        };
        // 0 would be no time at all: the smallest unit is used.
        u64::from(timeout).max(1) * 500
    }

    fn crto(&self) -> Crto {
        Crto::from(self.device.read32(register::CRTO))
    }

    fn wait_ready(&self, enabled: bool, cap: Cap) -> Result<(), NvmeError> {
        let milliseconds = self.ready_milliseconds(enabled, cap);
        let mut patience = Patience::new(Nanos::from_millis(milliseconds), self.cancel);
        loop {
            let over = patience.over();
            let csts = self.csts();
            if csts.is_removed() {
                return Err(self.removed());
            }
            if csts.rdy() == enabled {
                return Ok(());
            }
            if enabled {
                self.check()?;
            }
            let device = || self.device.name().into();
            match over {
                None => {}
                Some(Over::Cancelled) => {
                    let what = format!("CSTS.RDY = {}", u8::from(enabled));
                    return Err(NvmeError::Cancelled {
                        device: device(),
                        what,
                    });
                }
                Some(Over::TimedOut) => {
                    return Err(NvmeError::NotReady {
                        device: device(),
                        enabled,
                        milliseconds,
                    });
                }
            }
            joulio_wait::sleep(Duration::from_micros(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shutdown_has_the_time_that_rtd3e_says_within_reason() {
        let seconds = |rtd3e| shutdown_time(rtd3e).seconds();
        assert_eq!([seconds(0), seconds(4_000_000)], [5.0, 5.0]);
        assert_eq!([seconds(8_500_000), seconds(60_000_000)], [8.5, 60.0]);
        assert_eq!([seconds(60_000_001), seconds(u32::MAX)], [60.0, 60.0]);
    }
}
