//! The MSI-X table (PCI 3.0, 6.8.2), and interrupt coalescing (Base 5.27.1.6 and 5.27.1.7).

use super::event::Event;
use crate::guest::GuestMemory;
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;

/// Addresses to which a write is an interrupt, not a write to memory (SDM volume 3, 11.11.1).
const INTERRUPT_WINDOW: RangeInclusive<u64> = 0xfee0_0000..=0xfeef_ffff;

/// Unit of the coalescing time: 100 us.
const COALESCING_UNIT: u64 = 100_000;

/// An entry of the table, with its pending bit and the emulator's own state of it.
#[derive(Debug)]
struct Entry {
    address: u64,
    data: u32,
    masked: bool,
    pending: bool,
    event: Option<Event>,
    /// Completions posted since the last interrupt.
    posted: u32,
    /// Time at which the first of them was posted.
    since: Nanos,
    /// Whether the admin queue, which nothing delays, is among them.
    urgent: bool,
    /// CD of feature 09h.
    coalescing_disabled: bool,
}

impl Entry {
    fn new() -> Entry {
        Entry {
            address: *INTERRUPT_WINDOW.start(),
            data: 0,
            masked: true,
            pending: false,
            event: None,
            posted: 0,
            since: Nanos::ZERO,
            urgent: false,
            coalescing_disabled: false,
        }
    }
}

/// The interrupts of a controller.
#[derive(Debug)]
pub(super) struct Interrupts {
    table: Vec<Entry>,
    /// Number of enabled vectors; the others send nothing.
    enabled: u16,
    /// Vectors with completions that no interrupt has signalled yet.
    due: Vec<u16>,
    /// Feature 08h.
    pub(super) coalescing: InterruptCoalescing,
    pub(super) raised: u64,
    pub(super) pended: u64,
    pub(super) lost: u64,
}

impl Interrupts {
    pub(super) fn new(vectors: u16) -> Interrupts {
        Interrupts {
            table: (0..vectors).map(|_| Entry::new()).collect(),
            enabled: 0,
            due: Vec::with_capacity(usize::from(vectors)),
            coalescing: InterruptCoalescing::new(),
            raised: 0,
            pended: 0,
            lost: 0,
        }
    }

    /// Returns the number of entries of the table.
    pub(super) fn len(&self) -> u16 {
        self.table.len() as u16
    }

    /// Enables one vector for each event; all of them are masked and signal their events.
    pub(super) fn enable(&mut self, events: Vec<OwnedFd>) {
        self.enabled = events.len() as u16;
        self.due.clear();
        let mut events = events.into_iter();
        for (index, entry) in self.table.iter_mut().enumerate() {
            *entry = Entry {
                data: index as u32,
                event: events.next().map(Event::Ours),
                coalescing_disabled: entry.coalescing_disabled,
                ..Entry::new()
            };
        }
    }

    /// Resets with the controller: nothing is pending, features are at their defaults. Mask bits and targets belong to
    /// PCI, and remain.
    pub(super) fn reset(&mut self) {
        self.due.clear();
        self.coalescing = InterruptCoalescing::new();
        for entry in &mut self.table {
            entry.pending = false;
            entry.posted = 0;
            entry.urgent = false;
            entry.coalescing_disabled = false;
        }
    }

    /// Resets with the function: every vector is masked and signals its event; the events remain.
    pub(super) fn reset_function(&mut self) {
        for (index, entry) in self.table.iter_mut().enumerate() {
            *entry = Entry {
                data: index as u32,
                event: entry.event.take(),
                ..Entry::new()
            };
        }
    }

    /// Returns the value of feature 09h of `vector`, if there is such a vector.
    pub(super) fn coalescing_disabled(&mut self, vector: u16) -> Option<&mut bool> {
        let entry = self.table.get_mut(usize::from(vector))?;
        Some(&mut entry.coalescing_disabled)
    }

    /// Connects `vector` to an event, or disconnects it, as a kernel sets up a vector that it hands on: its interrupts
    /// signal the event from now on, and its mask bit is clear. Every vector of the table is then enabled. Returns
    /// `false` when there is no such vector.
    pub(super) fn wire(&mut self, vector: u16, event: Option<Event>) -> bool {
        self.enabled = self.len();
        let Some(entry) = self.table.get_mut(usize::from(vector)) else {
            return false;
        };
        entry.masked = event.is_none();
        entry.pending = false;
        entry.event = event;
        entry.address = *INTERRUPT_WINDOW.start();
        entry.data = u32::from(vector);
        true
    }

    /// Sends the interrupt of `vector`, whatever its queues contain.
    pub(super) fn trigger(&mut self, vector: u16, guest: &GuestMemory) {
        if vector < self.enabled {
            self.raise(vector, guest);
        }
    }

    /// Sends an interrupt of `vector` without a completion; those that are due are sent all the same. Returns `false`
    /// when the vector is not enabled.
    pub(super) fn raise_spurious(&mut self, vector: u16, guest: &GuestMemory) -> bool {
        if vector >= self.enabled {
            return false;
        }
        let entry = &mut self.table[usize::from(vector)];
        if entry.masked {
            self.pended += u64::from(!entry.pending);
            entry.pending = true;
        } else {
            self.send(vector, guest);
        }
        true
    }

    /// Reads dword `index` of the table.
    pub(super) fn read_table(&self, index: usize) -> u32 {
        let Some(entry) = self.table.get(index / 4) else {
            return 0;
        };
        match index % 4 {
            0 => entry.address as u32,
            1 => (entry.address >> 32) as u32,
            2 => entry.data,
            _ => u32::from(entry.masked),
        }
    }

    /// Writes dword `index` of the table.
    pub(super) fn write_table(&mut self, index: usize, value: u32, guest: &GuestMemory) {
        let Some(entry) = self.table.get_mut(index / 4) else {
            return;
        };
        match index % 4 {
            0 => entry.address = entry.address & !0xffff_ffff | u64::from(value & !3),
            1 => entry.address = entry.address & 0xffff_ffff | u64::from(value) << 32,
            2 => entry.data = value,
            _ if value & 1 != 0 => entry.masked = true,
            _ => {
                entry.masked = false;
                if std::mem::take(&mut entry.pending) {
                    self.send((index / 4) as u16, guest);
                }
            }
        }
    }

    /// Reads dword `index` of the pending bits.
    pub(super) fn read_pending(&self, index: usize) -> u32 {
        let entries = self.table.iter().skip(index * 32).take(32);
        let bits = entries.enumerate();
        bits.fold(0, |word, (bit, entry)| {
            word | u32::from(entry.pending) << bit
        })
    }

    /// Sets or clears a mask bit; clearing it sends a pending interrupt. Returns `false` when there is no such vector.
    pub(super) fn set_mask(&mut self, vector: u16, masked: bool, guest: &GuestMemory) -> bool {
        if vector >= self.enabled {
            return false;
        }
        let entry = &mut self.table[usize::from(vector)];
        entry.masked = masked;
        if !masked && entry.pending {
            entry.pending = false;
            self.send(vector, guest);
        }
        true
    }

    /// Whether an interrupt of `vector` is pending.
    pub(super) fn is_pending(&self, vector: u16) -> bool {
        let entry = self.table.get(usize::from(vector));
        entry.is_some_and(|entry| entry.pending)
    }

    /// Clears the pending bit of `vector`.
    pub(super) fn forget_pending(&mut self, vector: u16) {
        if let Some(entry) = self.table.get_mut(usize::from(vector)) {
            entry.pending = false;
        }
    }

    /// Points an entry at `target`, or back at its event. Returns `false` when there is no such vector.
    pub(super) fn redirect(&mut self, vector: u16, target: Option<(u64, u32)>) -> bool {
        if vector >= self.enabled {
            return false;
        }
        let entry = &mut self.table[usize::from(vector)];
        (entry.address, entry.data) =
            target.unwrap_or((*INTERRUPT_WINDOW.start(), u32::from(vector)));
        true
    }

    /// Records that a completion was posted to a queue of `vector`.
    #[inline]
    pub(super) fn note(&mut self, vector: u16, now: Nanos, urgent: bool) {
        if vector >= self.enabled {
            return;
        }
        let entry = &mut self.table[usize::from(vector)];
        if entry.posted == 0 {
            entry.since = now;
            self.due.push(vector);
        }
        entry.posted = entry.posted.saturating_add(1);
        entry.urgent |= urgent;
    }

    /// Raises one interrupt for each vector that has completions to signal and need not wait for more. Returns the time
    /// at which the first of the others is due.
    #[inline]
    pub(super) fn settle(&mut self, now: Nanos, guest: &GuestMemory) -> Option<Nanos> {
        let mut next: Option<Nanos> = None;
        let mut index = 0;
        while let Some(&vector) = self.due.get(index) {
            let at = self.due_at(vector);
            if at <= now {
                self.due.swap_remove(index);
                self.raise(vector, guest);
            } else {
                next = Some(next.map_or(at, |next| next.min(at)));
                index += 1;
            }
        }
        next
    }

    /// Time at which the vector's interrupt is to be raised, if no more completions are posted.
    fn due_at(&self, vector: u16) -> Nanos {
        let entry = &self.table[usize::from(vector)];
        let delay = u64::from(self.coalescing.time()) * COALESCING_UNIT;
        let enough = entry.posted > u32::from(self.coalescing.thr());
        if entry.urgent || entry.coalescing_disabled || enough {
            return entry.since;
        }
        entry.since + Nanos(delay)
    }

    fn raise(&mut self, vector: u16, guest: &GuestMemory) {
        let entry = &mut self.table[usize::from(vector)];
        entry.posted = 0;
        entry.urgent = false;
        if entry.masked {
            self.pended += u64::from(!entry.pending);
            entry.pending = true;
            return;
        }
        self.send(vector, guest);
    }

    /// Sends the vector's message: an interrupt, or a write to memory, by its address.
    fn send(&mut self, vector: u16, guest: &GuestMemory) {
        let entry = &self.table[usize::from(vector)];
        let sent = if INTERRUPT_WINDOW.contains(&entry.address) {
            entry.event.as_ref().is_some_and(Event::signal)
        } else {
            guest.store_word(entry.address, entry.data).is_ok()
        };
        if sent {
            self.raised += 1;
        } else {
            self.lost += 1;
        }
    }
}
