//! The controller registers (Base 3.1.4), and the effects of enabling, resetting and shutting down (Base 3.5 to 3.7).

use super::EmulatedController;
use super::queues::{CompletionQueue, SubmissionQueue};
use crate::guest::PAGE;
use joulio_nvme_spec::register::{ACQ, AQA, ASQ, Aqa, CAP, CC, CSTS, Cap, Cc, Csts, VS, Version};
use joulio_nvme_spec::{Command, CompletionEntry};

/// CSTS.SHST: shutdown processing complete (Base figure 47).
const SHUTDOWN_COMPLETE: u8 = 2;
/// CSTS.SHST: shutdown processing occurring.
const SHUTDOWN_OCCURRING: u8 = 1;

/// The registers.
#[derive(Debug)]
pub(super) struct Registers {
    cap: Cap,
    vs: Version,
    cc: Cc,
    csts: Csts,
    aqa: Aqa,
    asq: u64,
    acq: u64,
    /// Whether the function was removed.
    removed: bool,
}

impl Registers {
    /// Makes the registers of a controller of version `vs` whose queues have up to `entries` entries, with weighted
    /// round robin if `weighted`, and with all I/O command sets beside the NVM command set if `command_sets`.
    pub(super) fn new(entries: u32, vs: Version, weighted: bool, command_sets: bool) -> Registers {
        let all = if command_sets {
            Cap::ALL_COMMAND_SETS
        } else {
            0
        };
        let cap = Cap::new()
            .with_mqes((entries - 1) as u16)
            .with_cqr(true)
            .with_ams(if weighted { Cap::WEIGHTED } else { 0 })
            .with_to(20)
            .with_css(Cap::NVM_COMMAND_SET | all);
        Registers::powered_on(cap, vs)
    }

    /// Returns the power-on values of a controller with `cap` and of version `vs`.
    fn powered_on(cap: Cap, vs: Version) -> Registers {
        Registers {
            vs,
            cap,
            cc: Cc::new(),
            csts: Csts::new(),
            aqa: Aqa::new(),
            asq: 0,
            acq: 0,
            removed: false,
        }
    }

    /// Returns VS: the version whose mandatory parts are implemented.
    pub(super) fn version(&self) -> Version {
        self.vs
    }

    /// Whether Identify supports CNS 02h and above (since NVMe 1.1).
    pub(super) fn has_lists(&self) -> bool {
        (self.vs.major(), self.vs.minor()) >= (1, 1)
    }

    /// Whether the controller is ready, and has not failed.
    #[inline]
    pub(super) fn running(&self) -> bool {
        self.csts.rdy() && !self.csts.cfs()
    }

    /// Returns CC.IOSQES: log2 of the size of an entry, which a host may set as late as before it creates an I/O
    /// submission queue.
    pub(super) fn submission_entry_shift(&self) -> u8 {
        self.cc.iosqes()
    }

    /// Returns CC.IOCQES, likewise of an I/O completion queue.
    pub(super) fn completion_entry_shift(&self) -> u8 {
        self.cc.iocqes()
    }

    /// Maximum number of entries of an I/O queue.
    pub(super) fn queue_entries(&self) -> u32 {
        u32::from(self.cap.mqes()) + 1
    }

    /// Sets CSTS.CFS: only a reset helps.
    #[cold]
    pub(super) fn fail(&mut self) {
        self.csts.set_cfs(true);
    }

    /// Sets CSTS.SHST to "shutdown processing complete".
    pub(super) fn complete_shutdown(&mut self) {
        self.csts.set_shst(SHUTDOWN_COMPLETE);
    }

    /// Whether the controller has failed.
    pub(super) fn failed(&self) -> bool {
        self.csts.cfs()
    }

    /// Sets the power-on values; a removed function remains removed.
    pub(super) fn reset_function(&mut self) {
        *self = Registers {
            removed: self.removed,
            ..Registers::powered_on(self.cap, self.vs)
        };
    }

    /// Whether a host may choose all I/O command sets.
    pub(super) fn has_command_sets(&self) -> bool {
        self.cap.css() & Cap::ALL_COMMAND_SETS != 0
    }

    /// Whether a host may choose weighted round robin.
    fn has_weights(&self) -> bool {
        self.cap.ams() & Cap::WEIGHTED != 0
    }

    /// Whether the host has chosen weighted round robin.
    #[inline]
    pub(super) fn weighted(&self) -> bool {
        self.cc.ams() == Cc::WEIGHTED
    }

    /// Removes the function: from now on it decodes nothing, and never runs again.
    pub(super) fn vanish(&mut self) {
        self.removed = true;
        self.csts = Csts::new();
    }

    /// Whether the function was removed.
    pub(super) fn is_removed(&self) -> bool {
        self.removed
    }

    fn read(&self, offset: u32) -> u32 {
        if self.removed {
            return u32::MAX;
        }
        let (cap, asq, acq) = (u64::from(self.cap), self.asq, self.acq);
        match offset {
            CAP => cap as u32,
            CAP_HIGH => (cap >> 32) as u32,
            VS => self.vs.into(),
            CC => self.cc.into(),
            CSTS => self.csts.into(),
            AQA => self.aqa.into(),
            ASQ => asq as u32,
            ASQ_HIGH => (asq >> 32) as u32,
            ACQ => acq as u32,
            ACQ_HIGH => (acq >> 32) as u32,
            // INTMS and INTMC are not used with MSI-X; the other offsets are no registers.
            _ => 0,
        }
    }
}

const CAP_HIGH: u32 = CAP + 4;
const ASQ_HIGH: u32 = ASQ + 4;
const ACQ_HIGH: u32 = ACQ + 4;

impl EmulatedController {
    /// Reads the 32-bit register at `offset`.
    pub fn read32(&self, offset: u32) -> u32 {
        self.registers.read(offset)
    }

    /// Whether the controller is enabled, so that doorbells have a meaning.
    pub(crate) fn is_enabled(&self) -> bool {
        self.registers.running()
    }

    /// Reads the 64-bit register at `offset`.
    pub fn read64(&self, offset: u32) -> u64 {
        let high = offset.checked_add(4).map_or(0, |high| self.read32(high));
        u64::from(self.read32(offset)) | u64::from(high) << 32
    }

    /// Writes the 32-bit register at `offset`. Writes to read-only registers have no effect.
    pub fn write32(&mut self, offset: u32, value: u32) {
        let low = |old: u64| old & !0xffff_ffff | u64::from(value);
        let high = |old: u64| old & 0xffff_ffff | u64::from(value) << 32;
        let registers = &mut self.registers;
        if registers.removed {
            return;
        }
        match offset {
            CC => self.configure(Cc::from(value)),
            AQA => registers.aqa = Aqa::from(value),
            ASQ => registers.asq = low(registers.asq),
            ASQ_HIGH => registers.asq = high(registers.asq),
            ACQ => registers.acq = low(registers.acq),
            ACQ_HIGH => registers.acq = high(registers.acq),
            _ => {}
        }
    }

    /// Writes the 64-bit register at `offset`.
    pub fn write64(&mut self, offset: u32, value: u64) {
        self.write32(offset, value as u32);
        if let Some(high) = offset.checked_add(4) {
            self.write32(high, (value >> 32) as u32);
        }
    }

    /// Executes a write to CC.
    fn configure(&mut self, new: Cc) {
        let old = self.registers.cc;
        self.registers.cc = new;
        match (old.en(), new.en()) {
            // A controller that has ignored the reset before has nothing to begin.
            (false, true) if self.registers.csts.rdy() => {}
            (false, true) => {
                self.enable();
                self.begin_faults();
            }
            (true, false) if self.ignores_reset() => {}
            (true, false) => self.reset(),
            _ => {}
        }
        if new.shn() != 0 && new.shn() != old.shn() {
            self.shut_down();
        }
    }

    /// Sets CC.EN. A controller that cannot be enabled fails, and does not become ready.
    fn enable(&mut self) {
        if !self.can_enable() {
            self.registers.fail();
            return;
        }
        self.doorbells.clear();
        let Registers { aqa, asq, acq, .. } = self.registers;
        let completion = CompletionQueue::new(acq, u32::from(aqa.acqs()) + 1, Some(0));
        let submission = SubmissionQueue::new(asq, u32::from(aqa.asqs()) + 1, 0);
        self.queues.add_completion(0, completion);
        self.queues.add_submission(0, submission);
        self.registers.csts.set_rdy(true);
    }

    /// Whether CC and the admin queue's registers are valid (Base 3.1.4.5 and 3.1.4.8 to 10).
    fn can_enable(&self) -> bool {
        let Registers {
            cc, aqa, asq, acq, ..
        } = self.registers;
        let command_set = match cc.css() {
            Cc::NVM_COMMAND_SET => true,
            Cc::ALL_COMMAND_SETS => self.registers.has_command_sets(),
            _ => false,
        };
        let configuration = command_set
            && cc.mps() == 0
            && (cc.ams() == 0 || self.registers.weighted() && self.registers.has_weights());
        let bytes = |last: u16, entry: usize| (u64::from(last) + 1) * entry as u64;
        configuration
            && aqa.asqs() > 0
            && aqa.acqs() > 0
            && asq.is_multiple_of(PAGE)
            && acq.is_multiple_of(PAGE)
            && self
                .guest
                .covers(asq, bytes(aqa.asqs(), size_of::<Command>()))
            && self
                .guest
                .covers(acq, bytes(aqa.acqs(), size_of::<CompletionEntry>()))
    }

    /// Clears CC.EN (Base 3.7.2): queues and all outstanding commands are gone, AQA, ASQ and ACQ remain.
    pub(super) fn reset(&mut self) {
        self.queues.clear();
        self.in_service.clear();
        self.shutdowns.forget();
        self.cache_offs.forget();
        self.drop_shadow();
        self.doorbells.clear();
        self.errors.clear();
        self.events.reset();
        self.interrupts.reset();
        self.features.reset();
        if let Some(host_memory) = &mut self.host_memory {
            host_memory.disable();
        }
        let now = self.now;
        self.metered().reset(now);
        if let Some(faults) = &mut self.faults {
            faults.reset();
        }
        self.registers.csts = Csts::new();
    }

    /// Executes a shutdown requested by CC.SHN (Base 3.6.1): no data stays in a cache.
    fn shut_down(&mut self) {
        if self.is_volatile() {
            self.registers.csts.set_shst(SHUTDOWN_OCCURRING);
            self.shutdowns.request();
        } else {
            self.registers.complete_shutdown();
        }
    }
}
