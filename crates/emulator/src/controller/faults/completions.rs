//! Faults of a completion: withheld, posted without its interrupt, or followed by others that
//! nobody requested.

use super::super::EmulatedController;
use super::{HISTORY, Marks, Withheld};
use joulio_nvme_spec::{CompletionEntry, Status};
use joulio_units::Nanos;
use rand_pcg::rand_core::Rng;
use zerocopy::little_endian::U16;

/// Longest time that a completion waits to be overtaken.
const OVERTAKEN_WITHIN: Nanos = Nanos::from_millis(1);

/// Random identifiers that are tried to find one that no command has.
const TRIES: u32 = 64;

impl EmulatedController {
    /// Completes a command of a controller with faults, instead of [`EmulatedController::complete`].
    #[cold]
    pub(in crate::controller) fn complete_or_not(
        &mut self,
        sqid: u16,
        cid: u16,
        result: Result<u32, Status>,
    ) {
        if self.withhold(sqid, cid, result) {
            return;
        }
        if let Some(cqid) = self.deliver(sqid, cid, result) {
            self.release_overtaken(cqid);
        }
    }

    /// Withholds a completion, if its marks say so.
    fn withhold(&mut self, sqid: u16, cid: u16, result: Result<u32, Status>) -> bool {
        let Some(marks) = self.marks(sqid, cid) else {
            return false;
        };
        let flip = marks.flip.take().filter(|_| result.is_ok());
        if let Some(command) = flip {
            self.flip(sqid, &command);
        }
        let now = self.now;
        let cqid = self.queues.submission(sqid).map(|queue| queue.cqid);
        let Some(faults) = &mut self.faults else {
            return false;
        };
        let Some(marks) = faults.marks.get_mut(&(sqid, cid)) else {
            return false;
        };
        if marks.drop {
            faults.marks.remove(&(sqid, cid));
            faults.dropped.push((sqid, cid));
            faults.done.dropped += 1;
            return true;
        }
        let late = marks.late.take();
        let (wait, overtaken_in) = match late {
            Some(late) => (late, None),
            None if std::mem::take(&mut marks.reorder) => (OVERTAKEN_WITHIN, cqid),
            None => return false,
        };
        faults.done.late += u64::from(late.is_some());
        faults.withheld.push(Withheld {
            sqid,
            cid,
            result,
            due: Nanos(now.0.saturating_add(wait.0)),
            overtaken_in,
        });
        true
    }

    /// Posts a completion, or keeps it until there is room; returns its completion queue.
    fn deliver(&mut self, sqid: u16, cid: u16, result: Result<u32, Status>) -> Option<u16> {
        let (cqid, completion) = self.answer(sqid, cid, result)?;
        if self.has_room(cqid) {
            self.post_with_faults(cqid, completion);
        } else {
            self.hold(cqid, completion);
        }
        Some(cqid)
    }

    /// Posts the completions of queue `cqid` that were held to be overtaken.
    fn release_overtaken(&mut self, cqid: u16) {
        let Some(faults) = &mut self.faults else {
            return;
        };
        let is_overtaken = |each: &mut Withheld| each.overtaken_in == Some(cqid);
        let released: Vec<Withheld> = faults.withheld.extract_if(.., is_overtaken).collect();
        faults.done.reordered += released.len() as u64;
        for Withheld {
            sqid, cid, result, ..
        } in released
        {
            self.deliver(sqid, cid, result);
        }
    }

    /// Posts the completions that were held for their time.
    pub(in crate::controller) fn release_withheld(&mut self) {
        let now = self.now;
        let Some(faults) = &mut self.faults else {
            return;
        };
        let mut due: Vec<Withheld> = faults
            .withheld
            .extract_if(.., |each| each.due <= now)
            .collect();
        due.sort_by_key(|each| each.due);
        for Withheld {
            sqid,
            cid,
            result,
            overtaken_in,
            ..
        } in due
        {
            if overtaken_in.is_some() {
                // No other completion has overtaken it.
                self.deliver(sqid, cid, result);
            } else {
                self.complete_or_not(sqid, cid, result);
            }
        }
    }

    /// Time at which the first of the withheld completions is to be posted.
    pub(super) fn withheld_until(&self) -> Option<Nanos> {
        let faults = self.faults.as_ref()?;
        faults.withheld.iter().map(|each| each.due).min()
    }

    /// Posts a completion to queue `cqid`, which has room, with the faults of its marks. Additional entries use only
    /// room that is left.
    pub(in crate::controller) fn post_with_faults(
        &mut self,
        cqid: u16,
        completion: CompletionEntry,
    ) {
        let (sqid, cid) = (completion.sqid.get(), completion.cid.get());
        let marks = self.take_marks(sqid, cid);
        let older = self.remember(cqid, completion);
        let interrupts = self
            .queues
            .completion(cqid)
            .is_some_and(|queue| queue.vector.is_some());
        let silent = marks.lost_irq && interrupts;
        self.leave(sqid);
        self.put(cqid, completion, !silent);
        let double = marks.double && self.add(cqid, Some(completion));
        let stale = marks.stale && self.add(cqid, older);
        let unknown = marks.unknown && {
            let nobodys = self.nobodys(completion);
            self.add(cqid, nobodys)
        };
        if let Some(faults) = &mut self.faults {
            faults.done.lost_irqs += u64::from(silent);
            faults.done.doubled += u64::from(double);
            faults.done.stale += u64::from(stale);
            faults.done.unknown += u64::from(unknown);
        }
    }

    /// Posts an entry that completes no command, if there is room for it.
    fn add(&mut self, cqid: u16, entry: Option<CompletionEntry>) -> bool {
        let Some(entry) = entry.filter(|_| self.has_room(cqid)) else {
            return false;
        };
        self.put(cqid, entry, true);
        true
    }

    fn marks(&mut self, sqid: u16, cid: u16) -> Option<&mut Marks> {
        self.faults.as_mut()?.marks.get_mut(&(sqid, cid))
    }

    fn take_marks(&mut self, sqid: u16, cid: u16) -> Marks {
        let faults = self.faults.as_mut();
        let marks = faults.and_then(|faults| faults.marks.remove(&(sqid, cid)));
        marks.unwrap_or_default()
    }

    /// Adds a completion to the history of queue `cqid`, and returns the oldest before it.
    fn remember(&mut self, cqid: u16, completion: CompletionEntry) -> Option<CompletionEntry> {
        let history = self.faults.as_mut()?.history(cqid);
        let oldest = history.front().copied();
        if history.len() == HISTORY {
            history.pop_front();
        }
        history.push_back(completion);
        oldest
    }

    /// Makes a completion with an identifier that no command has, in the queue of `like`.
    fn nobodys(&mut self, like: CompletionEntry) -> Option<CompletionEntry> {
        let sqid = like.sqid.get();
        for _ in 0..TRIES {
            let cid = self.faults.as_mut()?.places.next_u64() as u16;
            if !self.is_known(sqid, cid) {
                return Some(CompletionEntry {
                    cid: U16::new(cid),
                    ..like
                });
            }
        }
        None
    }

    /// Whether `cid` is, or was recently, a command of submission queue `sqid`.
    fn is_known(&mut self, sqid: u16, cid: u16) -> bool {
        // Commands submitted since the last poll count too.
        self.poll_tail(sqid);
        let Some(queue) = self.queues.submission(sqid) else {
            return true;
        };
        let cqid = queue.cqid;
        let submitted = queue.waiting().any(|at| {
            let mut entry = [0; 2];
            // CID is in bytes 2 and 3 of a command (Base figure 88).
            self.guest.read(at + 2, &mut entry).is_err() || u16::from_le_bytes(entry) == cid
        });
        let is_it = |each: &CompletionEntry| (each.sqid.get(), each.cid.get()) == (sqid, cid);
        let waits =
            |queue: &mut super::super::queues::CompletionQueue| queue.held.iter().any(is_it);
        submitted
            || self.in_service.contains(sqid, cid)
            || self.queues.completion(cqid).is_some_and(waits)
            || self.faults.as_mut().is_none_or(|faults| {
                faults.owes(sqid, cid) || faults.history(cqid).iter().any(is_it)
            })
    }
}
