//! MSI-X: eventfds sent by messages, masked and redirected through the table.
//!
//! The table is in a BAR. Where the peer allows mapping it, masking is a store; otherwise a message. Some peers keep no
//! table, since they expect a virtual machine monitor to have it, and treat an interrupt that they cannot deliver as a
//! fatal error. So each vector has its eventfd from before MSI-X is enabled until after it is disabled, and with a peer
//! without a table MSI-X is enabled only while a vector is unmasked: queues that only poll cost such a peer no
//! interrupts. An interrupt raised while masked is lost there, so that the caller must poll for completions after
//! unmasking, as the driver does anyway.

use super::region::Region;
use super::session::Session;
use super::{VfioUserError, config};
use crate::mmio::MappedBar;
use crate::vfio::config::MsiXTable;
use crate::{DeviceError, Iova, Vector, VectorControl};
use joulio_vfio_user_wire::{IrqInfo, pci};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a table entry: address low and high, data, control.
const ENTRY: u64 = 16;
const CONTROL: u64 = 12;
const MASKED: u32 = 1;

pub(super) struct MsiX {
    session: Arc<Session>,
    /// Location of the table; `None` if the device has no MSI-X.
    place: Option<MsiXTable>,
    table: Option<Table>,
    entries: u16,
    state: Mutex<State>,
}

/// Access to the MSI-X table.
enum Table {
    Mapped { bar: Arc<MappedBar>, at: usize },
    Message { region: u32, at: u64 },
}

#[derive(Default)]
struct State {
    /// Whether the peer has our eventfds.
    wired: bool,
    /// Whether MSI-X Enable is set.
    enabled: bool,
    /// Whether the peer keeps no table that can be written.
    tableless: bool,
    /// Whether each vector is to raise interrupts: used with a peer without a table.
    unmasked: Vec<bool>,
    /// Our copies of the eventfds.
    events: Vec<OwnedFd>,
    /// Address and data of redirected entries as they were.
    redirected: HashMap<u16, [u32; 3]>,
}

impl MsiX {
    pub(super) fn find(session: &Arc<Session>, bar0: &Region) -> Result<MsiX, DeviceError> {
        let mut msix = MsiX {
            session: Arc::clone(session),
            place: None,
            table: None,
            entries: 0,
            state: Mutex::default(),
        };
        let Some(place) = config::msix(session)? else {
            return Ok(msix);
        };
        let region = u32::from(place.bar);
        let other = match region {
            pci::BAR0 => None,
            1..=5 => Some(Region::open(session, region)?),
            _ => return Err(unsupported(session, "its MSI-X table is in no BAR")),
        };
        let bar = other.as_ref().unwrap_or(bar0);
        let at = place.offset as u64;
        let len = u64::from(place.entries) * ENTRY;
        if at + len > bar.size {
            return Err(unsupported(
                session,
                "its MSI-X table lies outside of its BAR",
            ));
        }
        let info = session.irq_info(pci::MSIX)?;
        if info.flags & IrqInfo::EVENTFD == 0 && info.count > 0 {
            return Err(unsupported(session, "its interrupts cannot be eventfds"));
        }
        msix.entries = place.entries.min(info.count.try_into().unwrap_or(u16::MAX));
        msix.table = Some(match bar.mapped(at, len) {
            Some((bar, at)) => Table::Mapped {
                bar: Arc::clone(bar),
                at,
            },
            None => Table::Message { region, at },
        });
        config::enable_msix(session, &place, false)?;
        msix.place = Some(place);
        Ok(msix)
    }

    pub(super) fn count(&self) -> u16 {
        self.entries
    }

    pub(super) fn enable(this: &Arc<MsiX>, count: u16) -> Result<Vec<Vector>, DeviceError> {
        let events = Vector::eventfds(count, this.entries)?;
        let ours = events
            .iter()
            .map(OwnedFd::try_clone)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| DeviceError::Os {
                what: "duplicate an eventfd".into(),
                source,
            })?;
        let mut state = this.lock();
        this.disable(&mut state)?;
        let borrowed: Vec<_> = ours.iter().map(AsFd::as_fd).collect();
        state.wired = true;
        this.session.set_events(0, &borrowed)?;
        state.unmasked = vec![false; ours.len()];
        state.events = ours;
        for vector in 0..count {
            this.mask(&mut state, vector, true)?;
        }
        this.switch(&mut state)?;
        drop(state);
        let vectors = (0..).zip(events).map(|(index, event)| {
            let control = Arc::clone(this) as _;
            Vector::new(index, event, control)
        });
        Ok(vectors.collect())
    }

    /// Sends the eventfds again after a reset, which may have made the peer forget them with the table; all vectors are
    /// masked then, none redirected.
    pub(super) fn reconnect(&self) -> Result<(), DeviceError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let Some(place) = self.place.as_ref().filter(|_| state.wired) else {
            return Ok(());
        };
        // The peer decides whether the reset has cleared MSI-X Enable.
        config::enable_msix(&self.session, place, false)?;
        state.enabled = false;
        state.redirected.clear();
        state.unmasked.fill(false);
        let events: Vec<_> = state.events.iter().map(AsFd::as_fd).collect();
        self.session.set_events(0, &events)?;
        for vector in 0..state.events.len() as u16 {
            self.mask(state, vector, true)?;
        }
        self.switch(state)
    }

    fn disable(&self, state: &mut State) -> Result<(), DeviceError> {
        if std::mem::take(&mut state.wired) {
            state.redirected.clear();
            state.events.clear();
            state.unmasked.clear();
            // This comes first: a peer may fail at an interrupt that has no eventfd.
            self.switch(state)?;
            self.session.disable_events()?;
        }
        Ok(())
    }

    /// Enables or disables MSI-X, as the vectors require.
    fn switch(&self, state: &mut State) -> Result<(), DeviceError> {
        let wanted = if state.tableless {
            state.unmasked.contains(&true)
        } else {
            !state.events.is_empty()
        };
        if let Some(place) = self.place.as_ref().filter(|_| state.enabled != wanted) {
            config::enable_msix(&self.session, place, wanted)?;
            state.enabled = wanted;
        }
        Ok(())
    }

    /// Masks or unmasks a vector, through the table if there is one.
    fn mask(&self, state: &mut State, vector: u16, masked: bool) -> Result<(), DeviceError> {
        if !state.tableless {
            state.tableless = !self.mask_in_table(vector, masked)?;
        }
        if !state.tableless {
            return Ok(());
        }
        let index = usize::from(vector);
        let Some(unmasked) = state.unmasked.get_mut(index) else {
            return Ok(());
        };
        let was_unmasked = std::mem::replace(unmasked, !masked);
        if !was_unmasked && !masked {
            // Interrupts raised while other vectors were unmasked, which concern nobody.
            crate::vector::take(state.events[index].as_fd());
        }
        self.switch(state)
    }

    fn read(&self, vector: u16, word: u64) -> Result<u32, DeviceError> {
        let entry = u64::from(vector) * ENTRY + word;
        match &self.table {
            Some(Table::Mapped { bar, at }) => Ok(bar.read32(at + entry as usize)),
            Some(Table::Message { region, at }) => Ok(self.session.read32(*region, at + entry)?),
            None => Err(self.out_of_reach(vector, "the device has none")),
        }
    }

    fn write(&self, vector: u16, word: u64, value: u32) -> Result<(), DeviceError> {
        let entry = u64::from(vector) * ENTRY + word;
        match &self.table {
            Some(Table::Mapped { bar, at }) => bar.write32(at + entry as usize, value),
            Some(Table::Message { region, at }) => {
                self.session.write32(*region, at + entry, value)?;
            }
            None => return Err(self.out_of_reach(vector, "the device has none")),
        }
        Ok(())
    }

    /// Writes the vector's mask bit, and returns whether it took the value: a peer without a table refuses, or forgets.
    fn mask_in_table(&self, vector: u16, masked: bool) -> Result<bool, DeviceError> {
        let write = || {
            self.write(vector, CONTROL, if masked { MASKED } else { 0 })?;
            Ok(self.read(vector, CONTROL)? & MASKED == u32::from(masked))
        };
        match write() {
            Err(DeviceError::VfioUser(VfioUserError::Refused { .. })) => Ok(false),
            other => other,
        }
    }

    fn check(&self, vector: u16) -> Result<(), DeviceError> {
        if vector >= self.entries {
            return Err(DeviceError::Vectors {
                wanted: vector,
                have: self.entries,
            });
        }
        Ok(())
    }

    fn out_of_reach(&self, vector: u16, reason: &str) -> DeviceError {
        DeviceError::VectorTable {
            vector,
            reason: format!("{} ({})", reason, self.session.link.device()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VectorControl for MsiX {
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        self.check(vector)?;
        self.mask(&mut self.lock(), vector, masked)
    }

    /// Returns whether masking is a store. A message takes longer than the interrupt that it would save, and some peers
    /// treat an eventfd that is taken away as a failure: without a mapped table a vector stays as it is while the core
    /// waits.
    fn masks_by_store(&self) -> bool {
        matches!(self.table, Some(Table::Mapped { .. })) && !self.lock().tableless
    }

    fn post_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        // Without a mapped table there is nothing to store to: a peer without one switches MSI-X with its vectors.
        if !self.masks_by_store() {
            return self.set_mask(vector, masked);
        }
        self.check(vector)?;
        self.write(vector, CONTROL, if masked { MASKED } else { 0 })
    }

    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError> {
        self.check(vector)?;
        let mut state = self.lock();
        if state.tableless {
            return Err(self.out_of_reach(vector, "the server keeps none"));
        }
        let words = match target {
            Some((iova, data)) => {
                if let std::collections::hash_map::Entry::Vacant(place) =
                    state.redirected.entry(vector)
                {
                    let mut before = [0; 3];
                    for (index, word) in before.iter_mut().enumerate() {
                        *word = self.read(vector, 4 * index as u64)?;
                    }
                    place.insert(before);
                }
                [iova.0 as u32, (iova.0 >> 32) as u32, data]
            }
            None => match state.redirected.remove(&vector) {
                Some(words) => words,
                None => return Ok(()),
            },
        };
        // An entry may only be changed while it is masked (PCI 3.0, 6.8.2).
        let control = self.read(vector, CONTROL)?;
        self.write(vector, CONTROL, control | MASKED)?;
        for (index, value) in words.into_iter().enumerate() {
            self.write(vector, 4 * index as u64, value)?;
        }
        for (index, value) in words.into_iter().enumerate() {
            if self.read(vector, 4 * index as u64)? != value {
                return Err(self.out_of_reach(vector, "an entry does not keep what is written"));
            }
        }
        self.write(vector, CONTROL, control)?;
        self.read(vector, CONTROL).map(drop)
    }
}

impl Drop for MsiX {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.lock());
        let _ = self.disable(&mut state);
    }
}

fn unsupported(session: &Session, reason: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: session.link.device().into(),
        reason: reason.into(),
    }
}
