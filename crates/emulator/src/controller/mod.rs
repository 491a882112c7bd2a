//! The controller: a deterministic state machine that owns no clock and no thread.

mod admin;
mod errors;
mod features;
mod function;
mod in_service;
mod interrupts;
mod io;
mod prp;
mod queues;
mod registers;

use crate::activity::Activity;
use crate::bell::Side;
use crate::doorbells::{Doorbells, Watch};
use crate::error::EmulatorError;
use crate::guest::{GuestMemory, MapError};
use crate::namespace::Namespace;
use crate::options::Options;
use errors::{ErrorEvent, ErrorLog, Events};
use features::Features;
use in_service::InService;
use interrupts::Interrupts;
use joulio_device::{Iova, SharedMemory};
use joulio_model::{DeviceProfile, ServiceModel};
use joulio_nvme_spec::log::ErrorInformation;
use joulio_nvme_spec::{Command, Completion, Status};
use joulio_units::{Direction, Nanos};
use prp::PrpWalker;
use queues::Queues;
use registers::Registers;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

/// The most commands fetched from one queue before the next one's turn.
const ARBITRATION_BURST: u32 = 32;

/// What a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Commands fetched.
    pub fetched: u32,
    /// Completions posted.
    pub posted: u32,
    /// When there will be something to do without another doorbell.
    pub next: Option<Nanos>,
}

/// An NVMe controller, which trusts nothing that a host says.
///
/// It acts when it is told to: registers when they are written, everything else in
/// [`Controller::step`].
#[derive(Debug)]
pub struct Controller {
    profile: DeviceProfile,
    seed: u64,
    registers: Registers,
    guest: GuestMemory,
    doorbells: Arc<Doorbells>,
    queues: Queues,
    namespaces: Vec<Namespace>,
    service: ServiceModel,
    in_service: InService,
    walker: PrpWalker,
    features: Features,
    errors: ErrorLog,
    events: Events,
    interrupts: Interrupts,
    activity: Activity,
    /// Doorbell Buffer Config is supported.
    shadow_doorbells: bool,
    posted: u32,
    /// The time of the latest step.
    now: Nanos,
    /// The time it was switched on.
    start: Nanos,
}

impl Controller {
    /// A controller that is switched on at `start`, and disabled.
    pub fn new(options: &Options, start: Nanos) -> Result<Controller, EmulatorError> {
        check_counts(options)?;
        let namespaces = options
            .namespaces
            .iter()
            .map(|namespace| Namespace::open(namespace, &options.profile))
            .collect::<Result<Vec<_>, _>>()?;
        let entries = options.profile.max_queue_entries.count().clamp(2, 65536) as u32;
        Ok(Controller {
            registers: Registers::new(entries),
            guest: GuestMemory::default(),
            doorbells: Arc::new(Doorbells::new(options.queue_pairs)),
            queues: Queues::new(options.queue_pairs + 1),
            namespaces,
            service: ServiceModel::new(&options.profile, options.seed),
            in_service: InService::default(),
            walker: PrpWalker::new(),
            features: Features::new(options.queue_pairs),
            errors: ErrorLog::default(),
            events: Events::default(),
            interrupts: Interrupts::new(options.vectors),
            activity: Activity::default(),
            shadow_doorbells: options.shadow_doorbells,
            posted: 0,
            now: start,
            start,
            profile: options.profile.clone(),
            seed: options.seed,
        })
    }

    /// Makes `len` bytes from `offset` of `memory` reachable at `iova`.
    pub fn map(
        &mut self,
        iova: Iova,
        memory: Arc<SharedMemory>,
        offset: usize,
        len: usize,
    ) -> Result<(), MapError> {
        self.guest.map(iova, memory, offset, len, true)
    }

    /// The same, for memory that the controller may only read.
    pub fn map_read_only(
        &mut self,
        iova: Iova,
        memory: Arc<SharedMemory>,
        offset: usize,
        len: usize,
    ) -> Result<(), MapError> {
        self.guest.map(iova, memory, offset, len, false)
    }

    /// Ends the reach of what is mapped inside the `len` bytes from `iova`.
    pub fn unmap(&mut self, iova: Iova, len: usize) {
        self.guest.unmap(iova, len);
        self.check_shadow();
    }

    /// The entries of the MSI-X table.
    pub fn vectors(&self) -> u16 {
        self.interrupts.len()
    }

    /// Enables one masked vector for each event, which the vector's interrupts signal. Events
    /// beyond [`Controller::vectors`] are dropped.
    pub fn enable_vectors(&mut self, mut events: Vec<OwnedFd>) {
        events.truncate(usize::from(self.vectors()));
        self.interrupts.enable(events);
    }

    /// Sets or clears a vector's mask bit; clearing it delivers what is pending. `false`: the
    /// vector is not enabled.
    pub fn set_mask(&mut self, vector: u16, masked: bool) -> bool {
        self.interrupts.set_mask(vector, masked, &self.guest)
    }

    /// Points a vector's interrupts at a word of DMA memory, or back at its event. `false`: the
    /// vector is not enabled.
    pub fn aim(&mut self, vector: u16, target: Option<(Iova, u32)>) -> bool {
        let target = target.map(|(iova, data)| (iova.0, data));
        self.interrupts.aim(vector, target)
    }

    /// What it has done so far.
    pub fn activity(&self) -> Activity {
        Activity {
            interrupts_raised: self.interrupts.raised,
            interrupts_pended: self.interrupts.pended,
            interrupts_lost: self.interrupts.lost,
            ..self.activity
        }
    }

    /// Does all that there is to do at `now`: completes what has finished, fetches what was
    /// submitted, raises interrupts. Time does not go back: an earlier `now` is the latest one.
    pub fn step(&mut self, now: Nanos) -> Progress {
        self.now = self.now.max(now);
        self.posted = 0;
        if !self.registers.running() {
            return Progress::default();
        }
        while let Some(io) = self.in_service.pop(self.now) {
            let service = self.service.mean(io.direction, io.len);
            self.finish(&io, service);
        }
        self.release_held();
        let (fetched, more) = self.fetch();
        self.report_events();
        let coalesced = self.interrupts.settle(self.now, &self.guest);
        let more = more.then_some(self.now);
        let next = [more, self.in_service.next(), coalesced];
        let next = next.into_iter().flatten().min();
        Progress {
            fetched,
            posted: self.posted,
            next,
        }
    }

    /// Does what there is to do in the admin queue alone, at the time of the latest step.
    pub fn step_admin(&mut self) {
        if !self.registers.running() {
            return;
        }
        self.release_held();
        while self.look_at(0) && self.fetch_burst(0) > 0 {}
        self.report_events();
        self.interrupts.settle(self.now, &self.guest);
    }

    /// Looks at every doorbell that a step does not look at: those of queues that do not exist,
    /// and heads of queues that have room.
    pub fn sweep(&mut self) {
        if !self.registers.running() {
            return;
        }
        for _ in 0..self.queues.sweep(&self.doorbells) {
            self.invalid_doorbell(0xffff, ErrorEvent::InvalidDoorbellRegister);
        }
        for qid in 0..self.doorbells.pairs() {
            self.look_at_head(qid);
        }
        self.report_events();
        self.interrupts.settle(self.now, &self.guest);
    }

    /// The doorbells, for those who ring them.
    pub(crate) fn doorbells(&self) -> Arc<Doorbells> {
        Arc::clone(&self.doorbells)
    }

    /// Lists the doorbells that may give it work.
    pub(crate) fn watch(&self, watch: &mut Watch) {
        self.queues.watch(watch, &self.doorbells);
    }

    /// Asks the host to tell when one of the doorbells that [`Controller::watch`] lists moves.
    pub(crate) fn ask(&self) {
        if let Some(shadow) = self.doorbells.shadow() {
            self.queues.ask(shadow);
        }
    }

    /// Looks at the tail of queue `qid`: whether there is something to fetch.
    #[inline]
    fn look_at(&mut self, qid: u16) -> bool {
        let value = self.doorbells.load(qid, Side::Tail);
        let Some(queue) = self.queues.submission(qid) else {
            return false;
        };
        let looked = queue.look(value);
        let waiting = queue.is_waiting();
        if looked.is_err() {
            self.invalid_doorbell(qid, ErrorEvent::InvalidDoorbellValue);
        }
        waiting
    }

    fn look_at_head(&mut self, qid: u16) {
        let value = self.doorbells.load(qid, Side::Head);
        if let Some(queue) = self.queues.completion(qid)
            && queue.look(value).is_err()
        {
            self.invalid_doorbell(qid, ErrorEvent::InvalidDoorbellValue);
        }
    }

    #[cold]
    fn invalid_doorbell(&mut self, qid: u16, event: ErrorEvent) {
        self.activity.invalid_doorbells += 1;
        self.errors.add(errors::doorbell_entry(qid));
        self.events.raise(event);
    }

    /// Looks at the tails and fetches what was submitted, in turns, and says whether there may be
    /// more: a host that keeps ringing gets a queue's worth of turns, and then the step ends.
    fn fetch(&mut self) -> (u32, bool) {
        let mut fetched = 0;
        for _ in 0..self.registers.queue_entries().div_ceil(ARBITRATION_BURST) {
            let mut again = false;
            let mut index = 0;
            // A turn of the admin queue may create and delete queues.
            while let Some(&qid) = self.queues.live.get(index) {
                index += 1;
                if self.look_at(qid) {
                    let burst = self.fetch_burst(qid);
                    fetched += burst;
                    again |= burst == ARBITRATION_BURST;
                }
            }
            if !again {
                return (fetched, false);
            }
        }
        (fetched, true)
    }

    /// A queue's turn.
    fn fetch_burst(&mut self, qid: u16) -> u32 {
        let mut fetched = 0;
        while fetched < ARBITRATION_BURST
            && let Some(command) = self.fetch_one(qid)
        {
            fetched += 1;
            if qid == 0 {
                self.admin(&command);
            } else {
                self.submit(qid, &command);
            }
        }
        fetched
    }

    #[inline]
    fn fetch_one(&mut self, qid: u16) -> Option<Command> {
        if !self.registers.running() {
            return None;
        }
        let queue = self.queues.submission(qid)?;
        let index = queue.fetch()?;
        let at = queue.base + u64::from(index) * size_of::<Command>() as u64;
        let mut command = Command::default();
        if self.guest.read(at, command.as_mut_bytes()).is_err() {
            // A queue that is not there any more leaves nothing sensible to do.
            self.registers.fail();
            return None;
        }
        Some(command)
    }

    /// Completes a command of submission queue `sqid`.
    #[inline]
    fn complete(&mut self, sqid: u16, cid: u16, result: Result<u32, Status>) {
        let (status, dw0) = match result {
            Ok(dw0) => (Status::SUCCESS, dw0),
            Err(status) => (status, 0),
        };
        if !status.is_success() {
            self.activity.failed_commands += 1;
        }
        let Some(queue) = self.queues.submission(sqid) else {
            return;
        };
        let cqid = queue.cqid;
        let completion = Completion {
            dw0: U32::new(dw0),
            dw1: U32::ZERO,
            sqhd: U16::new(queue.head as u16),
            sqid: U16::new(sqid),
            cid: U16::new(cid),
            status: U16::new(status.field() << 1),
        };
        if self.has_room(cqid) {
            self.post(cqid, completion);
        } else if let Some(queue) = self.queues.completion(cqid) {
            queue.held.push_back(completion);
            self.queues.held += 1;
        }
    }

    /// Logs what a failed command asked for (Base 5.16.1.2).
    #[cold]
    fn log_failure(&mut self, sqid: u16, cid: u16, nsid: u32, lba: u64, status: Status) {
        self.errors.add(ErrorInformation {
            sqid: U16::new(sqid),
            cid: U16::new(cid),
            status: U16::new(status.field() << 1),
            parameter_error_location: U16::new(0xffff),
            lba: lba.into(),
            nsid: U32::new(nsid),
            ..Default::default()
        });
    }

    /// Whether completion queue `qid` can take an entry now, with none waiting before it.
    #[inline]
    fn has_room(&mut self, qid: u16) -> bool {
        let Some(queue) = self.queues.completion(qid) else {
            return false;
        };
        if !queue.held.is_empty() {
            return false;
        }
        if !queue.is_full() {
            return true;
        }
        self.look_at_head(qid);
        self.queues.completion(qid).is_some_and(|q| !q.is_full())
    }

    /// Writes a completion to queue `cqid`, which has room: dword 3, which makes it valid, last.
    #[inline]
    fn post(&mut self, cqid: u16, mut completion: Completion) {
        if let Some(queue) = self.queues.submission(completion.sqid.get()) {
            queue.in_service = queue.in_service.saturating_sub(1);
        }
        let Some(queue) = self.queues.completion(cqid) else {
            return;
        };
        let (at, phase) = queue.advance();
        let vector = queue.vector;
        completion.status = U16::new(completion.status.get() | u16::from(phase));
        let segment = match self.guest.locate(at, size_of::<Completion>()) {
            Ok(segment) if self.guest.writable(&[segment]) => segment,
            _ => {
                self.registers.fail();
                return;
            }
        };
        let (memory, offset) = self.guest.memory(segment);
        let bytes = completion.as_bytes();
        memory.write(offset, &bytes[..Completion::DWORD3]);
        let dword3 = u32::from(completion.cid.get()) | u32::from(completion.status.get()) << 16;
        memory.store_u32(offset + Completion::DWORD3, dword3.to_le());
        self.posted += 1;
        if let Some(vector) = vector {
            self.interrupts.note(vector, self.now, cqid == 0);
        }
    }

    /// Posts completions that found their queue full, as far as there is room by now.
    #[inline]
    fn release_held(&mut self) {
        if self.queues.held == 0 {
            return;
        }
        for qid in 0..self.doorbells.pairs() {
            self.look_at_head(qid);
            while let Some(queue) = self.queues.completion(qid)
                && !queue.is_full()
                && let Some(completion) = queue.held.pop_front()
            {
                self.queues.held -= 1;
                self.post(qid, completion);
            }
        }
    }

    /// Completes an asynchronous event request, when there is something to tell.
    #[inline]
    fn report_events(&mut self) {
        if let Some((cid, dw0)) = self.events.take() {
            if let Some(queue) = self.queues.submission(0) {
                queue.in_service += 1;
            }
            self.complete(0, cid, Ok(dw0));
        }
    }

    /// Counts an I/O that succeeded.
    #[inline]
    fn count(&mut self, direction: Direction, bytes: u32, service: Nanos) {
        let transfer = match direction {
            Direction::Read => &mut self.activity.read,
            Direction::Write => &mut self.activity.write,
            Direction::Other => &mut self.activity.flush,
        };
        transfer.ios += 1;
        transfer.bytes += u64::from(bytes);
        transfer.service += service;
    }
}

fn check_counts(options: &Options) -> Result<(), EmulatorError> {
    let namespaces = options.namespaces.len();
    if namespaces == 0 || namespaces > Options::MAX_NAMESPACES {
        return Err(EmulatorError::Namespaces {
            asked: namespaces,
            most: Options::MAX_NAMESPACES,
        });
    }
    if options.queue_pairs == 0 || options.queue_pairs > Options::MAX_QUEUE_PAIRS {
        return Err(EmulatorError::QueuePairs {
            asked: options.queue_pairs,
            most: Options::MAX_QUEUE_PAIRS,
        });
    }
    if options.vectors == 0 || options.vectors > Options::MAX_VECTORS {
        return Err(EmulatorError::Vectors {
            asked: options.vectors,
            most: Options::MAX_VECTORS,
        });
    }
    Ok(())
}
