//! Get Log Page (Base 5.16).

use super::super::EmulatedController;
use joulio_nvme_spec::identify::ActiveNamespaces;
use joulio_nvme_spec::log::{LogId, SmartHealth};
use joulio_nvme_spec::{Command, Status};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromZeros, IntoBytes};

/// 03h Firmware Slot Information (Base 5.16.1.4).
const FIRMWARE_SLOTS: LogId = LogId(0x03);
/// RAE: the event stays masked; bit 15 of dword 10 (Base figure 198).
const RETAIN_EVENT: u32 = 1 << 15;
/// Temperature in kelvins that is reported, as nothing is measured.
const TEMPERATURE: u16 = 300;
/// Critical Warning: the temperature has reached a threshold.
const TEMPERATURE_WARNING: u8 = 1 << 1;

const INVALID: Status = Status::INVALID_FIELD.do_not_retry();
const HOUR: u64 = 3_600_000_000_000;

impl EmulatedController {
    pub(super) fn get_log_page(&mut self, command: &Command) -> Result<u32, Status> {
        let [dword10, dword11, low, high, ..] = command.cdw10;
        let id = LogId(dword10.get() as u8);
        match id {
            LogId::ERROR_INFORMATION => {
                let page = self.errors.page();
                self.hand_out_log(command, page.as_bytes(), dword11.get(), (low, high))?;
                if dword10.get() & RETAIN_EVENT == 0 {
                    self.events.unmask();
                }
            }
            LogId::SMART_HEALTH => {
                // LPA bit 0 is clear: the log is of the whole controller.
                if !matches!(command.nsid.get(), 0 | u32::MAX) {
                    return Err(INVALID);
                }
                let page = self.health();
                self.hand_out_log(command, page.as_bytes(), dword11.get(), (low, high))?;
                if dword10.get() & RETAIN_EVENT == 0 {
                    self.events.unmask_health();
                }
            }
            LogId::CHANGED_NAMESPACES => {
                let page = self.changed_namespaces_page();
                self.hand_out_log(command, page.as_bytes(), dword11.get(), (low, high))?;
                if dword10.get() & RETAIN_EVENT == 0 {
                    self.forget_changed_namespaces();
                    self.events.unmask_notices();
                }
            }
            LogId::POWER_MEASUREMENT => {
                if !matches!(command.nsid.get(), 0 | u32::MAX) {
                    return Err(INVALID);
                }
                let now = self.now;
                let page = self.metered().measured(now);
                self.hand_out_log(command, page.as_bytes(), dword11.get(), (low, high))?;
            }
            FIRMWARE_SLOTS => {
                let page = firmware_slots();
                self.hand_out_log(command, &page, dword11.get(), (low, high))?;
            }
            _ => return Err(Status::INVALID_LOG_PAGE.do_not_retry()),
        }
        Ok(0)
    }

    /// Writes the requested part of a page to the host: NUMD dwords from byte LPO, but nothing beyond the end of the
    /// page.
    fn hand_out_log(
        &mut self,
        command: &Command,
        page: &[u8],
        dword11: u32,
        offset: (zerocopy::little_endian::U32, zerocopy::little_endian::U32),
    ) -> Result<(), Status> {
        let offset = u64::from(offset.0.get()) | u64::from(offset.1.get()) << 32;
        let numd = u64::from(command.cdw10[0].get() >> 16) | u64::from(dword11 & 0xffff) << 16;
        let bytes = (numd + 1) * 4;
        if !offset.is_multiple_of(4) || offset >= page.len() as u64 {
            return Err(INVALID);
        }
        let rest = &page[offset as usize..];
        let len = rest.len().min(bytes as usize);
        self.hand_out(command, &rest[..len])
    }

    /// Builds the Changed Namespace List: up to 1024 NSIDs, which is how many namespaces there can be (Base 5.16.1.5).
    fn changed_namespaces_page(&self) -> ActiveNamespaces {
        let mut page = ActiveNamespaces::new_zeroed();
        for (entry, &nsid) in page.nsid.iter_mut().zip(self.changed_namespaces()) {
            *entry = U32::new(nsid);
        }
        page
    }

    /// Returns the SMART log's Critical Warning.
    pub(super) fn critical_warning(&self) -> u8 {
        let [over, under] = self.features.thresholds;
        match under < TEMPERATURE && TEMPERATURE < over {
            true => 0,
            false => TEMPERATURE_WARNING,
        }
    }

    fn health(&mut self) -> SmartHealth {
        let (power, watt_hours) = self.metered().drawn();
        let mut page = SmartHealth::new_zeroed();
        let (read, write) = (self.activity.read, self.activity.write);
        page.critical_warning = self.critical_warning();
        page.composite_temperature = U16::new(TEMPERATURE);
        page.available_spare = 100;
        page.available_spare_threshold = 10;
        page.data_units_read = data_units(read.bytes).into();
        page.data_units_written = data_units(write.bytes).into();
        page.host_read_commands = u128::from(read.ios).into();
        page.host_write_commands = u128::from(write.ios).into();
        page.power_cycles = 1u128.into();
        page.power_on_hours = u128::from(self.now.since(self.start).0 / HOUR).into();
        page.error_log_entries = u128::from(self.errors.count).into();
        page.lifetime_energy = watt_hours.into();
        page.interval_power = U32::new(power.into());
        page
    }
}

/// Converts bytes to thousands of 512-byte units, rounded up.
fn data_units(bytes: u64) -> u128 {
    u128::from(bytes.div_ceil(512_000))
}

/// Builds the Firmware Slot Information log: one active slot, with the revision that Identify reports.
fn firmware_slots() -> [u8; 512] {
    let mut page = [0; 512];
    page[0] = 1;
    page[8..16].copy_from_slice(&super::identify::firmware());
    page
}
