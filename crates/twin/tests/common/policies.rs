//! Policies to play with.

use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Dpas, Ehp, Hybrid, Pas, SkiRental, UringHybrid};

/// As many there are.
pub const POLICIES: usize = 9;

/// The `which`th policy.
pub fn policy(which: usize) -> AnyPolicy {
    match which % POLICIES {
        0 => AnyPolicy::POLL,
        1 => AnyPolicy::INTERRUPT,
        2 => AnyPolicy::Hybrid(Hybrid::fixed(Nanos(3_000))),
        3 => AnyPolicy::Hybrid(Hybrid::automatic()),
        4 => AnyPolicy::UringHybrid(UringHybrid::new()),
        5 => AnyPolicy::Ehp(Ehp::new()),
        6 => AnyPolicy::Pas(Pas::new()),
        7 => AnyPolicy::Dpas(Dpas::new(Dpas::THETA)),
        _ => AnyPolicy::SkiRental(SkiRental::new(SkiRental::COST_OF_A_WAKE)),
    }
}
