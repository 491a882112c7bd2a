//! I/Os that the modelled device is working on, a heap with the first to finish on top.

use super::checked_io::Io;
use joulio_nvme_spec::Status;
use joulio_units::Nanos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An I/O in service, ordered by finish time and then by arrival.
#[derive(Debug)]
struct Entry {
    arrival: u64,
    io: Io,
    /// Outcome of the sync that the I/O needs ([`Io::through`]), once that has ended.
    synced: Option<Result<(), Status>>,
}

impl Entry {
    fn key(&self) -> (Nanos, u64) {
        (self.io.finish, self.arrival)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

/// The I/Os in service.
#[derive(Debug, Default)]
pub(super) struct InService {
    heap: BinaryHeap<Entry>,
    arrivals: u64,
}

impl InService {
    pub(super) fn push(&mut self, io: Io) {
        self.arrivals += 1;
        self.heap.push(Entry {
            arrival: self.arrivals,
            io,
            synced: None,
        });
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Time at which the first of them finishes.
    #[inline]
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.io.finish)
    }

    /// Removes the first I/O, if it has finished by `now` and needs no sync any more; returns it with the outcome of
    /// its sync.
    #[inline]
    pub(super) fn pop(&mut self, now: Nanos) -> Option<(Io, Option<Result<(), Status>>)> {
        let first = self.heap.peek()?;
        if first.io.finish > now || first.io.through && first.synced.is_none() {
            return None;
        }
        self.heap.pop().map(|entry| (entry.io, entry.synced))
    }

    /// Returns the first I/O and its number, if it has finished by `now` and its sync is still to be done.
    #[inline]
    pub(super) fn unsynced(&self, now: Nanos) -> Option<(u64, Io)> {
        let first = self.heap.peek()?;
        let unsynced = first.io.finish <= now && first.io.through && first.synced.is_none();
        unsynced.then_some((first.arrival, first.io))
    }

    /// Records the outcome of the first I/O's sync, unless another I/O is first by now.
    pub(super) fn synced(&mut self, number: u64, outcome: Result<(), Status>) {
        if let Some(mut first) = self.heap.peek_mut()
            && first.arrival == number
        {
            first.synced = Some(outcome);
        }
    }

    /// Marks writes in service to be synced before they complete, on the namespaces that are `volatile`; the first
    /// element is NSID 1.
    pub(super) fn write_through(&mut self, volatile: &[bool]) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        for Entry { io, .. } in &mut entries {
            let index = (io.nsid as usize).wrapping_sub(1);
            io.through |= io.work.writes() && volatile.get(index) == Some(&true);
        }
        self.heap = entries.into();
    }

    /// Drops the I/Os of submission queue `sqid`, and returns their identifiers.
    pub(super) fn remove(&mut self, sqid: u16) -> Vec<u16> {
        let mut removed = Vec::new();
        self.heap.retain(|entry| {
            let stays = entry.io.sqid != sqid;
            if !stays {
                removed.push(entry.io.cid);
            }
            stays
        });
        removed
    }

    /// Whether command `cid` of submission queue `sqid` is in service.
    pub(super) fn contains(&self, sqid: u16, cid: u16) -> bool {
        let mut entries = self.heap.iter();
        entries.any(|entry| (entry.io.sqid, entry.io.cid) == (sqid, cid))
    }

    /// Drops command `cid` of submission queue `sqid`, the oldest if a host has several of that identifier. Returns
    /// whether there was one.
    pub(super) fn abort(&mut self, sqid: u16, cid: u16) -> bool {
        let named = self.heap.iter();
        let named = named.filter(|entry| (entry.io.sqid, entry.io.cid) == (sqid, cid));
        let Some(oldest) = named.map(|entry| entry.arrival).min() else {
            return false;
        };
        self.heap.retain(|entry| entry.arrival != oldest);
        true
    }

    /// Drops the I/Os of namespace `nsid`, and returns their queues and identifiers in order of arrival.
    pub(super) fn take_namespace(&mut self, nsid: u32) -> Vec<(u16, u16)> {
        let mut taken = Vec::new();
        self.heap.retain(|entry| {
            let stays = entry.io.nsid != nsid;
            if !stays {
                taken.push((entry.arrival, (entry.io.sqid, entry.io.cid)));
            }
            stays
        });
        taken.sort_unstable();
        taken.into_iter().map(|(_, io)| io).collect()
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::checked_io::Work;
    use super::super::data::DataPointer;
    use super::*;

    fn io(finish: u64, sqid: u16, cid: u16) -> Io {
        Io {
            finish: Nanos(finish),
            sqid,
            cid,
            work: Work::Flush,
            through: false,
            nsid: 1,
            len: 0,
            position: 0,
            data: DataPointer::Prp(0, 0),
        }
    }

    #[test]
    fn the_first_to_finish_comes_first_and_equals_in_order_of_arrival() {
        let mut in_service = InService::default();
        for (finish, cid) in [(30, 0), (10, 1), (20, 2), (10, 3)] {
            in_service.push(io(finish, 1, cid));
        }
        let order: Vec<u16> = std::iter::from_fn(|| in_service.pop(Nanos(20)))
            .map(|(io, _)| io.cid)
            .collect();
        assert_eq!(order, [1, 3, 2]);
        assert_eq!(in_service.next(), Some(Nanos(30)));
    }

    #[test]
    fn a_deleted_queue_takes_only_its_own_with_it() {
        let mut in_service = InService::default();
        in_service.push(io(1, 1, 7));
        in_service.push(io(2, 2, 8));
        assert_eq!(in_service.remove(1), [7]);
        assert_eq!(in_service.pop(Nanos(9)).unwrap().0.cid, 8);
    }

    #[test]
    fn an_abort_takes_one_command_and_the_oldest_of_a_name() {
        let mut in_service = InService::default();
        for (finish, sqid, cid) in [(3, 1, 7), (2, 1, 7), (1, 2, 7)] {
            in_service.push(io(finish, sqid, cid));
        }
        assert!(in_service.abort(1, 7) && !in_service.abort(1, 8));
        assert!(in_service.contains(1, 7) && in_service.contains(2, 7));
        let rest: Vec<u64> = std::iter::from_fn(|| in_service.pop(Nanos(9)))
            .map(|(io, _)| io.finish.0)
            .collect();
        assert_eq!(rest, [1, 2]);
    }
}
