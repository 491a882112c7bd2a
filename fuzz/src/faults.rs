//! Faults and plans of them, as a fuzzer draws them.

use arbitrary::Arbitrary;
use joulio_emulator::{Fault, FaultPlan, Planned, When};
use joulio_nvme_spec::Status;
use joulio_units::Nanos;

/// Any [`Fault`].
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum AnyFault {
    /// An error: SCT, SC and DNR.
    Status(u8, u8, bool),
    Drop,
    /// Delays by so many microseconds.
    Late(u16),
    Double,
    Reorder,
    Stale,
    Unknown,
    LostIrq,
    SpuriousIrq,
    Flip,
    Cfs,
    Removed,
    AdminStuck,
    NamespaceRemoved(u8),
    Full,
    StuckReset,
}

impl From<AnyFault> for Fault {
    fn from(fault: AnyFault) -> Fault {
        match fault {
            AnyFault::Status(sct, sc, do_not_retry) => {
                // 0/00 would be success.
                let field = u16::from(sct & 7) << 8 | u16::from(sc);
                let status = Status::from_field(field.max(1));
                Fault::Status(match do_not_retry {
                    true => status.do_not_retry(),
                    false => status,
                })
            }
            AnyFault::Drop => Fault::Drop,
            AnyFault::Late(micros) => Fault::Late(Nanos::from_micros(micros.into())),
            AnyFault::Double => Fault::Double,
            AnyFault::Reorder => Fault::Reorder,
            AnyFault::Stale => Fault::Stale,
            AnyFault::Unknown => Fault::Unknown,
            AnyFault::LostIrq => Fault::LostIrq,
            AnyFault::SpuriousIrq => Fault::SpuriousIrq,
            AnyFault::Flip => Fault::Flip,
            AnyFault::Cfs => Fault::Cfs,
            AnyFault::Removed => Fault::Removed,
            AnyFault::AdminStuck => Fault::AdminStuck,
            AnyFault::NamespaceRemoved(nsid) => Fault::NamespaceRemoved(u32::from(nsid % 4) + 1),
            AnyFault::Full => Fault::Full,
            AnyFault::StuckReset => Fault::StuckReset,
        }
    }
}

/// Any [`When`].
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum AnyWhen {
    /// Probability in parts of 65535.
    Rate(u16),
    Command(u8),
    /// Nanoseconds.
    After(u32),
}

/// Any [`FaultPlan`].
#[derive(Arbitrary, Clone, Debug)]
pub struct AnyPlan {
    seed: u64,
    faults: Vec<(AnyFault, AnyWhen)>,
}

impl From<AnyPlan> for FaultPlan {
    fn from(plan: AnyPlan) -> FaultPlan {
        let planned = |(fault, when): (AnyFault, AnyWhen)| Planned {
            fault: fault.into(),
            when: match when {
                AnyWhen::Rate(parts) => When::Rate(f64::from(parts) / 65535.0),
                AnyWhen::Command(number) => When::Command(u64::from(number) + 1),
                AnyWhen::After(nanos) => When::After(Nanos(nanos.into())),
            },
        };
        FaultPlan {
            seed: plan.seed,
            faults: plan.faults.into_iter().map(planned).collect(),
        }
    }
}
