//! The controller: a deterministic state machine that owns no clock and no thread.

mod admin;
mod arbitration;
mod checked_io;
mod data;
mod dataset;
mod errors;
mod event;
mod faults;
mod features;
mod fetching;
mod function;
mod host_memory;
mod in_service;
mod interrupts;
mod io;
mod likeness;
mod posting;
mod prp;
mod queues;
mod registers;
mod sgl;
mod syncs;
mod work;

pub(crate) use event::Event;

use crate::activity::Activity;
use crate::doorbells::{Doorbells, Watch};
use crate::error::EmulatorError;
use crate::guest::{GuestMemory, MapError};
use crate::namespace::Namespace;
use crate::options::{IdentifyPages, Options};
use crate::power::{Power, PowerUse, Worked};
use crate::store::Syncing;
use data::DataWalker;
use errors::{EVENT_REQUESTS, ErrorEvent, ErrorLog, Events};
use faults::Faults;
use features::Features;
use fetching::ARBITRATION_BURST;
use host_memory::HostMemory;
use in_service::InService;
use interrupts::Interrupts;
use joulio_device::{Iova, SharedMemory};
use joulio_model::{DeviceProfile, ServiceModel};
use joulio_units::Nanos;
use queues::Queues;
use registers::Registers;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use syncs::{CacheOffs, Shutdowns};

/// Result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Commands fetched.
    pub fetched: u32,
    /// Completions posted.
    pub posted: u32,
    /// Time of the next work that no doorbell announces; `None` if there is none.
    pub next: Option<Nanos>,
}

/// An NVMe controller that trusts no input of a host.
///
/// It acts only when called: a register when it is written, everything else in [`EmulatedController::step`].
#[derive(Debug)]
pub struct EmulatedController {
    profile: DeviceProfile,
    seed: u64,
    registers: Registers,
    guest: GuestMemory,
    doorbells: Arc<Doorbells>,
    queues: Queues,
    namespaces: Vec<Namespace>,
    service: ServiceModel,
    in_service: InService,
    shutdowns: Shutdowns,
    cache_offs: CacheOffs,
    walker: DataWalker,
    features: Features,
    power: Power,
    errors: ErrorLog,
    events: Events,
    interrupts: Interrupts,
    activity: Activity,
    /// Host memory buffer; `None` if the controller wants none.
    host_memory: Option<Box<HostMemory>>,
    /// Faults that the controller commits; `None` if none was ever planned.
    faults: Option<Box<Faults>>,
    /// Whether Doorbell Buffer Config is supported.
    shadow_doorbells: bool,
    /// Identify pages of another drive; `None`: the controller's own.
    pages: Option<Box<IdentifyPages>>,
    posted: u32,
    /// The time of the latest step, or of [`EmulatedController::pass_time`] if that is later.
    now: Nanos,
    /// Time at which the controller was switched on.
    start: Nanos,
}

impl EmulatedController {
    /// Makes a controller that is switched on at `start`, and disabled.
    ///
    /// # Errors
    /// [`EmulatorError`] when the options are not possible: counts, sizes, a file or memory.
    pub fn new(options: &Options, start: Nanos) -> Result<EmulatedController, EmulatorError> {
        check_counts(options)?;
        let pages = options.identify.clone();
        let profile = likeness::profile(options)?;
        let syncing = Syncing {
            sync: options.sync,
            failed: options.sync_failed,
        };
        let namespaces = options
            .namespaces
            .iter()
            .map(|namespace| Namespace::open(namespace, &profile, options.prealloc, syncing))
            .collect::<Result<Vec<_>, _>>()?;
        let entries = profile.max_queue_entries.count().clamp(2, 65536) as u32;
        Ok(EmulatedController {
            registers: Registers::new(
                entries,
                options.version,
                options.weighted_round_robin,
                options.command_sets,
            ),
            guest: GuestMemory::default(),
            doorbells: Arc::new(Doorbells::new(options.queue_pairs)),
            queues: Queues::new(options.queue_pairs + 1),
            namespaces,
            service: ServiceModel::new(&profile, options.seed),
            in_service: InService::default(),
            shutdowns: Shutdowns::default(),
            cache_offs: CacheOffs::default(),
            walker: DataWalker::new(),
            features: Features::new(
                options.queue_pairs,
                pages
                    .as_ref()
                    .map_or(features::WCTEMP, |pages| pages.controller.wctemp.get()),
            ),
            power: Power::new(&profile, start),
            errors: ErrorLog::default(),
            events: Events::new(pages.as_ref().map_or(EVENT_REQUESTS, |pages| {
                pages.controller.event_request_limit() as usize
            })),
            interrupts: Interrupts::new(options.vectors),
            activity: Activity::default(),
            host_memory: likeness::host_memory(options)
                .map(|demand| Box::new(HostMemory::new(demand, options.seed))),
            faults: Faults::planned(&options.faults),
            shadow_doorbells: options.shadow_doorbells,
            posted: 0,
            now: start,
            start,
            profile,
            pages,
            seed: options.seed,
        })
    }

    /// Maps `len` bytes from `offset` of `memory` at `iova`.
    ///
    /// # Errors
    /// [`MapError`] when the range overlaps another, or lies outside of the memory.
    pub fn map(
        &mut self,
        iova: Iova,
        memory: Arc<SharedMemory>,
        offset: usize,
        len: usize,
    ) -> Result<(), MapError> {
        self.guest.map(iova, memory, offset, len, true)
    }

    /// Maps memory that the controller may read, but not write.
    ///
    /// # Errors
    /// [`MapError`] when the range overlaps another, or lies outside of the memory.
    pub fn map_read_only(
        &mut self,
        iova: Iova,
        memory: Arc<SharedMemory>,
        offset: usize,
        len: usize,
    ) -> Result<(), MapError> {
        self.guest.map(iova, memory, offset, len, false)
    }

    /// Unmaps the ranges inside the `len` bytes from `iova`.
    pub fn unmap(&mut self, iova: Iova, len: usize) {
        self.guest.unmap(iova, len);
        self.check_shadow();
    }

    /// Returns the number of entries of the MSI-X table.
    pub fn vectors(&self) -> u16 {
        self.interrupts.len()
    }

    /// Enables one masked vector for each event, which the vector's interrupts signal. Events beyond
    /// [`EmulatedController::vectors`] are dropped.
    pub fn enable_vectors(&mut self, mut events: Vec<OwnedFd>) {
        events.truncate(usize::from(self.vectors()));
        self.interrupts.enable(events);
    }

    /// Sets or clears a vector's mask bit; clearing it sends a pending interrupt. Returns `false` when the vector is
    /// not enabled.
    pub fn set_mask(&mut self, vector: u16, masked: bool) -> bool {
        if !masked {
            self.forget_satisfied(vector);
        }
        self.interrupts.set_mask(vector, masked, &self.guest)
    }

    /// Points a vector's interrupts at a word of DMA memory, or back at its event. Returns `false` when the vector is
    /// not enabled.
    pub fn redirect(&mut self, vector: u16, target: Option<(Iova, u32)>) -> bool {
        let target = target.map(|(iova, data)| (iova.0, data));
        self.interrupts.redirect(vector, target)
    }

    /// Whether a vector's entry has its mask bit as `masked` and, if given, points at `target`.
    pub(crate) fn is_set(&self, vector: u16, masked: bool, target: Option<(Iova, u32)>) -> bool {
        let entry = [0, 1, 2, 3].map(|word| {
            let index = usize::from(vector) * 4 + word;
            self.interrupts.read_table(index)
        });
        let wanted = |(iova, data): (Iova, u32)| [iova.0 as u32, (iova.0 >> 32) as u32, data];
        (entry[3] & 1 != 0) == masked && target.is_none_or(|target| entry[..3] == wanted(target))
    }

    /// Returns the counts of the controller's work until the latest step.
    pub fn activity(&self) -> Activity {
        Activity {
            power_states: self.power.so_far(self.now).residency,
            interrupts_raised: self.interrupts.raised,
            interrupts_pended: self.interrupts.pended,
            interrupts_lost: self.interrupts.lost,
            faults: self.faulted(),
            ..self.activity
        }
    }

    /// Returns the use of the power states until `now`, or until the latest step if that is later: transitions by idle
    /// time need no step.
    pub fn power(&self, now: Nanos) -> PowerUse {
        self.power.so_far(self.now.max(now))
    }

    /// Meters the work that ended before `at`, before more is counted.
    #[inline]
    fn meter_before(&mut self, at: Nanos) {
        if self.power.is_due(at) {
            self.power
                .catch_up(Nanos(at.0 - 1), Worked::of(&self.activity));
        }
    }

    /// Advances the time to `now` without a step, before a change that may come long after the latest one.
    pub(crate) fn pass_time(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    /// Advances the controller to `now`: completes finished commands, fetches submitted ones, raises interrupts. Time
    /// does not go back: an earlier `now` counts as the latest one.
    pub fn step(&mut self, now: Nanos) -> Progress {
        let mut progress = self.step_to_sync(now);
        while self.sync() {
            let more = self.step_to_sync(now);
            progress.fetched += more.fetched;
            progress.posted += more.posted;
            progress.next = more.next;
        }
        progress
    }

    /// Steps as far as is possible before the next [`EmulatedController::begin_sync`].
    pub(crate) fn step_to_sync(&mut self, now: Nanos) -> Progress {
        self.now = self.now.max(now);
        self.posted = 0;
        if self.faults.is_some() {
            self.meet_due_faults();
        }
        if !self.registers.running() {
            return Progress {
                next: self.alarm(),
                ..Progress::default()
            };
        }
        while let Some((io, synced)) = self.in_service.pop(self.now) {
            self.meter_before(io.finish);
            let service = self.mean_service(&io);
            let outcome = match synced {
                None => self.work(&io),
                Some(synced) => self.work_synced(&io, synced),
            };
            self.finish(&io, service, outcome);
        }
        self.meter_before(self.now);
        self.complete_cache_offs();
        self.release_held();
        if self.faults.is_some() {
            self.release_withheld();
        }
        let (fetched, more) = self.fetch();
        self.report_events();
        let coalesced = self.interrupts.settle(self.now, &self.guest);
        let more = more.then_some(self.now);
        let next = [more, self.in_service.next(), coalesced, self.alarm()];
        let next = next.into_iter().flatten().min();
        Progress {
            fetched,
            posted: self.posted,
            next,
        }
    }

    /// Advances the admin queue alone, at the time of the latest step.
    pub fn step_admin(&mut self) {
        if self.faults.is_some() {
            self.meet_due_faults();
        }
        if !self.registers.running() {
            return;
        }
        self.release_held();
        while self.poll_tail(0) && self.fetch_burst(0, ARBITRATION_BURST) > 0 {}
        self.sync();
        self.complete_cache_offs();
        self.report_events();
        self.interrupts.settle(self.now, &self.guest);
    }

    /// Polls every doorbell that a step does not poll: those of queues that do not exist, and heads of completion
    /// queues that have room.
    pub fn sweep(&mut self) {
        if !self.registers.running() {
            return;
        }
        for _ in 0..self.queues.sweep(&self.doorbells) {
            self.invalid_doorbell(ErrorEvent::InvalidDoorbellRegister);
        }
        for qid in 0..self.doorbells.pairs() {
            self.poll_head(qid);
        }
        self.report_events();
        self.interrupts.settle(self.now, &self.guest);
    }

    /// Returns the doorbells, for those who ring them.
    pub(crate) fn doorbells(&self) -> Arc<Doorbells> {
        Arc::clone(&self.doorbells)
    }

    /// Lists the doorbells that may give the controller work: none while it does not run, as only a write to its
    /// registers ends that.
    pub(crate) fn watch(&self, watch: &mut Watch) {
        watch.clear(&self.doorbells);
        if self.registers.running() {
            self.queues.watch(watch);
        }
    }

    /// Requests that the host rings the registers when one of the doorbells that [`EmulatedController::watch`] lists
    /// moves.
    pub(crate) fn request_ring(&self) {
        if let Some(shadow) = self.doorbells.shadow() {
            self.queues.request_ring(shadow);
        }
    }
}

fn check_counts(options: &Options) -> Result<(), EmulatorError> {
    let namespaces = options.namespaces.len();
    if namespaces == 0 || namespaces > Options::MAX_NAMESPACES {
        return Err(EmulatorError::Namespaces {
            requested: namespaces,
            max: Options::MAX_NAMESPACES,
        });
    }
    if options.queue_pairs == 0 || options.queue_pairs > Options::MAX_QUEUE_PAIRS {
        return Err(EmulatorError::QueuePairs {
            requested: options.queue_pairs,
            max: Options::MAX_QUEUE_PAIRS,
        });
    }
    if options.vectors == 0 || options.vectors > Options::MAX_VECTORS {
        return Err(EmulatorError::Vectors {
            requested: options.vectors,
            max: Options::MAX_VECTORS,
        });
    }
    Ok(())
}
