//! Identify (Base 5.17; NVM 4.1.5).

use super::super::EmulatedController;
use super::super::errors::{EVENT_REQUESTS, LOG_ENTRIES};
use super::super::features::WCTEMP;
use super::super::host_memory::HostMemory;
use super::super::likeness;
use joulio_model::Figure;
use joulio_model::device::PowerState;
use joulio_nvme_spec::identify::{
    ActiveNamespaces, Cns, Ctratt, Dlfeat, EMULATED_SUBNQN, IdentifyController, IdentifyNamespace,
    IdentifyNvmController, LbaFormat, Oaes, Oncs, PowerStateDescriptor, PowerStateFlags, Sgls,
};
use joulio_nvme_spec::register::Cc;
use joulio_nvme_spec::{Command, Status};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromZeros, IntoBytes};

const PAGE: usize = 4096;

/// Least NSID after which a list cannot begin (Base 5.17.2.2).
const NO_LIST_AFTER: u32 = 0xffff_fffe;

/// CSI of the NVM command set (Base 5.17).
const NVM_COMMAND_SET: u32 = 0;

/// Returns CSI: the I/O command set of a data structure.
fn command_set(command: &Command) -> u32 {
    command.cdw10[1].get() >> 24
}

const INVALID_NAMESPACE: Status = Status::INVALID_NAMESPACE.do_not_retry();

impl EmulatedController {
    pub(super) fn identify(&mut self, command: &Command) -> Result<u32, Status> {
        let nsid = command.nsid.get();
        match Cns(command.cdw10[0].get() as u8) {
            Cns::NAMESPACE => {
                let page = self.identify_namespace(nsid)?;
                self.hand_out(command, page.as_bytes())?;
            }
            Cns::CONTROLLER => {
                let page = self.identify_controller();
                self.hand_out(command, page.as_bytes())?;
            }
            _ if !self.registers.has_lists() => return Err(Status::INVALID_FIELD.do_not_retry()),
            Cns::ACTIVE_NAMESPACES => {
                let page = self.active_namespaces(nsid)?;
                self.hand_out(command, page.as_bytes())?;
            }
            Cns::NAMESPACE_DESCRIPTORS => {
                let page = self.namespace_descriptors(nsid)?;
                self.hand_out(command, &page)?;
            }
            Cns::COMMAND_SET_CONTROLLER if command_set(command) == NVM_COMMAND_SET => {
                let page = self.identify_nvm_controller();
                self.hand_out(command, page.as_bytes())?;
            }
            cns if self.registers.has_command_sets() => self.identify_command_set(cns, command)?,
            _ => return Err(Status::INVALID_FIELD.do_not_retry()),
        }
        Ok(0)
    }

    /// Hands out the data structures that a controller with CAP.CSS bit 6 has beside those of every controller.
    fn identify_command_set(&mut self, cns: Cns, command: &Command) -> Result<(), Status> {
        let nsid = command.nsid.get();
        match cns {
            Cns::COMMAND_SETS => {
                // 512 vectors of 8 bytes: the first, and only, combination is the NVM command set alone, bit 0.
                let mut page = [0; PAGE];
                page[0] = 1;
                self.hand_out(command, &page)
            }
            Cns::COMMAND_SET_NAMESPACE if command_set(command) == NVM_COMMAND_SET => {
                self.identify_namespace(nsid)?;
                // No protection information, no storage tags: nothing is set.
                self.hand_out(command, &[0; PAGE])
            }
            Cns::COMMAND_SET_ACTIVE_NAMESPACES if command_set(command) == NVM_COMMAND_SET => {
                let page = self.active_namespaces(nsid)?;
                self.hand_out(command, page.as_bytes())
            }
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }

    /// Whether writes may be lost until they are flushed: as the profile says, or because a file is cached.
    pub(super) fn has_volatile_cache(&self) -> bool {
        self.profile.volatile_write_cache || self.is_volatile()
    }

    fn identify_controller(&self) -> IdentifyController {
        let own = self.own_identity();
        self.pages
            .as_ref()
            .map_or(own, |pages| likeness::identity(&pages.controller, &own))
    }

    fn own_identity(&self) -> IdentifyController {
        let mut page = IdentifyController::new_zeroed();
        let serial = format!("JOULIO{:014X}", self.identity(0) as u64 >> 8);
        let qualified = format!("{EMULATED_SUBNQN}{serial}");
        page.vid = U16::new(EmulatedController::VENDOR);
        page.ssvid = U16::new(EmulatedController::VENDOR);
        pad(&mut page.sn, &serial);
        pad(&mut page.mn, &self.profile.model);
        page.fr = firmware();
        page.mdts = self.profile.mdts();
        page.cntlid = U16::new(1);
        page.ver = U32::new(self.registers.version().into());
        page.cntrltype = 1;
        // Bit 8: Doorbell Buffer Config.
        page.oacs = U16::new(u16::from(self.shadow_doorbells) << 8);
        page.oaes = U32::new(Oaes::new().with_namespace_attribute(true).into());
        page.ctratt = U32::new(Ctratt::new().with_pms(true).into());
        page.acl = 3;
        page.aerl = (EVENT_REQUESTS - 1) as u8;
        // One firmware slot, read only (Base figure 275, FRMW).
        page.frmw = 1 << 1 | 1;
        // Get Log Page takes an offset and a 32-bit length (LPA bit 2).
        page.lpa = 1 << 2;
        page.elpe = (LOG_ENTRIES - 1) as u8;
        page.apsta = 1;
        page.wctemp = U16::new(WCTEMP);
        page.cctemp = U16::new(353);
        if let Some(host_memory) = &self.host_memory {
            page.hmpre = U32::new(host_memory.preferred());
            page.hmmin = U32::new(host_memory.minimum());
            page.hmminds = U32::new(1);
            page.hmmaxd = U16::new(HostMemory::MAX_DESCRIPTORS);
        }
        page.tnvmcap = self
            .namespaces
            .iter()
            .map(|each| u128::from(each.bytes()))
            .sum::<u128>()
            .into();
        // Any time limit that can be requested.
        page.msmt = U16::new(u16::MAX);
        page.sqes = Cc::SQES << 4 | Cc::SQES;
        page.cqes = Cc::CQES << 4 | Cc::CQES;
        page.nn = U32::new(self.namespaces.len() as u32);
        page.oncs = U16::new(optional_commands().into());
        // Data blocks of whole dwords. No bit buckets, and no list longer than its data.
        page.sgls = U32::new(Sgls::new().with_support(Sgls::DWORDS).into());
        // Bits 2:1: Flush may name all namespaces.
        page.vwc = 3 << 1 | u8::from(self.has_volatile_cache());
        page.subnqn[..qualified.len()].copy_from_slice(qualified.as_bytes());
        let states = &self.profile.power.states;
        page.npss = (states.len().clamp(1, 32) - 1) as u8;
        for (descriptor, state) in page.psd.iter_mut().zip(states) {
            *descriptor = power_state(state);
        }
        page
    }

    /// Builds the page of CNS 06h. MDTS is for commands that transfer data: Verify has the same limit, Write Zeroes and
    /// Dataset Management have none.
    fn identify_nvm_controller(&self) -> IdentifyNvmController {
        let mut page = IdentifyNvmController::new_zeroed();
        page.vsl = self.profile.mdts();
        page
    }

    fn identify_namespace(&self, nsid: u32) -> Result<IdentifyNamespace, Status> {
        let mut page = IdentifyNamespace::new_zeroed();
        let Some(index) = self.namespace_index(nsid) else {
            // NSIDs up to NN are valid, but inactive.
            let inactive = nsid != 0 && nsid <= self.identify_controller().nn.get();
            return if inactive {
                Ok(page)
            } else {
                Err(INVALID_NAMESPACE)
            };
        };
        if self.is_inactive(nsid) {
            return Ok(page);
        }
        if let Some(given) = self.pages.as_ref().and_then(|pages| pages.namespace) {
            return Ok(given);
        }
        let namespace = &self.namespaces[index];
        page.nsze = namespace.blocks().into();
        page.ncap = namespace.blocks().into();
        page.nuse = namespace.blocks().into();
        page.nvmcap = u128::from(namespace.bytes()).into();
        // Deallocated blocks of a store read as zeroes, because they are a hole or fresh memory.
        page.dlfeat = Dlfeat::new()
            .with_read_behaviour(Dlfeat::READS_ZEROES)
            .with_write_zeroes_deallocate(true)
            .into();
        page.nsattr = u8::from(namespace.write_protected());
        page.lbaf[0] = LbaFormat {
            lbads: namespace.block_shift(),
            ..LbaFormat::default()
        };
        Ok(page)
    }

    fn active_namespaces(&self, after: u32) -> Result<ActiveNamespaces, Status> {
        if after >= NO_LIST_AFTER {
            return Err(INVALID_NAMESPACE);
        }
        let mut page = ActiveNamespaces::new_zeroed();
        let namespaces = after.saturating_add(1)..=self.namespaces.len() as u32;
        let active = namespaces.filter(|&nsid| !self.is_inactive(nsid));
        for (entry, nsid) in page.nsid.iter_mut().zip(active) {
            *entry = U32::new(nsid);
        }
        Ok(page)
    }

    /// Builds the list of Namespace Identification Descriptors (Base figure 277): one of type 3h, a UUID, and, where
    /// the host may choose all command sets, one of type 4h, CSI.
    fn namespace_descriptors(&self, nsid: u32) -> Result<[u8; PAGE], Status> {
        let exists = self.namespace_index(nsid).is_some();
        if !exists || self.is_inactive(nsid) {
            return Err(INVALID_NAMESPACE);
        }
        let mut page = [0; PAGE];
        page[0] = 3;
        page[1] = 16;
        page[4..20].copy_from_slice(&uuid(self.identity(nsid)));
        if self.registers.has_command_sets() {
            page[20] = 4;
            page[21] = 1;
            page[24] = NVM_COMMAND_SET as u8;
        }
        Ok(page)
    }

    /// Computes a number that is the same for the same profile, seed and `nsid`: FNV-1a of them.
    fn identity(&self, nsid: u32) -> u128 {
        const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let bytes = self.profile.name.bytes();
        bytes
            .chain(self.seed.to_le_bytes())
            .chain(nsid.to_le_bytes())
            .fold(BASIS, |hash, byte| {
                (hash ^ u128::from(byte)).wrapping_mul(PRIME)
            })
    }
}

/// Returns ONCS: the commands of [`super::super::checked_io::Work`] beside reads, writes and flushes.
fn optional_commands() -> Oncs {
    Oncs::new()
        .with_compare(true)
        .with_dsm(true)
        .with_write_zeroes(true)
        .with_verify(true)
}

/// Returns FR: the version of this crate.
pub(super) fn firmware() -> [u8; 8] {
    let mut field = [0; 8];
    pad(&mut field, env!("CARGO_PKG_VERSION"));
    field
}

/// Writes `text` as ASCII, left-justified, padded with spaces (Base 1.4.2).
fn pad(field: &mut [u8], text: &str) {
    field.fill(b' ');
    let len = text.len().min(field.len());
    field[..len].copy_from_slice(&text.as_bytes()[..len]);
}

/// Makes a UUID of version 8, whose other bits are free for its maker's use (RFC 9562, 5.8).
fn uuid(bits: u128) -> [u8; 16] {
    let mut bytes = bits.to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn power_state(state: &PowerState) -> PowerStateDescriptor {
    let (mp, fine) = maximum_power(state.max_power_watts.value);
    let (idle, idle_scale) = scaled_power(state.idle_watts.as_ref());
    let (active, active_scale) = scaled_power(state.active_watts.as_ref());
    PowerStateDescriptor {
        mp: U16::new(mp),
        flags: PowerStateFlags::new()
            .with_mxps(fine)
            .with_nops(!state.operational)
            .into(),
        enlat: U32::new(state.entry_latency_us.count() as u32),
        exlat: U32::new(state.exit_latency_us.count() as u32),
        idlp: U16::new(idle),
        ips: idle_scale << 6,
        actp: U16::new(active),
        // APW 1: an active power is only defined with a workload (Base figure 276).
        apw_aps: active_scale << 6 | u8::from(active_scale != 0),
        ..PowerStateDescriptor::default()
    }
}

/// Returns MP, and whether it is in units of 100 uW (MXPS), as it is if it fits: else in units of 10 mW.
fn maximum_power(watts: f64) -> (u16, bool) {
    let fine = (watts * 1e4).round();
    if fine <= f64::from(u16::MAX) {
        (fine as u16, true)
    } else {
        ((watts * 1e2).round() as u16, false)
    }
}

/// Returns IDLP or ACTP with its scale: 0 not reported, 1 units of 100 uW, 2 of 10 mW.
fn scaled_power(watts: Option<&Figure>) -> (u16, u8) {
    let Some(watts) = watts else { return (0, 0) };
    let (power, fine) = maximum_power(watts.value);
    (power, if fine { 1 } else { 2 })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn power_takes_the_finest_unit_it_fits() {
        assert_eq!(maximum_power(0.005), (50, true));
        assert_eq!(maximum_power(6.5), (65_000, true));
        assert_eq!(maximum_power(25.0), (2_500, false));
        assert_eq!(maximum_power(1e9), (u16::MAX, false));
    }
}
