//! The I/Os of a job that are out.

use joulio_job::Due;
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Outstanding};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightIo {
    pub(crate) direction: Direction,
    pub(crate) class: Class,
    /// Index of the job's load that it is of.
    pub(crate) load: usize,
    /// Time that latency counts from.
    pub(crate) arrival: Nanos,
    /// True if it was made as soon as there was room for it.
    pub(crate) closed: bool,
    /// When the policy heard of it; zero for a policy that wants no times.
    pub(crate) submitted: Nanos,
    /// True if the I/O was issued in the measured part.
    pub(crate) measured: bool,
    /// Index of the I/O in `live`.
    place: usize,
}

impl InFlightIo {
    /// 0 for what reads, 1 for what writes.
    #[inline]
    pub(crate) fn side(&self) -> usize {
        usize::from(self.direction == Direction::Write)
    }
}

/// The I/Os of a job by tag. After `new` nothing allocates.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    ios: Vec<InFlightIo>,
    free: Vec<u16>,
    /// Tags that are with the device.
    live: Vec<u16>,
    /// When each of these finishes, the earliest on top.
    finishes: BinaryHeap<Reverse<(Nanos, u16)>>,
    /// For [`InFlight::nth`].
    sorted: Vec<Nanos>,
}

impl InFlight {
    pub(crate) fn new(depth: usize) -> InFlight {
        let none = InFlightIo {
            direction: Direction::Other,
            class: Class::new(Direction::Other, 0),
            load: 0,
            arrival: Nanos::ZERO,
            closed: true,
            submitted: Nanos::ZERO,
            measured: false,
            place: 0,
        };
        InFlight {
            ios: vec![none; depth],
            free: (0..depth as u16).rev().collect(),
            live: Vec::with_capacity(depth),
            finishes: BinaryHeap::with_capacity(depth),
            sorted: Vec::with_capacity(depth),
        }
    }

    /// A free place for an I/O.
    #[inline]
    pub(crate) fn take(&mut self, due: Due, measured: bool) -> Option<u16> {
        let tag = self.free.pop()?;
        self.ios[usize::from(tag)] = InFlightIo {
            direction: due.direction,
            class: Class::new(due.direction, due.len),
            load: due.load,
            arrival: due.arrival,
            closed: due.closed,
            submitted: Nanos::ZERO,
            measured,
            place: 0,
        };
        Some(tag)
    }

    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub(crate) fn get(&self, tag: u16) -> &InFlightIo {
        &self.ios[usize::from(tag)]
    }

    /// The device has it, and finishes it at `finish`.
    #[inline]
    pub(crate) fn start(&mut self, tag: u16, submitted: Nanos, finish: Nanos) {
        let io = &mut self.ios[usize::from(tag)];
        io.submitted = submitted;
        io.place = self.live.len();
        self.live.push(tag);
        self.finishes.push(Reverse((finish, tag)));
    }

    /// When the first of them is finished; never, if there is none.
    #[inline]
    pub(crate) fn first(&self) -> Nanos {
        self.finishes.peek().map_or(Nanos::MAX, |first| first.0.0)
    }

    /// When `n` of them are finished, counted from 1; never, if there are fewer.
    pub(crate) fn nth(&mut self, n: u32) -> Nanos {
        let n = n as usize;
        if n > self.finishes.len() {
            return Nanos::MAX;
        }
        self.sorted.clear();
        self.sorted.extend(self.finishes.iter().map(|f| f.0.0));
        *self.sorted.select_nth_unstable(n - 1).1
    }

    /// When each that is with the device finishes, and when it arrived, the earliest first.
    pub(crate) fn upcoming(&self, upcoming: &mut Vec<(Nanos, Nanos)>) {
        upcoming.clear();
        let each = self.finishes.iter();
        upcoming.extend(each.map(|Reverse((finish, tag))| (*finish, self.get(*tag).arrival)));
        upcoming.sort_unstable();
    }

    /// Takes out the first, if it is finished by `at`.
    #[inline]
    pub(crate) fn finished(&mut self, at: Nanos) -> Option<InFlightIo> {
        let &Reverse((finish, tag)) = self.finishes.peek()?;
        if finish > at {
            return None;
        }
        self.finishes.pop();
        let io = self.ios[usize::from(tag)];
        self.live.swap_remove(io.place);
        if let Some(&moved) = self.live.get(io.place) {
            self.ios[usize::from(moved)].place = io.place;
        }
        self.free.push(tag);
        Some(io)
    }
}

impl Outstanding for InFlight {
    fn count(&self) -> usize {
        self.live.len()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for &tag in &self.live {
            let io = self.get(tag);
            each(io.class, io.submitted);
        }
    }
}
