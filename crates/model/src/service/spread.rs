//! The spread of service times around their mean.

use rand_distr::{Bernoulli, Distribution, LogNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::device::{Service, Tail};

/// Random numbers of one device, all from one seed.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    random: Pcg64,
    floor: f64,
    /// Lognormal distribution of mean 1; absent if there is no spread, so that no number is drawn for it.
    above: Option<LogNormal<f64>>,
    tail: Option<SlowReads>,
}

/// Tail of the read latencies.
#[derive(Clone, Debug)]
struct SlowReads {
    chance: Bernoulli,
    /// Additional nanoseconds of a slow read.
    extra_ns: f64,
    /// Nanoseconds that slow reads add to the mean.
    share_ns: f64,
}

impl Spread {
    pub(super) fn new(service: &Service, seed: u64) -> Spread {
        let (spread, floor) = (service.spread.value, service.floor.value);
        let spreads = spread != 0.0 && floor < 1.0;
        // The mean of a lognormal distribution is exp(mu + sigma^2 / 2); this mu makes it 1.
        let above = spreads.then(|| LogNormal::new(-spread * spread / 2.0, spread).ok());
        Spread {
            random: Pcg64::seed_from_u64(seed),
            floor,
            above: above.flatten(),
            tail: service.tail.as_ref().and_then(SlowReads::new),
        }
    }

    /// Draws the nanoseconds of one I/O whose mean is `mean_ns`.
    #[inline]
    pub(super) fn draw(&mut self, mean_ns: f64) -> f64 {
        self.around(mean_ns, 0.0)
    }

    /// Draws the nanoseconds of a read, which may be a slow one.
    #[inline]
    pub(super) fn draw_read(&mut self, mean_ns: f64) -> f64 {
        let Some(tail) = &self.tail else {
            return self.around(mean_ns, 0.0);
        };
        let (share, extra, chance) = (tail.share_ns, tail.extra_ns, tail.chance);
        let quick = self.around(mean_ns, share);
        if self.happens(chance) {
            quick + extra
        } else {
            quick
        }
    }

    /// Returns true if an event with this `chance` happens.
    pub(super) fn happens(&mut self, chance: Bernoulli) -> bool {
        chance.sample(&mut self.random)
    }

    /// Returns one of `count` indices, each with the same probability.
    pub(super) fn any_of(&mut self, count: usize) -> usize {
        // The high bits of a product: no division, and no bias that a run could show.
        ((u128::from(self.random.next_u64()) * count as u128) >> 64) as usize
    }

    /// Draws a time around `mean_ns` less `elsewhere`, never below the floor, which is a fraction of the whole
    /// mean.
    #[inline(always)]
    fn around(&mut self, mean_ns: f64, elsewhere: f64) -> f64 {
        let Some(above) = &self.above else {
            return (mean_ns - elsewhere).max(0.0);
        };
        let floor = self.floor * mean_ns;
        let rest = (mean_ns - elsewhere - floor).max(0.0);
        floor + rest * above.sample(&mut self.random)
    }
}

impl SlowReads {
    fn new(tail: &Tail) -> Option<SlowReads> {
        let extra_ns = tail.us.value * 1e3;
        Some(SlowReads {
            chance: Bernoulli::new(tail.probability.value).ok()?,
            extra_ns,
            share_ns: tail.probability.value * extra_ns,
        })
    }
}
