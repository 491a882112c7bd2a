//! Policies to simulate.
#![allow(dead_code, reason = "each test file uses some of it")]

use joulio_units::Nanos;
use joulio_wait::{
    ActiveCheck, Adaptive, AnyPolicy, Dpas, Ehp, Hybrid, HybridTpause, HybridUintr, Pas, SkiRental,
    SpdkPlus, Tpause, Uintr, UintrBlock, Umwait, UringHybrid,
};

/// Number of policies that run on every processor.
pub const POLICIES: usize = 10;
/// Index of the adaptive policy, the last of those.
pub const ADAPTIVE: usize = POLICIES - 1;
/// Number of all policies: those from [`POLICIES`] on use light power states.
pub const ALL: usize = 19;
/// Index of the first policy with light power states that blocks at times; all after it do, except the last two.
pub const BLOCKING: usize = 14;

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
        ADAPTIVE => AnyPolicy::Adaptive(Adaptive::generic()),
        10 => AnyPolicy::Tpause(Tpause::new(Nanos(1_000))),
        11 => AnyPolicy::HybridTpause(HybridTpause::new()),
        12 => AnyPolicy::Umwait(Umwait),
        13 => AnyPolicy::Uintr(Uintr),
        14 => AnyPolicy::UintrBlock(UintrBlock::new(Nanos(20_000))),
        15 => AnyPolicy::ActiveCheck(ActiveCheck::user_interrupt()),
        16 => AnyPolicy::ActiveCheck(ActiveCheck::poll()),
        17 => AnyPolicy::HybridUintr(HybridUintr::new()),
        _ => AnyPolicy::SpdkPlus(SpdkPlus),
    }
}
