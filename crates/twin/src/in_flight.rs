//! I/Os of a job that are in flight.

use crate::thread::is_single;
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Outstanding};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightIo {
    /// Time from which its latency is counted.
    pub(crate) arrival: Nanos,
    /// Time of submission that the policy was told; zero for a policy that uses no times.
    submitted: Nanos,
    pub(crate) class: Class,
    /// True for a write.
    pub(crate) write: bool,
    /// Index of the job's load that the I/O belongs to.
    pub(crate) load: u16,
    /// Index of the I/O's tag in `tags`.
    place: u16,
    /// True if the I/O was created as soon as there was room for it.
    pub(crate) closed: bool,
    /// True if the I/O was issued in the measured part.
    pub(crate) measured: bool,
}

impl InFlightIo {
    /// Returns 0 for a read, 1 for a write.
    #[inline]
    pub(crate) fn side(&self) -> usize {
        usize::from(self.write)
    }

    /// Returns the time of submission that the policy was told; zero for a policy that uses no times.
    #[inline]
    pub(crate) fn submitted(&self) -> Nanos {
        self.submitted
    }
}

/// End of an I/O: its time, and the I/O's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finish {
    at: Nanos,
    tag: u16,
}

impl Finish {
    /// Placeholder for no I/O.
    const NEVER: Finish = Finish {
        at: Nanos::MAX,
        tag: u16::MAX,
    };
}

/// The I/Os of a job by tag. Nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    ios: Box<[InFlightIo]>,
    /// All tags: first those of I/Os on the device, then those of I/Os that are created and not yet submitted, then
    /// the free ones, the last to be freed in front.
    tags: Box<[u16]>,
    /// Number of I/Os on the device.
    live: usize,
    /// Number of tags that are not free.
    used: usize,
    /// End of the I/O that finishes first.
    first: Finish,
    /// Ends of the other I/Os on the device, the earliest on top.
    rest: BinaryHeap<Reverse<Finish>>,
    /// Scratch space of [`InFlight::nth`].
    sorted: Vec<Nanos>,
}

impl InFlight {
    pub(crate) fn new(depth: usize) -> InFlight {
        let none = InFlightIo {
            arrival: Nanos::ZERO,
            submitted: Nanos::ZERO,
            class: Class::new(Direction::Other, 0),
            write: false,
            load: 0,
            place: 0,
            closed: true,
            measured: false,
        };
        InFlight {
            ios: vec![none; depth].into(),
            tags: (0..depth as u16).collect(),
            live: 0,
            used: 0,
            first: Finish::NEVER,
            rest: BinaryHeap::with_capacity(depth),
            sorted: Vec::with_capacity(depth),
        }
    }

    #[inline]
    pub(crate) fn has_room<const SHAPE: u8>(&self) -> bool {
        match is_single(SHAPE) {
            true => self.used == 0,
            false => self.used < self.tags.len(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns a free entry, which must exist, for a new I/O.
    #[inline]
    pub(crate) fn make<const SHAPE: u8>(&mut self) -> &mut InFlightIo {
        let tag = match is_single(SHAPE) {
            true => 0,
            false => self.tags[self.used],
        };
        self.used += 1;
        &mut self.ios[usize::from(tag)]
    }

    /// Returns true if some I/Os are created and not yet submitted.
    #[inline]
    pub(crate) fn has_made(&self) -> bool {
        self.live < self.used
    }

    /// Returns the I/Os that are created and not yet submitted.
    pub(crate) fn made(&self) -> impl Iterator<Item = &InFlightIo> {
        let tags = self.tags[self.live..self.used].iter();
        tags.map(|&tag| &self.ios[usize::from(tag)])
    }

    /// Submits the oldest I/O that is not submitted yet to the device, which finishes it at the time that `submit`
    /// returns; returns that I/O.
    #[inline(always)]
    pub(crate) fn start<const SHAPE: u8>(
        &mut self,
        submit: impl FnOnce(&InFlightIo) -> (Nanos, Nanos),
    ) -> &InFlightIo {
        let tag = match is_single(SHAPE) {
            true => 0,
            false => self.tags[self.live],
        };
        let io = &mut self.ios[usize::from(tag)];
        let (submitted, at) = submit(io);
        io.submitted = submitted;
        if is_single(SHAPE) {
            self.first = Finish { at, tag };
            self.live = 1;
            return io;
        }
        io.place = self.live as u16;
        let finish = Finish { at, tag };
        if self.live == 0 {
            self.first = finish;
        } else {
            let later = finish.max(self.first);
            self.first = finish.min(self.first);
            self.rest.push(Reverse(later));
        }
        self.live += 1;
        io
    }

    /// Returns the time at which the first I/O finishes; `Nanos::MAX` if none is in flight.
    #[inline]
    pub(crate) fn first(&self) -> Nanos {
        self.first.at
    }

    /// Returns the end of each I/O on the device, in no order.
    fn finishes(&self) -> impl Iterator<Item = Finish> {
        let first = (self.live > 0).then_some(self.first);
        first.into_iter().chain(self.rest.iter().map(|rest| rest.0))
    }

    /// Returns the time at which the `n`th I/O finishes, counted from 1; `Nanos::MAX` if fewer are in flight.
    pub(crate) fn nth(&mut self, n: u32) -> Nanos {
        let n = n as usize;
        if n > self.live {
            return Nanos::MAX;
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        sorted.extend(self.finishes().map(|finish| finish.at));
        let nth = *sorted.select_nth_unstable(n - 1).1;
        self.sorted = sorted;
        nth
    }

    /// Lists the times of completion and of arrival of all I/Os on the device, in the order of completion.
    pub(crate) fn upcoming(&self, upcoming: &mut Vec<(Nanos, Nanos)>) {
        upcoming.clear();
        let arrival = |tag: u16| self.ios[usize::from(tag)].arrival;
        let each = self.finishes();
        upcoming.extend(each.map(|finish| (finish.at, arrival(finish.tag))));
        upcoming.sort_unstable();
    }

    /// Removes and returns the first I/O, if it has finished by `at` and no I/O is waiting to be submitted.
    #[inline(always)]
    pub(crate) fn finished<const SHAPE: u8>(&mut self, at: Nanos) -> Option<&InFlightIo> {
        let Finish { at: finish, tag } = self.first;
        if finish > at {
            return None;
        }
        debug_assert_eq!(self.live, self.used);
        if is_single(SHAPE) {
            (self.live, self.used) = (0, 0);
            self.first = Finish::NEVER;
            return Some(&self.ios[0]);
        }
        self.live -= 1;
        self.used = self.live;
        if self.live == 0 {
            self.first = Finish::NEVER;
        } else {
            self.first = self.rest.pop().map_or(Finish::NEVER, |rest| rest.0);
            // The last tag in flight takes the place of the freed tag, which takes the place of the last.
            let place = self.ios[usize::from(tag)].place;
            let last = std::mem::replace(&mut self.tags[self.live], tag);
            self.tags[usize::from(place)] = last;
            self.ios[usize::from(last)].place = place;
        }
        Some(&self.ios[usize::from(tag)])
    }

    /// Returns the `count` I/Os that were removed last, if none has been created since.
    #[inline]
    pub(crate) fn taken_out<const SHAPE: u8>(
        &self,
        count: usize,
    ) -> impl Iterator<Item = &InFlightIo> {
        let tags = match is_single(SHAPE) {
            true => &[0],
            false => &self.tags[self.used..][..count],
        };
        tags.iter().map(|&tag| &self.ios[usize::from(tag)])
    }
}

impl Outstanding for InFlight {
    fn count(&self) -> usize {
        self.live
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for &tag in &self.tags[..self.live] {
            let io = &self.ios[usize::from(tag)];
            each(io.class, io.submitted);
        }
    }

    #[inline]
    fn only(&self) -> Option<(Class, Nanos)> {
        let tag = (self.live == 1).then(|| self.tags[0])?;
        let io = &self.ios[usize::from(tag)];
        Some((io.class, io.submitted))
    }
}
