//! Service times of a device's I/Os: several servers behind a serial link for each direction.

mod collection;
mod spread;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use collection::Collection;
use joulio_units::{Direction, Nanos};
use spread::Spread;

use crate::{DeviceProfile, LatencyCurve, Link};

/// Draws the times at which a modelled device finishes its I/Os.
///
/// An I/O waits in the order of arrival for the first free server of the profile's (its `parallelism`), and holds
/// that server until it finishes. It needs its service time there, and its bytes need a turn on the link of its
/// direction, which carries one transfer at a time. Both begin when the server takes the I/O, and it finishes when
/// both are over. So a closed loop of small requests saturates at `parallelism / service time` or at `bandwidth /
/// size`, whichever is less.
///
/// With a `channel_share`, conflicts are modelled. Each I/O first takes its turn on the link. Then it waits for the
/// server that has its data, a random one, and holds that for the given share of its service time; it finishes at
/// the end of its service time. So I/Os in flight sometimes need the same server, and the throughput grows less
/// before it saturates.
///
/// A service time is `mean x (floor + (1 - floor) x L)`, where L is lognormal with mean 1 and the profile's
/// `spread` as sigma. So the mean is the profile's, and no time is below the floor. With a `tail`, that fraction of
/// reads takes longer by its `us`, and the others are scaled down so that the mean of all reads is still the
/// profile's.
///
/// With `garbage_collection`, a burst begins each time a number of bytes has been written. Of the I/Os that a
/// server takes during a burst, the profile's fraction, drawn at random, waits in its server for the end of the
/// burst.
///
/// A flush takes the flush latency from now on: it holds no server and waits for no earlier I/O, since NVMe's Flush
/// only covers commands that completed before it.
///
/// The same profile and seed give the same times. Nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub struct ServiceModel {
    read: Path,
    write: Path,
    flush_ns: f64,
    /// Times at which the servers become free, the earliest on top.
    servers: BinaryHeap<Reverse<Nanos>>,
    channels: Option<Channels>,
    spread: Spread,
    collection: Option<Collection>,
    instant: bool,
}

/// Servers that each have data of their own.
#[derive(Clone, Debug)]
struct Channels {
    /// Time at which each channel becomes free.
    free: Box<[Nanos]>,
    /// Fraction of a service time for which an I/O holds a channel.
    share: f64,
}

/// The servers and the link of one direction of transfer.
#[derive(Clone, Debug)]
struct Path {
    curve: LatencyCurve,
    /// Additional nanoseconds per byte of the machine's link over the device's own.
    slower: f64,
    /// The size requested last: most workloads have only one.
    last: RequestSize,
    /// Nanoseconds per byte on the link; 0 if it is not a limit.
    link_ns_per_byte: f64,
    /// Time at which the link becomes free.
    link_free: Nanos,
}

/// A size of requests.
#[derive(Clone, Copy, Debug)]
struct RequestSize {
    bytes: u32,
    /// Mean service time in nanoseconds.
    mean_ns: f64,
    /// Nanoseconds on the link, as a number and as a time.
    link_ns: f64,
    link: Nanos,
}

impl RequestSize {
    /// Returns the time on the link of a device that is slowed down by `stretch`.
    #[inline]
    fn takes(&self, stretch: f64) -> Nanos {
        match stretch == 1.0 {
            true => self.link,
            false => Nanos::nearest(stretch * self.link_ns),
        }
    }
}

impl ServiceModel {
    /// Returns the model of a device without I/Os yet.
    pub fn new(profile: &DeviceProfile, seed: u64) -> ServiceModel {
        ServiceModel::on_link(profile, seed, None)
    }

    /// Returns the model of a device without I/Os yet, on a machine's link.
    ///
    /// The lesser of the bandwidths of the device and of the link applies. If that is the link's, each byte takes
    /// longer accordingly.
    pub fn on_link(profile: &DeviceProfile, seed: u64, link: Option<&Link>) -> ServiceModel {
        let service = &profile.service;
        let path = |points, own| Path::new(points, own, link);
        let read = path(&service.read, service.read_bytes_per_second());
        let write = path(&service.write, service.write_bytes_per_second());
        let flush_ns = service.flush_us.value * 1e3;
        let collection = service.garbage_collection.as_ref();
        let collection = collection.and_then(Collection::new);
        let quick = read.is_instant() && write.is_instant() && flush_ns == 0.0;
        ServiceModel {
            read,
            write,
            flush_ns,
            servers: vec![Reverse(Nanos::ZERO); profile.parallelism().get()].into(),
            channels: service.channel_share.as_ref().map(|share| Channels {
                free: vec![Nanos::ZERO; profile.parallelism().get()].into(),
                share: share.value,
            }),
            spread: Spread::new(service, seed),
            instant: quick && collection.is_none(),
            collection,
        }
    }

    /// Starts an I/O at `now` and returns when the device finishes it, never before `now`.
    ///
    /// `now` should not decrease from call to call; an I/O that is given out of order still queues.
    #[inline]
    pub fn start(&mut self, now: Nanos, direction: Direction, bytes: u32) -> Nanos {
        self.begin(now, direction, bytes, 1.0)
    }

    /// Starts an I/O on a device that is slowed down: service and transfer take `stretch` times as long.
    /// [`ServiceModel::mean`] is not stretched.
    pub fn start_at_pace(
        &mut self,
        now: Nanos,
        direction: Direction,
        bytes: u32,
        stretch: f64,
    ) -> Nanos {
        self.begin(now, direction, bytes, stretch)
    }

    /// Common body of both functions; for a device that is not slowed down nothing is multiplied.
    #[inline(always)]
    fn begin(&mut self, now: Nanos, direction: Direction, bytes: u32, stretch: f64) -> Nanos {
        if self.instant {
            return now;
        }
        let spread = &mut self.spread;
        let path = match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Other => return now + Nanos::nearest(stretch * spread.draw(self.flush_ns)),
        };
        let size = path.size(bytes);
        let service = match direction {
            Direction::Read => spread.draw_read(size.mean_ns),
            _ => spread.draw(size.mean_ns),
        };
        let takes = size.takes(stretch);
        if let Some(channels) = &mut self.channels {
            let transferred = path.transfer(now, takes);
            let alone = Nanos::nearest(stretch * service);
            let rest = alone - takes;
            let channel = spread.any_of(channels.free.len());
            let free = &mut channels.free[channel];
            let mut begun = transferred.max(*free);
            if let Some(collection) = &mut self.collection {
                let reached = collection.reach(begun, spread);
                if direction == Direction::Write {
                    collection.wrote(begun, bytes);
                }
                begun = reached;
            }
            *free = begun + Nanos::nearest(channels.share * alone.0 as f64);
            return begun + rest;
        }
        let Some(mut server) = self.servers.peek_mut() else {
            return now;
        };
        let taken = now.max(server.0);
        let reached = match &mut self.collection {
            Some(collection) => {
                let reached = collection.reach(taken, spread);
                if direction == Direction::Write {
                    collection.wrote(taken, bytes);
                }
                reached
            }
            None => taken,
        };
        let transferred = path.transfer(taken, takes);
        let finish = (reached + Nanos::nearest(stretch * service)).max(transferred);
        *server = Reverse(finish);
        finish
    }

    /// Returns the mean service time of an I/O that is alone on the device and its own link. This is the profile's
    /// figure, which does not include waits for bursts of garbage collection.
    pub fn mean(&self, direction: Direction, bytes: u32) -> Nanos {
        Nanos::nearest(match direction {
            Direction::Read => self.read.curve.mean_ns(bytes),
            Direction::Write => self.write.curve.mean_ns(bytes),
            Direction::Other => self.flush_ns,
        })
    }
}

impl Path {
    fn new(
        points: &[crate::LatencyPoint],
        bytes_per_second: Option<f64>,
        link: Option<&Link>,
    ) -> Path {
        let own = bytes_per_second.map_or(0.0, |bandwidth| 1e9 / bandwidth);
        let slower = link.map_or(0.0, |link| (link.ns_per_byte() - own).max(0.0));
        let curve = LatencyCurve::new(points, own);
        let mut path = Path {
            last: RequestSize {
                bytes: 0,
                mean_ns: 0.0,
                link_ns: 0.0,
                link: Nanos::ZERO,
            },
            curve,
            slower,
            link_ns_per_byte: own + slower,
            link_free: Nanos::ZERO,
        };
        path.last = path.size_of(0);
        path
    }

    fn is_instant(&self) -> bool {
        self.curve.is_zero() && self.link_ns_per_byte == 0.0
    }

    /// Returns the mean service time of a request of `bytes`, and its time on the link.
    #[inline]
    fn size(&mut self, bytes: u32) -> &RequestSize {
        if self.last.bytes != bytes {
            self.last = self.size_of(bytes);
        }
        &self.last
    }

    #[cold]
    fn size_of(&self, bytes: u32) -> RequestSize {
        let transfer = self.slower * f64::from(bytes);
        let link_ns = self.link_ns_per_byte * f64::from(bytes);
        RequestSize {
            bytes,
            mean_ns: self.curve.mean_ns(bytes) + transfer,
            link_ns,
            link: Nanos::nearest(link_ns),
        }
    }

    /// Takes the next turn on the link from `from` on, for a transfer that `takes` so long; returns the end of the
    /// turn.
    #[inline]
    fn transfer(&mut self, from: Nanos, takes: Nanos) -> Nanos {
        if self.link_ns_per_byte == 0.0 {
            return from;
        }
        self.link_free = self.link_free.max(from) + takes;
        self.link_free
    }
}
