//! The functions that this process drives, each opened once.
//!
//! VFIO opens a function of a group any number of times: opening it a second time would reset it under its first user.

use crate::DeviceError;
use crate::pci::PciAddress;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TAKEN: Mutex<BTreeSet<PciAddress>> = Mutex::new(BTreeSet::new());

/// A claim of a function, which nobody else in this process may open meanwhile.
#[derive(Debug)]
pub(super) struct Claim(PciAddress);

impl Claim {
    /// Claims the function at `address`, which the user calls `name`.
    pub(super) fn take(name: &str, address: PciAddress) -> Result<Claim, DeviceError> {
        if taken().insert(address) {
            Ok(Claim(address))
        } else {
            Err(DeviceError::OpenAlready {
                device: name.into(),
            })
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        taken().remove(&self.0);
    }
}

fn taken() -> MutexGuard<'static, BTreeSet<PciAddress>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_opened_once_and_again_when_it_was_closed() {
        // Addresses that exist on no machine.
        let [one, other] = ["fffe:00:1f.6", "fffe:00:1f.7"].map(|it| it.parse().unwrap());
        let first = Claim::take("one", one).unwrap();
        let second = Claim::take("other", other).unwrap();
        let refused = Claim::take("one", one).unwrap_err();
        assert!(matches!(refused, DeviceError::OpenAlready { .. }));
        drop(second);
        assert!(Claim::take("one", one).is_err());
        drop(first);
        assert!(Claim::take("one", one).is_ok());
    }
}
