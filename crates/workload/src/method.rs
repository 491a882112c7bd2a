//! Who does the I/O, and how it is waited for.

use crate::quantity::parse_time;
use joulio_nvme::wait::{
    AnyPolicy, Dpas, Ehp, Hybrid, HybridTpause, Pas, Policy, SkiRental, Tpause, Uintr, UintrBlock,
    Umwait, UringHybrid,
};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An engine, as `--engine` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineName {
    /// The user-space driver.
    Nvme,
    /// The kernel, by preadv2(2) and pwritev2(2).
    Psync,
    /// The kernel, by io_submit(2).
    Libaio,
    /// The kernel, by io_uring(7).
    IoUring,
}

impl EngineName {
    /// Every one.
    pub const ALL: [EngineName; 4] = [
        EngineName::Nvme,
        EngineName::Psync,
        EngineName::Libaio,
        EngineName::IoUring,
    ];

    /// As `--engine` has it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Nvme => "nvme",
            EngineName::Psync => "psync",
            EngineName::Libaio => "libaio",
            EngineName::IoUring => "io_uring",
        }
    }

    /// It is one of the kernel's.
    pub fn is_kernel(self) -> bool {
        self != EngineName::Nvme
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // fio's pvsync2 is what it calls preadv2.
        let text = if text == "pvsync2" { "psync" } else { text };
        let known = Self::ALL.into_iter().find(|engine| engine.name() == text);
        known.ok_or_else(|| format!("'{text}' is not an engine: nvme, psync, libaio, io_uring"))
    }
}

/// A way of waiting, as `--completion` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// Spin until the completion is there.
    Poll,
    /// Block until the device raises an interrupt.
    Interrupt,
    /// Sleep for half the mean time, learnt, then spin.
    Hybrid,
    /// Sleep for a fixed time, then spin.
    HybridFixed(Nanos),
    /// Sleep for half the least time ever seen, then spin: io_uring's hybrid rule.
    UringHybrid,
    /// Sleep until just before the least time of the last epoch, then spin; interrupts for slow
    /// I/Os.
    Ehp,
    /// Sleep, each time longer or shorter by how the last sleeps went, then spin.
    Pas,
    /// Pas, spinning or interrupts, as the load is; the depth above which it goes to interrupts.
    Dpas(u32),
    /// Spin for a time, then block.
    SkiRental(Nanos),
    /// Look, pause in a light power state for a time, look again.
    Tpause(Nanos),
    /// Pause in a light power state until the completion is predicted, then spin.
    HybridTpause,
    /// Watch the line that the completion will be written to.
    Umwait,
    /// Pause in a light power state until the device's interrupt comes straight to the thread.
    Uintr,
    /// The same for a time, then block.
    UintrBlock(Nanos),
    /// A thread of the kernel submits; the device's interrupt completes.
    SqPoll,
    /// A thread of the kernel submits and spins for completions.
    SqPollPoll,
}

impl Way {
    /// Every way that needs no parameter.
    pub const ALL: [Way; 15] = [
        Way::Poll,
        Way::Interrupt,
        Way::Hybrid,
        Way::UringHybrid,
        Way::Ehp,
        Way::Pas,
        Way::Dpas(Dpas::THETA),
        Way::SkiRental(SkiRental::COST_OF_A_WAKE),
        Way::Tpause(Tpause::PAUSE),
        Way::HybridTpause,
        Way::Umwait,
        Way::Uintr,
        Way::UintrBlock(UintrBlock::STAY),
        Way::SqPoll,
        Way::SqPollPoll,
    ];

    /// The policy of the user-space driver's queues; None: it is a way of the kernel's alone.
    pub fn policy(self) -> Option<AnyPolicy> {
        Some(match self {
            Way::Poll => AnyPolicy::POLL,
            Way::Interrupt => AnyPolicy::INTERRUPT,
            Way::Hybrid => AnyPolicy::Hybrid(Hybrid::automatic()),
            Way::HybridFixed(sleep) => AnyPolicy::Hybrid(Hybrid::fixed(sleep)),
            Way::UringHybrid => AnyPolicy::UringHybrid(UringHybrid::new()),
            Way::Ehp => AnyPolicy::Ehp(Ehp::new()),
            Way::Pas => AnyPolicy::Pas(Pas::new()),
            Way::Dpas(theta) => AnyPolicy::Dpas(Dpas::new(theta)),
            Way::SkiRental(spin) => AnyPolicy::SkiRental(SkiRental::new(spin)),
            Way::Tpause(look) => AnyPolicy::Tpause(Tpause::new(look)),
            Way::HybridTpause => AnyPolicy::HybridTpause(HybridTpause::new()),
            Way::Umwait => AnyPolicy::Umwait(Umwait),
            Way::Uintr => AnyPolicy::Uintr(Uintr),
            Way::UintrBlock(stay) => AnyPolicy::UintrBlock(UintrBlock::new(stay)),
            Way::SqPoll | Way::SqPollPoll => return None,
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::SqPoll => f.write_str("sqpoll"),
            Way::SqPollPoll => f.write_str("sqpoll+poll"),
            way => match way.policy() {
                Some(policy) => f.write_str(&policy.name()),
                None => Ok(()),
            },
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        // What HotStorage'22 calls it.
        let text = if text == "classic" { "poll" } else { text };
        match text.split_once('=') {
            None if text == "ski-rental" => Ok(Way::SkiRental(SkiRental::COST_OF_A_WAKE)),
            None => {
                let known = Way::ALL.into_iter().find(|way| way.to_string() == text);
                known.ok_or_else(|| unknown(text))
            }
            Some(("hybrid", time)) => match parse_time(time, 1_000)? {
                0 => Err("hybrid=0: a sleep is above zero; poll is the way without one".into()),
                sleep => Ok(Way::HybridFixed(Nanos(sleep))),
            },
            Some(("ski-rental", time)) => match parse_time(time, 1_000)? {
                0 => Err("ski-rental=0: it spins for a while; interrupt is the way without".into()),
                spin => Ok(Way::SkiRental(Nanos(spin))),
            },
            Some(("tpause", time)) => match parse_time(time, 1_000)? {
                0 => Err("tpause=0: it pauses for a while; poll is the way without".into()),
                look => Ok(Way::Tpause(Nanos(look))),
            },
            Some(("uintr-block", time)) => match parse_time(time, 1_000)? {
                0 => {
                    Err("uintr-block=0: it stays for a while; interrupt is the way without".into())
                }
                stay => Ok(Way::UintrBlock(Nanos(stay))),
            },
            Some(("dpas", depth)) => match depth.parse() {
                Ok(theta @ 1..) => Ok(Way::Dpas(theta)),
                _ => Err(format!(
                    "dpas={depth}: write a depth of 1 or more, as dpas=3"
                )),
            },
            Some(_) => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> String {
    format!(
        "'{text}' is not a way of waiting: poll, interrupt, hybrid, hybrid=4us, uring-hybrid, ehp, \
         pas, dpas, dpas=3, ski-rental=2us, tpause, tpause=500ns, hybrid-tpause, umwait, uintr, \
         uintr-block, uintr-block=50us, sqpoll, sqpoll+poll"
    )
}

/// An engine with a way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Who does the I/O.
    pub engine: EngineName,
    /// How it waits.
    pub way: Way,
}

/// The way of waiting that a job got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obtained {
    /// This one.
    Yes(String),
    /// None, and why.
    No(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_what_its_name_says() {
        let names = [
            "poll",
            "interrupt",
            "hybrid",
            "hybrid=4us",
            "hybrid=1500ns",
            "uring-hybrid",
            "ehp",
            "pas",
            "dpas",
            "dpas=3",
            "ski-rental=2us",
            "tpause",
            "tpause=500ns",
            "hybrid-tpause",
            "umwait",
            "uintr",
            "uintr-block",
            "uintr-block=50us",
            "sqpoll",
            "sqpoll+poll",
        ];
        for name in names {
            assert_eq!(name.parse::<Way>().unwrap().to_string(), name);
        }
        for way in Way::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        let short = [
            ("classic", "poll"),
            ("ski-rental", "ski-rental=4050ns"),
            ("dpas=1", "dpas"),
        ];
        for (name, full) in short {
            assert_eq!(name.parse::<Way>().unwrap().to_string(), full);
        }
    }

    #[test]
    fn what_is_no_way_says_which_there_are_or_what_is_wrong() {
        for text in ["", "pol", "pas=3", "=", "ehp="] {
            let error = text.parse::<Way>().unwrap_err();
            assert!(error.contains("ski-rental=2us"), "{error}");
        }
        for text in [
            "dpas=0",
            "dpas=-1",
            "dpas=x",
            "hybrid=0",
            "ski-rental=0us",
            "tpause=0",
            "uintr-block=0",
        ] {
            let error = text.parse::<Way>().unwrap_err();
            assert!(
                error.starts_with(text.split('=').next().unwrap()),
                "{error}"
            );
        }
        assert!("ski-rental=5q".parse::<Way>().is_err());
    }
}
