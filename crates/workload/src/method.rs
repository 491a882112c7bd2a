//! Who does the I/O, and how it is waited for.

use crate::quantity::parse_time;
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy};
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
    /// A thread of the kernel submits; the device's interrupt completes.
    SqPoll,
    /// A thread of the kernel submits and spins for completions.
    SqPollPoll,
}

impl Way {
    /// Every way without a parameter.
    pub const ALL: [Way; 5] = [
        Way::Poll,
        Way::Interrupt,
        Way::Hybrid,
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
        if let Some(sleep) = text.strip_prefix("hybrid=") {
            return match parse_time(sleep, 1_000)? {
                0 => Err("hybrid=0: a sleep is above zero; poll is the way without one".into()),
                sleep => Ok(Way::HybridFixed(Nanos(sleep))),
            };
        }
        // What HotStorage'22 calls it.
        let text = if text == "classic" { "poll" } else { text };
        let known = Way::ALL.iter().find(|way| way.to_string() == text);
        known.copied().ok_or_else(|| {
            format!(
                "'{text}' is not a way of waiting: poll, interrupt, hybrid, hybrid=4us, sqpoll, sqpoll+poll"
            )
        })
    }
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
