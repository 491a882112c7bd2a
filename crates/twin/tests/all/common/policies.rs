//! Policies to simulate.
#![allow(dead_code, reason = "each test file uses some of it")]

use joulio_units::Nanos;
use joulio_wait::{
    ActiveCheck, AnyPolicy, Dpas, Ehp, Hybrid, HybridTpause, HybridUintr, Pas, SkiRental, SpdkPlus,
    Tpause, Uintr, UintrBlock, Umwait, UringHybrid,
};

/// Number of policies that run on every processor.
pub const POLICIES: usize = 9;
/// Number of all policies: those from [`POLICIES`] on use light power states.
pub const ALL: usize = 18;
/// Index of the first policy that blocks at times; all after it do, except the last two.
pub const BLOCKING: usize = 13;

/// Returns policy number `which`.
pub fn policy(which: usize) -> AnyPolicy {
    match which % ALL {
        0 => AnyPolicy::POLL,
        1 => AnyPolicy::INTERRUPT,
        2 => AnyPolicy::Hybrid(Hybrid::fixed(Nanos(3_000))),
        3 => AnyPolicy::Hybrid(Hybrid::automatic()),
        4 => AnyPolicy::UringHybrid(UringHybrid::new()),
        5 => AnyPolicy::Ehp(Ehp::new()),
        6 => AnyPolicy::Pas(Pas::new()),
        7 => AnyPolicy::Dpas(Dpas::new(Dpas::THETA)),
        8 => AnyPolicy::SkiRental(SkiRental::new(SkiRental::COST_OF_A_WAKE)),
        9 => AnyPolicy::Tpause(Tpause::new(Nanos(1_000))),
        10 => AnyPolicy::HybridTpause(HybridTpause::new()),
        11 => AnyPolicy::Umwait(Umwait),
        12 => AnyPolicy::Uintr(Uintr),
        13 => AnyPolicy::UintrBlock(UintrBlock::new(Nanos(20_000))),
        14 => AnyPolicy::ActiveCheck(ActiveCheck::user_interrupt()),
        15 => AnyPolicy::ActiveCheck(ActiveCheck::poll()),
        16 => AnyPolicy::HybridUintr(HybridUintr::new()),
        _ => AnyPolicy::SpdkPlus(SpdkPlus),
    }
}
