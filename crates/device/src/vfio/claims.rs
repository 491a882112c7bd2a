//! The functions that this process drives, each once.
//!
//! VFIO opens a function of a group as often as anyone requests it, and each time the same one: who
//! opened it again would reset it under whoever has it already.

use crate::DeviceError;
use crate::pci::PciAddress;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TAKEN: Mutex<BTreeSet<PciAddress>> = Mutex::new(BTreeSet::new());

/// A function that nobody else in this process may open.
#[derive(Debug)]
pub(super) struct Claim(PciAddress);

impl Claim {
    /// Claims the function at `address`, which a user named `name`.
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
        // Addresses that no machine has.
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
