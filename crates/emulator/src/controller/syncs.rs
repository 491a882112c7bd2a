//! Syncs of the files behind namespaces, for which a host's disk may take seconds: the device's thread waits for them
//! without the controller's lock, so that registers can be accessed meanwhile.
//!
//! A command that needs a sync stays in service until the sync has ended: a reset finds it there like any other. A
//! write's data is in the file before its sync begins, and a read's data is read after it. A flush covers all commands
//! that completed before it was fetched, as their data is in the file by then. A sync whose command or shutdown does
//! not exist any more when it ends has no effect: each number is used once.

use super::EmulatedController;
use super::checked_io::{Io, Work};
use crate::namespace::Namespace;
use crate::store::Backing;
use joulio_nvme_spec::Status;
use std::collections::VecDeque;

/// A sync to be executed.
#[derive(Debug)]
pub(crate) struct Sync {
    requester: Requester,
    /// Error of the write that was to become durable: then nothing is synced.
    written: Result<(), Status>,
    files: Vec<Backing>,
}

/// A sync that has ended, with its outcome.
#[derive(Debug)]
pub(crate) struct Synced {
    requester: Requester,
    outcome: Result<(), Status>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requester {
    /// The command in service with this arrival number.
    Command(u64),
    /// The shutdown with this number.
    Shutdown(u64),
    /// The request with this number to turn the caches off.
    CacheOff(u64),
}

/// Shutdowns that wait for a sync.
#[derive(Debug, Default)]
pub(super) struct Shutdowns {
    requested: u64,
    waiting: Option<u64>,
}

impl Shutdowns {
    pub(super) fn request(&mut self) {
        self.requested += 1;
        self.waiting = Some(self.requested);
    }

    pub(super) fn forget(&mut self) {
        self.waiting = None;
    }
}

/// Set Features commands that turn the caches off (06h), in their order: each completes when the data of the caches is
/// durable.
#[derive(Debug, Default)]
pub(super) struct CacheOffs {
    requested: u64,
    waiting: VecDeque<CacheOff>,
}

#[derive(Debug)]
struct CacheOff {
    number: u64,
    cid: u16,
    /// Outcome of the command's sync, once that has ended.
    synced: Option<Result<(), Status>>,
}

impl CacheOffs {
    /// Adds command `cid` of the admin queue, which then waits.
    pub(super) fn request(&mut self, cid: u16) {
        self.requested += 1;
        self.waiting.push_back(CacheOff {
            number: self.requested,
            cid,
            synced: None,
        });
    }

    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Returns the number of the first, if its sync is still to be executed.
    fn unsynced(&self) -> Option<u64> {
        let mut waiting = self.waiting.iter();
        Some(waiting.find(|one| one.synced.is_none())?.number)
    }

    fn synced(&mut self, number: u64, outcome: Result<(), Status>) {
        let mut waiting = self.waiting.iter_mut();
        if let Some(one) = waiting.find(|one| one.number == number) {
            one.synced = Some(outcome);
        }
    }

    /// Removes the first, if its sync has ended; returns its command and the outcome.
    fn pop(&mut self) -> Option<(u16, Result<(), Status>)> {
        let synced = self.waiting.front()?.synced?;
        self.waiting.pop_front().map(|one| (one.cid, synced))
    }
}

impl Sync {
    /// Executes the sync, and waits for it.
    pub(crate) fn run(self) -> Synced {
        let synced = |file: &Backing| file.sync().map_err(Namespace::write_status);
        Synced {
            requester: self.requester,
            outcome: self
                .written
                .and_then(|()| self.files.iter().try_for_each(synced)),
        }
    }
}

impl EmulatedController {
    /// Whether a shutdown waits for a sync, which no doorbell announces.
    pub(crate) fn awaits_shutdown(&self) -> bool {
        self.shutdowns.waiting.is_some()
    }

    /// Returns the next sync, if there is one: to be run, and passed to [`EmulatedController::end_sync`] before another
    /// begins.
    #[inline]
    pub(crate) fn begin_sync(&mut self) -> Option<Sync> {
        if let Some(number) = self.shutdowns.waiting {
            return Some(Sync {
                requester: Requester::Shutdown(number),
                written: Ok(()),
                files: self.files_of(None),
            });
        }
        // A controller that has failed works on no command.
        let runs = || self.registers.running();
        if let Some(number) = self.cache_offs.unsynced().filter(|_| runs()) {
            return Some(Sync {
                requester: Requester::CacheOff(number),
                written: Ok(()),
                files: self.files_of(None),
            });
        }
        let (number, io) = self.in_service.unsynced(self.now).filter(|_| runs())?;
        let written = if io.work.writes() {
            self.work(&io)
        } else {
            Ok(())
        };
        Some(Sync {
            requester: Requester::Command(number),
            written,
            files: self.files_of(self.namespace_index(io.nsid)),
        })
    }

    /// Records that a sync has ended. Its command completes in the next step.
    pub(crate) fn end_sync(&mut self, synced: Synced) {
        match synced.requester {
            Requester::Command(number) => self.in_service.synced(number, synced.outcome),
            Requester::Shutdown(number) if self.shutdowns.waiting == Some(number) => {
                self.shutdowns.forget();
                if synced.outcome.is_err() {
                    self.registers.fail();
                }
                self.registers.complete_shutdown();
            }
            Requester::Shutdown(_) => {}
            Requester::CacheOff(number) => self.cache_offs.synced(number, synced.outcome),
        }
    }

    /// Executes every sync that is requested.
    pub(crate) fn sync(&mut self) -> bool {
        let mut any = false;
        while let Some(sync) = self.begin_sync() {
            self.end_sync(sync.run());
            any = true;
        }
        any
    }

    /// Completes the commands that have turned the caches off. If data could not be made durable, the caches stay on.
    pub(super) fn complete_cache_offs(&mut self) {
        while let Some((cid, outcome)) = self.cache_offs.pop() {
            if let Err(status) = outcome {
                self.features.write_cache = true;
                self.log_failure(0, cid, 0, 0, status);
            }
            self.complete(0, cid, outcome.map(|()| 0));
        }
    }

    /// Returns the outcome of a command whose sync has ended.
    pub(super) fn work_synced(
        &mut self,
        io: &Io,
        synced: Result<(), Status>,
    ) -> Result<(), Status> {
        synced?;
        match io.work {
            Work::Read | Work::Compare | Work::Verify => self.work(io),
            // Was executed before.
            _ => Ok(()),
        }
    }

    /// Whether a namespace has a cache.
    pub(super) fn is_volatile(&self) -> bool {
        self.namespaces.iter().any(Namespace::is_volatile)
    }

    /// Returns the files with a cache of a namespace, or of all.
    fn files_of(&self, namespace: Option<usize>) -> Vec<Backing> {
        let one = namespace.map(|index| &self.namespaces[index..=index]);
        let namespaces = one.unwrap_or(&self.namespaces);
        namespaces.iter().filter_map(Namespace::volatile).collect()
    }
}
