//! The faults that a controller commits on purpose: their state, and their end at a reset.

mod commands;
mod completions;
mod states;

use crate::fault::{Draw, FaultPlan, Faulted};
use joulio_nvme_spec::{Command, CompletionEntry, Status};
use joulio_units::Nanos;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use std::collections::{HashMap, VecDeque};

/// Number of completions of a queue that are remembered, for a stale one. It must be less than the number of uses after
/// which a driver may give a slot the same identifier again (16 in joulio-nvme), or a stale completion would end a
/// command that is in service.
const HISTORY: usize = 15;

/// Stream of the random numbers that choose bits and identifiers, so that they do not disturb the one that chooses
/// commands.
const PLACES: u64 = 0x706c_6163_6573;

/// The faults that apply to a command's completion.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    drop: bool,
    late: Option<Nanos>,
    double: bool,
    reorder: bool,
    stale: bool,
    unknown: bool,
    lost_irq: bool,
    /// The read whose data is to be corrupted.
    flip: Option<Command>,
}

/// A completion that is withheld.
#[derive(Debug)]
struct Withheld {
    sqid: u16,
    cid: u16,
    result: Result<u32, Status>,
    due: Nanos,
    /// The completion queue in which a later completion releases it, too.
    overtaken_in: Option<u16>,
}

/// The state of a controller's faults.
#[derive(Debug)]
pub(super) struct Faults {
    draw: Draw,
    places: Pcg64,
    /// Time of the first step after the controller was first enabled.
    origin: Option<Nanos>,
    enabled: bool,
    /// The commands in service with marks, by queue and identifier.
    marks: HashMap<(u16, u16), Marks>,
    withheld: Vec<Withheld>,
    /// The commands that are done and whose completion is never posted.
    dropped: Vec<(u16, u16)>,
    /// The last completions of each completion queue, oldest first, as they were posted.
    history: Vec<VecDeque<CompletionEntry>>,
    admin_stuck: bool,
    full: bool,
    stuck_reset: bool,
    stuck_flr: bool,
    /// The namespaces that were removed.
    namespaces_removed: Vec<u32>,
    /// Namespaces that changed, and whose change the host has not read.
    changed: Vec<u32>,
    done: Faulted,
}

impl Faults {
    /// Makes the state of a controller with a plan of faults.
    pub(super) fn planned(plan: &FaultPlan) -> Option<Box<Faults>> {
        (!plan.is_empty()).then(|| Faults::new(plan, false))
    }

    /// Makes the state of a controller: times count from its next step if it is `enabled`, or else from when CC.EN is
    /// set.
    fn new(plan: &FaultPlan, enabled: bool) -> Box<Faults> {
        Box::new(Faults {
            draw: Draw::new(plan),
            places: Pcg64::seed_from_u64(plan.seed ^ PLACES),
            origin: None,
            enabled,
            marks: HashMap::new(),
            withheld: Vec::new(),
            dropped: Vec::new(),
            history: Vec::new(),
            admin_stuck: false,
            full: false,
            stuck_reset: false,
            stuck_flr: false,
            namespaces_removed: Vec::new(),
            changed: Vec::new(),
            done: Faulted::default(),
        })
    }

    /// Resets with the controller: faults under way end, permanent ones remain.
    pub(super) fn reset(&mut self) {
        self.marks.clear();
        self.withheld.clear();
        self.dropped.clear();
        self.history.clear();
        self.changed.clear();
        self.admin_stuck = false;
    }

    /// Forgets the history of completion queue `cqid`, which is deleted.
    pub(super) fn forget_completions(&mut self, cqid: u16) {
        if let Some(history) = self.history.get_mut(usize::from(cqid)) {
            history.clear();
        }
    }

    /// Removes submission queue `sqid`, which is deleted; returns the commands whose completions are still owed.
    pub(super) fn remove(&mut self, sqid: u16) -> Vec<u16> {
        self.marks.retain(|&(queue, _), _| queue != sqid);
        let dropped = self.dropped.extract_if(.., |&mut (queue, _)| queue == sqid);
        let mut owed: Vec<u16> = dropped.map(|(_, cid)| cid).collect();
        let withheld = self.withheld.extract_if(.., |each| each.sqid == sqid);
        owed.extend(withheld.map(|each| each.cid));
        owed
    }

    /// Aborts command `cid` of submission queue `sqid`; returns whether it was done and its completion owed.
    pub(super) fn abort(&mut self, sqid: u16, cid: u16) -> bool {
        self.marks.remove(&(sqid, cid));
        let is_it = |each: &Withheld| (each.sqid, each.cid) == (sqid, cid);
        if let Some(at) = self.withheld.iter().position(is_it) {
            self.withheld.remove(at);
            return true;
        }
        let at = self.dropped.iter().position(|&each| each == (sqid, cid));
        at.map(|at| self.dropped.remove(at)).is_some()
    }

    /// Whether command `cid` of submission queue `sqid` is done and its completion not posted yet.
    fn owes(&self, sqid: u16, cid: u16) -> bool {
        let withheld = self.withheld.iter();
        withheld
            .map(|each| (each.sqid, each.cid))
            .chain(self.dropped.iter().copied())
            .any(|each| each == (sqid, cid))
    }

    /// Returns the history of completion queue `cqid`.
    fn history(&mut self, cqid: u16) -> &mut VecDeque<CompletionEntry> {
        let at = usize::from(cqid);
        if self.history.len() <= at {
            self.history.resize_with(at + 1, VecDeque::new);
        }
        &mut self.history[at]
    }
}
