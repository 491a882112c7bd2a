//! Changes of a controller's features.

use super::apst;
use super::feature::{FeatureChange, FeatureError, FeatureValue};
use crate::changes::{ChangeError, Changes, Restorable};
use crate::controller::AdminController;
use crate::journal::{RecordedChange, RestoreError};
use joulio_nvme::{IdleStates, NvmeError};
use joulio_nvme_spec::feature::{ApstTable, InterruptCoalescing};

/// A feature of a controller and its requested value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureRequest {
    /// Power state, 0 to 31 (feature 02h).
    PowerState(u8),
    /// Coalescing of interrupts for several completions (feature 08h).
    Coalescing(InterruptCoalescing),
    /// Autonomous transitions, on or off (feature 0Ch). On a device without a table of them, or with one that has power
    /// states from which its model does not come back, Linux's is made.
    Apst(bool),
}

impl FeatureRequest {
    fn read(&self, device: &AdminController) -> Result<FeatureValue, NvmeError> {
        match self {
            FeatureRequest::PowerState(_) => FeatureValue::power_state(device),
            FeatureRequest::Coalescing(_) => FeatureValue::interrupt_coalescing(device),
            FeatureRequest::Apst(_) => FeatureValue::apst(device),
        }
    }

    fn make(&self, device: &AdminController) -> Result<(), NvmeError> {
        let control = &**device.control();
        match self {
            FeatureRequest::PowerState(ps) => control.set_power_state(*ps),
            FeatureRequest::Coalescing(value) => control.set_interrupt_coalescing(*value),
            FeatureRequest::Apst(on) => {
                let table = apst_table(*on, device)?;
                control.set_apst(*on, &table)
            }
        }
    }

    /// Returns the value that `device` is to have.
    fn value(&self, device: &AdminController) -> Result<FeatureValue, NvmeError> {
        Ok(match self {
            FeatureRequest::PowerState(ps) => FeatureValue::PowerState {
                value: u32::from(*ps),
            },
            FeatureRequest::Coalescing(value) => FeatureValue::InterruptCoalescing {
                value: (*value).into(),
            },
            FeatureRequest::Apst(on) => {
                let table = apst_table(*on, device)?;
                FeatureValue::of_apst(*on, &table)
            }
        })
    }
}

/// Returns the table of transitions of `device`; if they are to be `on` and it has none that its model can have,
/// Linux's.
fn apst_table(on: bool, device: &AdminController) -> Result<Box<ApstTable>, NvmeError> {
    let control = &**device.control();
    let (_, mut table) = control.apst()?;
    if !on {
        return Ok(table);
    }
    let states = control.identify_controller().power_states();
    let allowed = control.idle_states();
    if allowed == IdleStates::None {
        return Err(NvmeError::Unsupported {
            device: control.device_name().into(),
            what: "this model fails once it goes to power states by itself (as Linux' driver knows): leave apst off"
                .into(),
        });
    }
    if !apst::is_usable(&table, states.len(), allowed) {
        *table = apst::as_linux_has_it(states, allowed);
    }
    Ok(table)
}

/// A change of a feature of `device`, with the value that it replaces.
struct FeatureSetting<'a> {
    request: FeatureRequest,
    device: &'a AdminController,
    old: FeatureValue,
    new: FeatureValue,
}

impl Restorable for FeatureSetting<'_> {
    fn record(&self) -> Option<RecordedChange> {
        let address = self.device.address()?;
        let (old, new) = (self.old.clone(), self.new.clone());
        let change = FeatureChange::new(address, self.device, old, new);
        Some(RecordedChange::Feature(change))
    }

    fn make(&self) -> Result<(), ChangeError> {
        let made = self.request.make(self.device);
        made.map_err(|source| match source.is_unanswered() {
            // One that ends with this process leaves nothing to restore.
            true if self.device.address().is_some() => ChangeError::Unanswered {
                source,
                old: self.old.describe(),
            },
            _ => source.into(),
        })
    }

    fn restore(&self) -> Result<Vec<String>, RestoreError> {
        let back = self.old.restore(self.device);
        back.map_err(FeatureError::from)?;
        Ok(Vec::new())
    }

    /// Returns no changes: a command that is refused changes nothing.
    fn restore_after_failure(&self) -> Result<Vec<String>, RestoreError> {
        Ok(Vec::new())
    }
}

impl<'a> Changes<'a> {
    /// Sets features of `device`, in this order. If one fails, those before it stay until this is dropped.
    ///
    /// # Errors
    /// The device does not have a feature or refuses a value, another process has changed the same, or the change
    /// cannot be journaled.
    pub fn features(
        &mut self,
        device: &'a AdminController,
        requests: &[FeatureRequest],
    ) -> Result<(), ChangeError> {
        let set = |changes: &mut Changes<'a>| {
            // All of them first: a device that may change its power state by itself does, at once.
            let old = requests.iter().map(|request| request.read(device));
            let old: Vec<_> = old.collect::<Result<_, _>>()?;
            requests.iter().zip(old).try_for_each(|(&request, old)| {
                changes.set(FeatureSetting {
                    request,
                    device,
                    old,
                    new: request.value(device)?,
                })
            })
        };
        match device.ends_with_process() {
            true => set(self),
            // Nobody restores in between the value that is the old one here.
            false => self.locked(set),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use joulio_device::AdminData;
    use joulio_device::pci::PciId;
    use joulio_nvme::{Cancel, PowerControl};
    use joulio_nvme_spec::feature::ApstEntry;
    use joulio_nvme_spec::identify::{IdentifyController, PowerStateFlags};
    use joulio_nvme_spec::{AdminOpcode, Command, Status};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use zerocopy::{FromZeros, IntoBytes};

    /// Answer of a device to Set Features.
    #[derive(Clone, Copy)]
    enum Answer {
        Success,
        Failure,
        None,
    }

    /// A device whose features are all 0 but for interrupt coalescing, which it keeps, and its table of transitions.
    struct Fake {
        id: Option<PciId>,
        identity: Box<IdentifyController>,
        transitions: ApstTable,
        coalescing: AtomicU32,
        answer: Answer,
    }

    impl Fake {
        fn answering(answer: Answer) -> (Arc<Fake>, AdminController) {
            let control = Arc::new(Fake {
                id: None,
                identity: Box::new(IdentifyController::new_zeroed()),
                transitions: ApstTable::default(),
                coalescing: AtomicU32::new(0),
                answer,
            });
            let address = "/dev/nvme0".parse().unwrap();
            let device = AdminController::opened("it", address, control.clone());
            (control, device)
        }
    }

    impl PowerControl for Fake {
        fn device_name(&self) -> &str {
            "it"
        }

        fn identify_controller(&self) -> &IdentifyController {
            &self.identity
        }

        fn pci_id(&self) -> Option<PciId> {
            self.id
        }

        fn admin(
            &self,
            command: &'static str,
            sent: Command,
            data: AdminData<'_>,
        ) -> Result<u32, NvmeError> {
            if let AdminData::In(bytes) = data {
                bytes.copy_from_slice(self.transitions.as_bytes());
            }
            let device = "it".into();
            if AdminOpcode(sent.dword0().opc()) == AdminOpcode::SET_FEATURES {
                let value = sent.cdw10[1].get();
                match self.answer {
                    Answer::Success => self.coalescing.store(value, Ordering::Relaxed),
                    Answer::Failure => {
                        return Err(NvmeError::Admin {
                            device,
                            command,
                            status: Status::INVALID_FIELD,
                        });
                    }
                    Answer::None => {
                        return Err(NvmeError::AdminStuck {
                            device,
                            command,
                            milliseconds: 5000,
                        });
                    }
                }
            }
            Ok(self.coalescing.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_feature_that_somebody_else_has_set_since_is_left() {
        let room = tempfile::tempdir().unwrap();
        let (control, device) = Fake::answering(Answer::Success);
        let (old, new, theirs) = (0, 0x0107, 0x0203);
        // The second change is made before the first one is restored.
        for value in [0x0505, new] {
            let mut changes = Changes::written_in(Journal::at(room.path()), |_| {});
            let request = FeatureRequest::Coalescing(InterruptCoalescing::from(value));
            changes.features(&device, &[request]).unwrap();
            changes.leave();
        }
        let locked = Journal::at(room.path()).lock().unwrap();
        let (_, name) = locked.entries().unwrap().remove(0);
        let held = locked.take(&name).unwrap();
        let RecordedChange::Feature(change) = &held.entry.change else {
            panic!("{:?}", held.entry)
        };
        for (now, after, left) in [
            (theirs, theirs, true),
            (new, old, false),
            (0x0505, old, false),
            (old, old, false),
        ] {
            control.coalescing.store(now, Ordering::Relaxed);
            let why = change.restore_on(&device).unwrap();
            assert_eq!(why.is_some(), left, "{now:#x}: {why:?}");
            assert_eq!(control.coalescing.load(Ordering::Relaxed), after);
        }
        // An entry of an earlier version has no new value.
        let earlier = FeatureChange {
            new: Vec::new(),
            ..change.clone()
        };
        control.coalescing.store(theirs, Ordering::Relaxed);
        assert_eq!(earlier.restore_on(&device).unwrap(), None);
        assert_eq!(control.coalescing.load(Ordering::Relaxed), old);
        // After a restart the device is not even opened.
        let restarted = FeatureChange {
            boot: Some("another".into()),
            ..change.clone()
        };
        let why = restarted.restore(&Cancel::default()).unwrap().unwrap();
        assert!(why.contains("restarted"), "{why}");
    }

    /// Returns the targets of the transitions of power states 0 and 1 once they are on, of a drive with three power
    /// states that has a transition to `to`.
    fn targets(id: Option<PciId>, model: (u16, &str), to: u8) -> Result<[u8; 2], NvmeError> {
        let mut identity = Box::new(IdentifyController::new_zeroed());
        identity.vid.set(model.0);
        identity.mn[..model.1.len()].copy_from_slice(model.1.as_bytes());
        (identity.apsta, identity.npss) = (1, 2);
        for sleeps in &mut identity.psd[1..=2] {
            sleeps.flags = PowerStateFlags::new().with_nops(true).into();
        }
        let mut transitions = ApstTable::default();
        if to > 0 {
            let entry = ApstEntry::new().with_itps(to).with_itpt(7);
            transitions.entries[0].set(entry.into());
        }
        let device = AdminController::of_this_process(
            "it",
            Arc::new(Fake {
                id,
                identity,
                transitions,
                coalescing: AtomicU32::new(0),
                answer: Answer::Success,
            }),
        );
        let off = apst_table(false, &device)?;
        assert_eq!(off.as_bytes(), transitions.as_bytes());
        let table = apst_table(true, &device)?;
        Ok([0, 1].map(|ps| ApstEntry::from(table.entries[ps].get()).itps()))
    }

    #[test]
    fn transitions_are_on_only_to_states_that_the_model_comes_back_from() {
        // The drive's own table if it has one, else Linux's.
        let other = (0x144d, "a drive");
        assert_eq!(targets(None, other, 2).unwrap(), [2, 0]);
        assert_eq!(targets(None, other, 0).unwrap(), [2, 2]);
        // SanDisk SN550, by its identifiers; X5, by its model.
        let sn550 = PciId {
            vendor: 0x15b7,
            device: 0x5009,
        };
        let x5 = (0x144d, "Samsung Portable SSD X5");
        for (id, model) in [(Some(sn550), other), (None, x5)] {
            assert_eq!(targets(id, model, 0).unwrap(), [1, 0]);
            assert_eq!(targets(id, model, 2).unwrap(), [1, 0]);
            assert_eq!(targets(id, model, 1).unwrap(), [1, 0]);
        }
        let refused = targets(None, (0x1e0f, "KCD6XVUL6T40"), 2).unwrap_err();
        assert!(refused.to_string().ends_with("leave apst off"), "{refused}");
    }

    /// Error of a change of a device with that answer, and the entries that are left.
    fn failed(answer: Answer) -> (ChangeError, usize) {
        let room = tempfile::tempdir().unwrap();
        let (_, device) = Fake::answering(answer);
        let mut changes = Changes::written_in(Journal::at(room.path()), |_| {});
        let request = FeatureRequest::Coalescing(InterruptCoalescing::new().with_thr(7));
        let error = changes.features(&device, &[request]).unwrap_err();
        drop(changes);
        (error, std::fs::read_dir(room.path()).unwrap().count())
    }

    #[test]
    fn a_change_without_an_answer_stays_in_the_journal() {
        let (error, entries) = failed(Answer::None);
        assert!(error.leaves_changes());
        let text = error.to_string();
        let says = "whether the feature was changed is not known: `joulio restore` sets interrupt coalescing";
        assert!(text.contains(says), "{text}");
        assert_eq!(entries, 1);
        let (error, entries) = failed(Answer::Failure);
        assert!(!error.leaves_changes(), "{error}");
        assert_eq!(entries, 0);
    }
}
