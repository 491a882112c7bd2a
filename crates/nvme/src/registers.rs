//! The controller's registers, typed, and the two transitions of CC.EN.

use crate::NvmeError;
use joulio_device::Device;
use joulio_nvme_spec::register::{self, Aqa, Cap, Cc, Csts, Version};
use joulio_units::Nanos;
use joulio_wait::now;
use std::time::Duration;

/// CC.SHN = 01b: normal shutdown (Base 3.6.1).
const SHUTDOWN_NORMAL: u8 = 1;
/// CSTS.SHST = 10b: shutdown processing complete.
const SHUTDOWN_COMPLETE: u8 = 2;
/// How long a shutdown may take before the reset comes anyway. RTD3E would say; few report it.
const SHUTDOWN_TIME: Nanos = Nanos::from_millis(5_000);

pub(crate) struct Registers<'a, D: Device>(pub(crate) &'a D);

impl<D: Device> Registers<'_, D> {
    pub(crate) fn cap(&self) -> Result<Cap, NvmeError> {
        match self.0.read64(register::CAP) {
            u64::MAX => Err(self.gone()),
            bits => Ok(Cap::from(bits)),
        }
    }

    pub(crate) fn version(&self) -> Version {
        Version::from(self.0.read32(register::VS))
    }

    fn cc(&self) -> Cc {
        Cc::from(self.0.read32(register::CC))
    }

    pub(crate) fn csts(&self) -> Csts {
        Csts::from(self.0.read32(register::CSTS))
    }

    fn set_cc(&self, cc: Cc) {
        self.0.write32(register::CC, cc.into());
    }

    pub(crate) fn gone(&self) -> NvmeError {
        NvmeError::Gone {
            device: self.0.name().into(),
        }
    }

    pub(crate) fn deaf(&self) -> NvmeError {
        NvmeError::Deaf {
            device: self.0.name().into(),
        }
    }

    /// Whether the controller is there and has not failed.
    pub(crate) fn check(&self) -> Result<(), NvmeError> {
        self.judge(self.csts())
    }

    fn judge(&self, csts: Csts) -> Result<(), NvmeError> {
        if csts.is_gone() {
            return Err(self.gone());
        }
        if csts.cfs() {
            return Err(NvmeError::Fatal {
                device: self.0.name().into(),
            });
        }
        Ok(())
    }

    /// The same for a controller that was enabled: whether it still is.
    pub(crate) fn check_enabled(&self) -> Result<(), NvmeError> {
        let csts = self.csts();
        self.judge(csts)?;
        if !csts.rdy() {
            return Err(NvmeError::Stopped {
                device: self.0.name().into(),
            });
        }
        Ok(())
    }

    /// Clears CC.EN and waits until the controller has let go of memory (Base 3.7.2).
    ///
    /// `rising` says that RDY may still be on its way up: clearing EN then is undefined (Base
    /// 3.1.4.5), so it is waited for first.
    pub(crate) fn disable(&self, cap: Cap, rising: bool) -> Result<(), NvmeError> {
        let cc = self.cc();
        if u32::from(cc) == u32::MAX {
            return Err(self.gone());
        }
        if rising && cc.en() && !self.csts().cfs() {
            let _ = self.wait_ready(true, cap);
        }
        if cc.en() {
            self.set_cc(cc.with_en(false));
        }
        self.wait_ready(false, cap)
    }

    /// Clears CC.EN; whether the controller was seen to let go of memory. What is gone from the bus
    /// writes none any more.
    pub(crate) fn lets_go(&self, cap: Cap) -> bool {
        matches!(
            self.disable(cap, false),
            Ok(()) | Err(NvmeError::Gone { .. })
        )
    }

    /// Tells the controller that power may go (Base 3.6.1); not worth an error when it does not
    /// answer in time.
    pub(crate) fn shut_down(&self) {
        let cc = self.cc();
        if !cc.en() || u32::from(cc) == u32::MAX {
            return;
        }
        self.set_cc(cc.with_shn(SHUTDOWN_NORMAL));
        let end = now() + SHUTDOWN_TIME;
        loop {
            let csts = self.csts();
            if csts.is_gone() || csts.shst() == SHUTDOWN_COMPLETE || now() >= end {
                return;
            }
            joulio_wait::sleep(Duration::from_micros(100));
        }
    }

    /// Sets CC.EN with the admin queue at `asq` and `acq` and waits for CSTS.RDY (Base 3.5.1).
    pub(crate) fn enable(&self, cap: Cap, aqa: Aqa, asq: u64, acq: u64) -> Result<(), NvmeError> {
        self.0.write32(register::AQA, aqa.into());
        self.0.write64(register::ASQ, asq);
        self.0.write64(register::ACQ, acq);
        let cc = Cc::new()
            .with_iosqes(Cc::SQES)
            .with_iocqes(Cc::CQES)
            // Without the NVM command set's own bit, "all supported I/O command sets" has it.
            .with_css(if cap.css() & 1 != 0 { 0 } else { 0b110 });
        self.set_cc(cc.with_en(true));
        if !self.cc().en() {
            return Err(self.deaf());
        }
        self.wait_ready(true, cap)
    }

    fn wait_ready(&self, enabled: bool, cap: Cap) -> Result<(), NvmeError> {
        // TO = 0 would be no time at all: give the smallest unit.
        let milliseconds = u64::from(cap.to()).max(1) * 500;
        let end = now() + Nanos::from_millis(milliseconds);
        loop {
            let csts = self.csts();
            if csts.is_gone() {
                return Err(self.gone());
            }
            if csts.rdy() == enabled {
                return Ok(());
            }
            if enabled {
                self.check()?;
            }
            if now() >= end {
                return Err(NvmeError::NotReady {
                    device: self.0.name().into(),
                    enabled,
                    milliseconds,
                });
            }
            joulio_wait::sleep(Duration::from_micros(50));
        }
    }
}
