//! Get Features and Set Features (Base 5.15 and 5.27).

use super::super::EmulatedController;
use super::super::features::{TEMPERATURE_THRESHOLD, VOLATILE_WRITE_CACHE};
use crate::namespace::Namespace;
use crate::power::{Power, Worked};
use joulio_nvme_spec::feature::{
    ApstEntry, ApstTable, FeatureId, InterruptCoalescing, InterruptVectorConfiguration,
    NumberOfQueues, PowerManagement, PowerMeasurement,
};
use joulio_nvme_spec::{Command, Status};
use zerocopy::{FromZeros, IntoBytes};

/// Command Sequence Error (Base figure 94).
const SEQUENCE_ERROR: Status = Status::from_field(0x0c);
/// SV: bit 31 of dword 10 (Base figure 315).
const SAVE: u32 = 1 << 31;

const INVALID: Status = Status::INVALID_FIELD.do_not_retry();

impl EmulatedController {
    pub(super) fn get_features(&mut self, command: &Command) -> Result<u32, Status> {
        let id = FeatureId(command.cdw10[0].get() as u8);
        let dword11 = command.cdw10[1].get();
        Ok(match id {
            FeatureId::POWER_MANAGEMENT => self.power.management(self.now).into(),
            FeatureId::POWER_MEASUREMENT => self.metered().measuring().into(),
            VOLATILE_WRITE_CACHE if self.has_volatile_cache() => {
                u32::from(self.features.write_cache)
            }
            TEMPERATURE_THRESHOLD => {
                let threshold = self.features.threshold(dword11, false);
                u32::from(*threshold.ok_or(INVALID)?)
            }
            FeatureId::NUMBER_OF_QUEUES => self.features.queues.into(),
            FeatureId::INTERRUPT_COALESCING => self.interrupts.coalescing.into(),
            FeatureId::INTERRUPT_VECTOR_CONFIGURATION => {
                let requested = InterruptVectorConfiguration::from(dword11);
                let disabled = self.interrupts.coalescing_disabled(requested.iv());
                let disabled = *disabled.ok_or(INVALID)?;
                let current = InterruptVectorConfiguration::new();
                current.with_iv(requested.iv()).with_cd(disabled).into()
            }
            FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION => self.features.event_configuration,
            FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION => {
                let (&table, enabled) = self.power.transitions();
                self.hand_out(command, table.as_bytes())?;
                u32::from(enabled)
            }
            FeatureId::HOST_MEMORY_BUFFER => {
                let host_memory = self.host_memory.as_ref().ok_or(INVALID)?;
                let (control, attributes) = host_memory.status();
                self.hand_out(command, attributes.as_bytes())?;
                control.into()
            }
            other => *self.features.remembered(other).ok_or(INVALID)?,
        })
    }

    pub(super) fn set_features(&mut self, command: &Command) -> Result<u32, Status> {
        let dword10 = command.cdw10[0].get();
        let value = command.cdw10[1].get();
        if dword10 & SAVE != 0 {
            return Err(Status::FEATURE_NOT_SAVEABLE.do_not_retry());
        }
        let warnings = self.enabled_warnings();
        match FeatureId(dword10 as u8) {
            FeatureId::POWER_MANAGEMENT => self.set_power(PowerManagement::from(value))?,
            FeatureId::POWER_MEASUREMENT => self.measure_power(PowerMeasurement::from(value))?,
            VOLATILE_WRITE_CACHE if self.has_volatile_cache() => {
                self.features.write_cache = value & 1 != 0;
            }
            TEMPERATURE_THRESHOLD => {
                let threshold = self.features.threshold(value, true);
                *threshold.ok_or(INVALID)? = value as u16;
            }
            FeatureId::NUMBER_OF_QUEUES => {
                return self.set_number_of_queues(NumberOfQueues::from(value));
            }
            FeatureId::INTERRUPT_COALESCING => {
                self.interrupts.coalescing = InterruptCoalescing::from(value & 0xffff);
            }
            FeatureId::INTERRUPT_VECTOR_CONFIGURATION => {
                let requested = InterruptVectorConfiguration::from(value);
                if !self.queues.has_vector(requested.iv()) {
                    return Err(INVALID);
                }
                let disabled = self.interrupts.coalescing_disabled(requested.iv());
                *disabled.ok_or(INVALID)? = requested.cd();
            }
            FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION => {
                self.features.event_configuration = value;
            }
            FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION => {
                self.set_transitions(command, value & 1 != 0)?;
            }
            FeatureId::HOST_MEMORY_BUFFER => {
                let host_memory = self.host_memory.as_mut().ok_or(INVALID)?;
                host_memory.set(command, &self.guest)?;
            }
            other => *self.features.remembered(other).ok_or(INVALID)? = value,
        }
        // The temperature does not change: a warning begins, or its event is enabled, by a command alone.
        if self.enabled_warnings() & !warnings != 0 {
            self.events.temperature_reached();
        }
        Ok(0)
    }

    /// Returns the critical warnings whose events feature 0Bh enables (Base 5.27.1.9).
    fn enabled_warnings(&self) -> u8 {
        self.critical_warning() & self.features.event_configuration as u8
    }

    /// Sets feature 02h (Base 5.27.1.2).
    fn set_power(&mut self, requested: PowerManagement) -> Result<(), Status> {
        let worked = Worked::of(&self.activity);
        let found = self.power.manage(requested, self.now, worked);
        if found { Ok(()) } else { Err(INVALID) }
    }

    /// Sets feature 25h: the time limit is at most MSMT, which is the most that fits.
    fn measure_power(&mut self, requested: PowerMeasurement) -> Result<(), Status> {
        let (now, worked) = (self.now, Worked::of(&self.activity));
        let sound = self.metered().measure(requested, now, worked);
        if sound { Ok(()) } else { Err(INVALID) }
    }

    /// Returns the power state, metered up to now.
    pub(in crate::controller) fn metered(&mut self) -> &mut Power {
        let worked = Worked::of(&self.activity);
        self.power.catch_up(self.now, worked);
        &mut self.power
    }

    /// Returns whether a Set Features turns off a cache that may have unflushed data.
    pub(super) fn turns_cache_off(&self, command: &Command) -> bool {
        let [dword10, value, ..] = command.cdw10.map(|dword| dword.get());
        let is_cache = FeatureId(dword10 as u8) == VOLATILE_WRITE_CACHE && dword10 & SAVE == 0;
        is_cache && value & 1 == 0 && self.is_volatile()
    }

    /// Sets feature 06h (Base 5.27.1.4): turning the cache off makes its data durable before the command `cid`
    /// completes, and the data of writes in service before they complete.
    pub(super) fn turn_cache_off(&mut self, cid: u16) {
        let volatile: Vec<_> = self.namespaces.iter().map(Namespace::is_volatile).collect();
        self.in_service.write_through(&volatile);
        self.features.write_cache = false;
        self.cache_offs.request(cid);
    }

    /// Sets feature 07h (Base 5.27.1.5): allowed only before any I/O queue exists; FFFFh is not a number.
    fn set_number_of_queues(&mut self, requested: NumberOfQueues) -> Result<u32, Status> {
        if requested.submission() == 0xffff || requested.completion() == 0xffff {
            return Err(INVALID);
        }
        let exists = self.queues.completion.iter().skip(1).any(Option::is_some);
        if exists {
            return Err(SEQUENCE_ERROR.do_not_retry());
        }
        self.features.allocate_queues(requested);
        Ok(self.features.queues.into())
    }

    /// Sets feature 0Ch (Base 5.27.1.10).
    fn set_transitions(&mut self, command: &Command, enabled: bool) -> Result<(), Status> {
        let mut table = ApstTable::new_zeroed();
        self.take_in(command, table.as_mut_bytes())?;
        let states = self.profile.power.states.len();
        let sound = table
            .entries
            .iter()
            .all(|entry| usize::from(ApstEntry::from(entry.get()).itps()) < states);
        if !sound {
            return Err(INVALID);
        }
        self.power.set_transitions(table, enabled, self.now);
        Ok(())
    }
}
