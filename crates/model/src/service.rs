//! Service times of a device's I/Os: a few servers behind one serial link in each direction.

mod collection;
mod spread;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use collection::Collection;
use joulio_units::{Direction, Nanos};
use spread::Spread;

use crate::{DeviceProfile, LatencyCurve, Link};

/// Samples when a modelled device finishes each I/O it is given.
///
/// An I/O waits in arrival order for the first free of the profile's servers (its `parallelism`)
/// and holds that server until it finishes. It needs its service time there, and its bytes need
/// their turn on the link of its direction, which carries one transfer at a time from the moment
/// the server takes the I/O: it finishes when both are over. So a closed loop of small requests
/// saturates at `parallelism / service time` or at `bandwidth / size`, whichever is less.
///
/// With a `channel_share` conflicts are modelled: each I/O takes its turn on the link first, then
/// the server that has its data, which is any of them by chance, holds that for the share of its
/// service time, and is finished when what is left of its service time is over. So what is in
/// flight together collides now and then, and throughput bends before it saturates.
///
/// A service time is `mean x (floor + (1 - floor) x L)` with L a lognormal of mean 1 and the
/// profile's `spread` as sigma. Thus the mean is the profile's, and no draw goes under the floor.
/// With a `tail`, that fraction of reads takes so much longer, and the other draws are scaled down
/// so that the mean of all reads is still the profile's.
///
/// With `garbage_collection`, every so many bytes written begin a burst. Of the I/Os that a server
/// takes during it the profile's fraction, drawn by the seed, wait in their servers for its end.
///
/// A flush takes the flush latency from now: it holds no server and waits for no earlier I/O, for
/// NVMe's Flush covers only commands that completed before it.
///
/// The same profile and seed give the same times. After `new` nothing allocates.
#[derive(Clone, Debug)]
pub struct ServiceModel {
    read: Path,
    write: Path,
    flush_ns: f64,
    /// Time when each server becomes free, the earliest on top.
    servers: BinaryHeap<Reverse<Nanos>>,
    channels: Option<Channels>,
    spread: Spread,
    collection: Option<Collection>,
    instant: bool,
}

/// Servers of which each has its own data.
#[derive(Clone, Debug)]
struct Channels {
    /// Time when each channel becomes free.
    free: Box<[Nanos]>,
    /// The share of a service time for which an I/O holds one.
    share: f64,
}

/// The servers and the link of one direction of transfer.
#[derive(Clone, Debug)]
struct Path {
    curve: LatencyCurve,
    /// Nanoseconds per byte that the machine's link takes longer than the device's own.
    slower: f64,
    /// The size requested last: most workloads have one.
    last: RequestSize,
    /// The link's nanoseconds per byte; 0 when it is not a limit.
    link_ns_per_byte: f64,
    /// Time when the link becomes free.
    link_free: Nanos,
}

/// A size of requests.
#[derive(Clone, Copy, Debug)]
struct RequestSize {
    bytes: u32,
    /// Mean service time in nanoseconds.
    mean_ns: f64,
    /// Nanoseconds on the link, and the same as a time.
    link_ns: f64,
    link: Nanos,
}

impl RequestSize {
    /// Time on the link of a device that is slowed down by `stretch`.
    #[inline]
    fn takes(&self, stretch: f64) -> Nanos {
        match stretch == 1.0 {
            true => self.link,
            false => Nanos::nearest(stretch * self.link_ns),
        }
    }
}

impl ServiceModel {
    /// A device that has done nothing yet.
    pub fn new(profile: &DeviceProfile, seed: u64) -> ServiceModel {
        ServiceModel::on_link(profile, seed, None)
    }

    /// A device that has done nothing yet, on a machine's link.
    ///
    /// Of the device's bandwidth and the link's the lesser holds. Where that is the link's, each
    /// byte takes so much longer.
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
    /// `now` should not fall from call to call; an I/O given out of order queues all the same.
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

    /// Common body of both functions; for a device that is not slowed down it multiplies nothing.
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

    /// The mean service time of an I/O alone on the device and its own link; the profile's figure,
    /// to which waiting for a burst of garbage collection does not count.
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

    /// Mean service time, and time on the link, of a request of `bytes`.
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

    /// Takes the link's next turn from `from` on, for the time that the transfer `takes`; returns when it ends.
    #[inline]
    fn transfer(&mut self, from: Nanos, takes: Nanos) -> Nanos {
        if self.link_ns_per_byte == 0.0 {
            return from;
        }
        self.link_free = self.link_free.max(from) + takes;
        self.link_free
    }
}
