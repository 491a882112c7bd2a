//! Completion modes.

use crate::{ParseError, parse_time};
use joulio_units::Nanos;
use joulio_wait::{
    ActiveCheck, Adaptive, AnyPolicy, Dpas, Ehp, Hybrid, HybridTpause, HybridUintr, Pas, Policy,
    PollPause, SkiRental, SpdkPlus, Tpause, Uintr, UintrBlock, Umwait, UringHybrid,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Completion mode of a job, as the value of `--completion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CompletionMode {
    /// Spin until the completion is there.
    Poll,
    /// Spin with this number of PAUSE instructions between two polls, which may be 0.
    PollPause(u32),
    /// Block until the device raises an interrupt.
    Interrupt,
    /// Sleep for half the mean latency, which is learnt, then spin.
    Hybrid,
    /// Sleep for a fixed time, then spin.
    HybridFixed(Nanos),
    /// Sleep for half the shortest latency seen so far, then spin: io_uring's hybrid policy.
    UringHybrid,
    /// Sleep until just before the shortest latency of the last epoch, then spin; block for slow I/Os.
    Ehp,
    /// Sleep, for longer or shorter depending on how the last sleeps ended, then spin.
    Pas,
    /// `Pas`, spin or block, depending on the load; above this queue depth it blocks.
    Dpas(u32),
    /// Spin for a time, then block.
    SkiRental(Nanos),
    /// Poll, pause in a user-level wait (TPAUSE) for a time, poll again.
    Tpause(Nanos),
    /// Pause in a user-level wait (TPAUSE) until the completion is predicted, then spin.
    HybridTpause,
    /// Watch the cache line that the completion will be written to (UMWAIT, MWAITX).
    Umwait,
    /// Pause in a user-level wait until the device's interrupt comes straight to the thread.
    Uintr,
    /// `Uintr` for a time, then block.
    UintrBlock(Nanos),
    /// Pause until the completion is predicted or the device's interrupt comes, then spin.
    HybridUintr,
    /// `Uintr` with SPDK+'s own mechanism, for comparison.
    SpdkPlus,
    /// `Uintr` while no other thread is runnable on the CPU, otherwise block.
    ActiveCheck,
    /// Spin while no other thread is runnable on the CPU, otherwise block.
    ActiveCheckPoll,
    /// The plan with the least energy that keeps a promise.
    Adaptive,
    /// A kernel thread submits; the device's interrupts announce completions.
    SqPoll,
    /// A kernel thread submits, and spins for completions.
    SqPollPoll,
}

impl CompletionMode {
    /// All modes, each with its default parameter if it has one.
    pub const ALL: [CompletionMode; 21] = [
        CompletionMode::Poll,
        CompletionMode::PollPause(PollPause::PAUSES),
        CompletionMode::Interrupt,
        CompletionMode::Hybrid,
        CompletionMode::UringHybrid,
        CompletionMode::Ehp,
        CompletionMode::Pas,
        CompletionMode::Dpas(Dpas::THETA),
        CompletionMode::SkiRental(SkiRental::COST_OF_A_WAKE),
        CompletionMode::Tpause(Tpause::PAUSE),
        CompletionMode::HybridTpause,
        CompletionMode::Umwait,
        CompletionMode::Uintr,
        CompletionMode::UintrBlock(UintrBlock::STAY),
        CompletionMode::HybridUintr,
        CompletionMode::SpdkPlus,
        CompletionMode::ActiveCheck,
        CompletionMode::ActiveCheckPoll,
        CompletionMode::Adaptive,
        CompletionMode::SqPoll,
        CompletionMode::SqPollPoll,
    ];

    /// Returns true if the kernel's engines poll the device in this mode, so that the device should raise no
    /// interrupts.
    pub fn polls_device(self) -> bool {
        matches!(
            self,
            CompletionMode::Poll
                | CompletionMode::Hybrid
                | CompletionMode::HybridFixed(_)
                | CompletionMode::SqPollPoll
        )
    }

    /// Returns true for modes that serve only for comparison and are never recommended: they run only if they are
    /// named.
    pub fn is_for_comparison(self) -> bool {
        matches!(self, CompletionMode::HybridUintr | CompletionMode::SpdkPlus)
    }

    /// Returns true if a kernel thread submits.
    pub fn has_poller_thread(self) -> bool {
        matches!(self, CompletionMode::SqPoll | CompletionMode::SqPollPoll)
    }

    /// Returns a new policy for a queue of the user-space driver; `None` for the modes that only the kernel
    /// has. The adaptive policy gets generic costs, not those of the machine.
    pub fn policy(self) -> Option<AnyPolicy> {
        Some(match self {
            CompletionMode::Poll => AnyPolicy::POLL,
            CompletionMode::PollPause(pauses) => AnyPolicy::PollPause(PollPause::new(pauses)),
            CompletionMode::Interrupt => AnyPolicy::INTERRUPT,
            CompletionMode::Hybrid => AnyPolicy::Hybrid(Hybrid::automatic()),
            CompletionMode::HybridFixed(sleep) => AnyPolicy::Hybrid(Hybrid::fixed(sleep)),
            CompletionMode::UringHybrid => AnyPolicy::UringHybrid(UringHybrid::new()),
            CompletionMode::Ehp => AnyPolicy::Ehp(Ehp::new()),
            CompletionMode::Pas => AnyPolicy::Pas(Pas::new()),
            CompletionMode::Dpas(theta) => AnyPolicy::Dpas(Dpas::new(theta)),
            CompletionMode::SkiRental(spin) => AnyPolicy::SkiRental(SkiRental::new(spin)),
            CompletionMode::Tpause(pause) => AnyPolicy::Tpause(Tpause::new(pause)),
            CompletionMode::HybridTpause => AnyPolicy::HybridTpause(HybridTpause::new()),
            CompletionMode::Umwait => AnyPolicy::Umwait(Umwait),
            CompletionMode::Uintr => AnyPolicy::Uintr(Uintr),
            CompletionMode::UintrBlock(stay) => AnyPolicy::UintrBlock(UintrBlock::new(stay)),
            CompletionMode::HybridUintr => AnyPolicy::HybridUintr(HybridUintr::new()),
            CompletionMode::SpdkPlus => AnyPolicy::SpdkPlus(SpdkPlus),
            CompletionMode::ActiveCheck => AnyPolicy::ActiveCheck(ActiveCheck::user_interrupt()),
            CompletionMode::ActiveCheckPoll => AnyPolicy::ActiveCheck(ActiveCheck::poll()),
            CompletionMode::Adaptive => AnyPolicy::Adaptive(Adaptive::generic()),
            CompletionMode::SqPoll | CompletionMode::SqPollPoll => return None,
        })
    }
}

impl fmt::Display for CompletionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompletionMode::SqPoll => f.write_str("sqpoll"),
            CompletionMode::SqPollPoll => f.write_str("sqpoll+poll"),
            mode => match mode.policy() {
                Some(policy) => f.write_str(&policy.name()),
                None => Ok(()),
            },
        }
    }
}

impl FromStr for CompletionMode {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<CompletionMode, ParseError> {
        let zero =
            |mode: &str, expected: &str| Err(ParseError::parameter(&format!("{mode}=0"), expected));
        // The paper at HotStorage'22 calls polling "classic".
        let text = if text == "classic" { "poll" } else { text };
        match text.split_once('=') {
            Some(("active-check", "poll")) => Ok(CompletionMode::ActiveCheckPoll),
            None if text == "ski-rental" => {
                Ok(CompletionMode::SkiRental(SkiRental::COST_OF_A_WAKE))
            }
            None => {
                let known = CompletionMode::ALL
                    .into_iter()
                    .find(|mode| mode.to_string() == text);
                known.ok_or_else(|| unknown(text))
            }
            Some(("hybrid", time)) => match parse_time(time, 1_000)? {
                0 => zero(
                    "hybrid",
                    "a sleep is above zero; poll is the mode without one",
                ),
                sleep => Ok(CompletionMode::HybridFixed(Nanos(sleep))),
            },
            Some(("ski-rental", time)) => match parse_time(time, 1_000)? {
                0 => zero(
                    "ski-rental",
                    "it spins for a while; interrupt is the mode without",
                ),
                spin => Ok(CompletionMode::SkiRental(Nanos(spin))),
            },
            Some(("tpause", time)) => match parse_time(time, 1_000)? {
                0 => zero("tpause", "it pauses for a while; poll is the mode without"),
                pause => Ok(CompletionMode::Tpause(Nanos(pause))),
            },
            Some(("uintr-block", time)) => match parse_time(time, 1_000)? {
                0 => zero(
                    "uintr-block",
                    "it stays for a while; interrupt is the mode without",
                ),
                stay => Ok(CompletionMode::UintrBlock(Nanos(stay))),
            },
            Some(("poll-pause", pauses)) => match pauses.parse() {
                Ok(pauses @ 0..=PollPause::MAX_PAUSES) => Ok(CompletionMode::PollPause(pauses)),
                _ => Err(ParseError::parameter(
                    text,
                    format!(
                        "write a number of PAUSE instructions, 0 to {}, as poll-pause=4",
                        PollPause::MAX_PAUSES
                    ),
                )),
            },
            Some(("dpas", depth)) => match depth.parse() {
                Ok(theta @ 1..) => Ok(CompletionMode::Dpas(theta)),
                _ => Err(ParseError::parameter(
                    text,
                    "write a depth of 1 or more, as dpas=3",
                )),
            },
            Some(_) => Err(unknown(text)),
        }
    }
}

impl From<CompletionMode> for String {
    fn from(mode: CompletionMode) -> String {
        mode.to_string()
    }
}

impl TryFrom<String> for CompletionMode {
    type Error = ParseError;

    fn try_from(text: String) -> Result<CompletionMode, ParseError> {
        text.parse()
    }
}

fn unknown(text: &str) -> ParseError {
    let name = text.split('=').next().unwrap_or_default();
    let names = CompletionMode::ALL.map(|mode| mode.to_string());
    let known = CompletionMode::known();
    ParseError::unknown(text, "a completion mode", name, names, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_mode_is_what_its_name_says() {
        let names = [
            "poll",
            "poll-pause",
            "poll-pause=0",
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
            "hybrid-uintr",
            "spdk-plus",
            "active-check",
            "active-check=poll",
            "adaptive",
            "sqpoll",
            "sqpoll+poll",
        ];
        for name in names {
            assert_eq!(name.parse::<CompletionMode>().unwrap().to_string(), name);
        }
        for mode in CompletionMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        let short = [
            ("classic", "poll"),
            ("ski-rental", "ski-rental=4050ns"),
            ("dpas=1", "dpas"),
            ("poll-pause=8", "poll-pause"),
        ];
        for (name, full) in short {
            assert_eq!(name.parse::<CompletionMode>().unwrap().to_string(), full);
        }
    }

    #[test]
    fn what_is_no_completion_mode_says_which_there_are_or_what_is_wrong() {
        for text in ["", "pol", "pas=3", "=", "ehp="] {
            let error = text.parse::<CompletionMode>().unwrap_err().to_string();
            assert!(error.contains("ski-rental=2us"), "{error}");
        }
        for text in [
            "dpas=0",
            "dpas=-1",
            "dpas=x",
            "hybrid=0",
            "poll-pause=10001",
            "poll-pause=-1",
            "ski-rental=0us",
            "tpause=0",
            "uintr-block=0",
        ] {
            let error = text.parse::<CompletionMode>().unwrap_err().to_string();
            assert!(
                error.starts_with(text.split('=').next().unwrap()),
                "{error}"
            );
        }
        assert!("ski-rental=5q".parse::<CompletionMode>().is_err());
    }
}
