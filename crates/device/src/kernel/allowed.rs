//! Admin commands that may be sent to a controller that the kernel drives.
//!
//! The length matters as much as the command: the kernel maps memory for the given length, but the controller writes as
//! many bytes as the command asks for.

use super::Refusal;
use crate::AdminData;
use joulio_nvme_spec::feature::{ApstTable, FeatureId, HostMemoryAttributes};
use joulio_nvme_spec::log::{LogId, PowerMeasurementLog, SmartHealth};
use joulio_nvme_spec::{AdminOpcode, Command};

/// The transfer of a command: its direction and its length.
enum Transfer {
    None,
    In(usize),
    Out(usize),
}

const IDENTIFY_BYTES: usize = 4096;
/// SV of Set Features (Base figure 315).
const SAVE: u32 = 1 << 31;
/// SEL of Get Features (Base figure 191).
const SELECT: u32 = 7 << 8;

/// Refuses commands that are not on the list.
pub(super) fn check(command: &Command, data: &AdminData<'_>) -> Result<(), Refusal> {
    let dword0 = command.dword0();
    if dword0.fuse() != 0 || dword0.psdt() != 0 {
        return Err(Refusal::Variant);
    }
    let transfer = match AdminOpcode(dword0.opc()) {
        AdminOpcode::IDENTIFY => Transfer::In(IDENTIFY_BYTES),
        AdminOpcode::GET_LOG_PAGE => log(command)?,
        AdminOpcode::GET_FEATURES => feature(command, SELECT, Transfer::In)?,
        AdminOpcode::SET_FEATURES => feature(command, SAVE, Transfer::Out)?,
        _ => return Err(Refusal::Command),
    };
    match (transfer, data) {
        (Transfer::None, AdminData::None) => Ok(()),
        (Transfer::In(len), AdminData::In(bytes)) if len == bytes.len() => Ok(()),
        (Transfer::Out(len), AdminData::Out(bytes)) if len == bytes.len() => Ok(()),
        _ => Err(Refusal::Data),
    }
}

/// Checks Get Log Page: NUMD dwords, 0's based, of a page that is at least as long, from its beginning.
fn log(command: &Command) -> Result<Transfer, Refusal> {
    let [dword10, dword11, low, high, ..] = command.cdw10.map(|dword| dword.get());
    let max = match LogId(dword10 as u8) {
        LogId::SMART_HEALTH => size_of::<SmartHealth>(),
        LogId::POWER_MEASUREMENT => size_of::<PowerMeasurementLog>(),
        _ => return Err(Refusal::Command),
    };
    if low != 0 || high != 0 || dword11 != 0 {
        return Err(Refusal::Variant);
    }
    let bytes = ((dword10 >> 16) as usize + 1) * 4;
    if bytes > max {
        return Err(Refusal::Variant);
    }
    Ok(Transfer::In(bytes))
}

/// Checks Get or Set Features, with none of the bits `not` of dword 10.
fn feature(
    command: &Command,
    not: u32,
    transfer: impl Fn(usize) -> Transfer,
) -> Result<Transfer, Refusal> {
    let dword10 = command.cdw10[0].get();
    let transfer = match FeatureId(dword10 as u8) {
        FeatureId::POWER_MANAGEMENT
        | FeatureId::INTERRUPT_COALESCING
        | FeatureId::POWER_MEASUREMENT => Transfer::None,
        FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION => transfer(size_of::<ApstTable>()),
        // Get Features only: the kernel decides which memory it lends.
        FeatureId::HOST_MEMORY_BUFFER if not == SELECT => {
            transfer(size_of::<HostMemoryAttributes>())
        }
        _ => return Err(Refusal::Command),
    };
    if dword10 & not != 0 {
        return Err(Refusal::Variant);
    }
    Ok(transfer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_nvme_spec::NamespaceId;
    use joulio_nvme_spec::identify::Cns;
    use proptest::prelude::*;
    use zerocopy::FromBytes;

    fn smart(bytes: usize) -> Command {
        Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, bytes)
    }

    #[test]
    fn what_is_about_power_passes_with_its_length_and_no_other() {
        let mut room = [0; 8192];
        let apst = FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION;
        let log = |bytes| Command::get_log_page(LogId::POWER_MEASUREMENT, NamespaceId::ALL, bytes);
        for (command, len) in [
            (Command::identify(Cns::CONTROLLER, NamespaceId::NONE), 4096),
            (smart(512), 512),
            (log(64), 64),
            (Command::get_features(apst), 256),
        ] {
            assert_eq!(check(&command, &AdminData::In(&mut room[..len])), Ok(()));
            for other in [0, len - 4, len + 4] {
                let data = AdminData::In(&mut room[..other]);
                assert_eq!(check(&command, &data), Err(Refusal::Data));
            }
            assert_eq!(
                check(&command, &AdminData::Out(&room[..len])),
                Err(Refusal::Data)
            );
            assert_eq!(check(&command, &AdminData::None), Err(Refusal::Data));
        }
        let set = Command::set_features(apst, 1);
        assert_eq!(check(&set, &AdminData::Out(&[0; 256])), Ok(()));
        assert_eq!(
            check(&set, &AdminData::In(&mut [0; 256])),
            Err(Refusal::Data)
        );
        for id in [
            FeatureId::POWER_MANAGEMENT,
            FeatureId::INTERRUPT_COALESCING,
            FeatureId::POWER_MEASUREMENT,
        ] {
            for command in [Command::get_features(id), Command::set_features(id, 1)] {
                assert_eq!(check(&command, &AdminData::None), Ok(()));
                assert_eq!(
                    check(&command, &AdminData::Out(&[0; 4])),
                    Err(Refusal::Data)
                );
            }
        }
    }

    #[test]
    fn variants_that_do_something_else_are_refused() {
        let variant = |mut command: Command, dword: usize, bits: u32| {
            command.cdw10[dword].set(command.cdw10[dword].get() | bits);
            check(&command, &AdminData::In(&mut [0; 512]))
        };
        let refused = Err(Refusal::Variant);
        let set = Command::set_features(FeatureId::POWER_MANAGEMENT, 1);
        assert_eq!(variant(set, 0, 1 << 31), refused);
        let get = Command::get_features(FeatureId::POWER_MANAGEMENT);
        assert_eq!(variant(get, 0, 3 << 8), refused);
        assert_eq!(variant(smart(512), 1, 1), refused);
        assert_eq!(variant(smart(512), 2, 4), refused);
        assert_eq!(check(&smart(516), &AdminData::In(&mut [0; 516])), refused);
        let mut fused = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
        fused.cdw0.set(fused.cdw0.get() | 1 << 8);
        assert_eq!(check(&fused, &AdminData::In(&mut [0; 4096])), refused);
    }

    #[test]
    fn nothing_that_touches_data_passes() {
        for opcode in 0..=u8::MAX {
            let requested = AdminOpcode(opcode);
            let known = [
                AdminOpcode::IDENTIFY,
                AdminOpcode::GET_LOG_PAGE,
                AdminOpcode::GET_FEATURES,
                AdminOpcode::SET_FEATURES,
            ];
            let command = Command::admin(requested);
            let passes = check(&command, &AdminData::In(&mut [0; 4096])).is_ok();
            assert!(!passes || known.contains(&requested), "{opcode:#x}");
        }
    }

    proptest! {
        /// Whatever the command is, one that passes transfers no more than its data has room for.
        #[test]
        fn no_command_writes_past_its_data(
            bytes in any::<[u8; 64]>(),
            opcode in prop::sample::select(vec![0x02_u8, 0x06, 0x09, 0x0a]),
            id in prop::sample::select(vec![0x02_u8, 0x08, 0x0c, 0x25, 0x07]),
            len in 0_usize..5000,
        ) {
            let mut command = Command::read_from_bytes(&bytes).unwrap();
            command.cdw0.set(opcode.into());
            command.cdw10[0].set(command.cdw10[0].get() & !0xff | u32::from(id));
            let mut room = vec![0; len];
            if check(&command, &AdminData::In(&mut room)).is_ok() {
                let numd = command.cdw10[0].get() >> 16;
                let written = match opcode {
                    0x02 => (numd as usize + 1) * 4,
                    0x06 => 4096,
                    _ => 256,
                };
                prop_assert_eq!(written, len);
            }
        }
    }
}
