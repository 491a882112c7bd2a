//! Names of the engines.

use crate::CompletionMode;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An engine, as `--engine` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

    /// Name, as `--engine` takes it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Nvme => "nvme",
            EngineName::Psync => "psync",
            EngineName::Libaio => "libaio",
            EngineName::IoUring => "io_uring",
        }
    }

    /// Names of the completion modes that the engine has, the kernel's on some kernel.
    pub fn completion_modes(self) -> &'static str {
        match self {
            EngineName::Nvme => "the modes of a policy",
            EngineName::Psync => "interrupt, poll, hybrid and hybrid=TIME",
            EngineName::Libaio => "interrupt",
            EngineName::IoUring => "interrupt, poll, hybrid, adaptive, sqpoll and sqpoll+poll",
        }
    }

    /// Returns true if the engine has `mode`, one of the kernel's on some kernel.
    pub fn takes(self, mode: CompletionMode) -> bool {
        use CompletionMode as Mode;
        match self {
            EngineName::Nvme => mode.policy().is_some(),
            EngineName::Psync => matches!(
                mode,
                Mode::Interrupt | Mode::Poll | Mode::Hybrid | Mode::HybridFixed(_)
            ),
            EngineName::Libaio => mode == Mode::Interrupt,
            EngineName::IoUring => matches!(
                mode,
                Mode::Interrupt
                    | Mode::Poll
                    | Mode::Hybrid
                    | Mode::Adaptive
                    | Mode::SqPoll
                    | Mode::SqPollPoll
            ),
        }
    }

    /// True for the kernel's engines, false for the user-space driver.
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
        known.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' is not an engine: {all}")
        })
    }
}

impl From<EngineName> for String {
    fn from(engine: EngineName) -> String {
        engine.to_string()
    }
}

impl TryFrom<String> for EngineName {
    type Error = String;

    fn try_from(text: String) -> Result<EngineName, String> {
        text.parse()
    }
}
