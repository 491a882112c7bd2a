//! Names of the engines.

use crate::{CompletionMode, ParseError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An engine, as `--engine` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The kernel's NVMe driver alone, by io_uring(7): commands to a namespace's character device.
    IoUringCmd,
    /// fio, by io_uring: another program's figures beside these.
    Fio,
    /// fio, by POSIX asynchronous I/O: threads of the C library.
    FioPosixAio,
    /// SPDK's example `spdk_nvme_perf`, on a controller of its own driver's.
    SpdkNvmePerf,
    /// RocksDB's `db_bench readrandom`, on a file system on a block device.
    DbBench,
    /// RocksDB's `db_bench readrandom`, on joulio's own file system on a controller of the user-space driver's.
    DbBenchJoulio,
}

impl EngineName {
    /// All engines.
    pub const ALL: [EngineName; 10] = [
        EngineName::Nvme,
        EngineName::Psync,
        EngineName::Libaio,
        EngineName::IoUring,
        EngineName::IoUringCmd,
        EngineName::Fio,
        EngineName::FioPosixAio,
        EngineName::SpdkNvmePerf,
        EngineName::DbBench,
        EngineName::DbBenchJoulio,
    ];

    /// Returns the name, which `--engine` takes.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Nvme => "nvme",
            EngineName::Psync => "psync",
            EngineName::Libaio => "libaio",
            EngineName::IoUring => "io_uring",
            EngineName::IoUringCmd => "io_uring_cmd",
            EngineName::Fio => "fio",
            EngineName::FioPosixAio => "fio_posixaio",
            EngineName::SpdkNvmePerf => "spdk_nvme_perf",
            EngineName::DbBench => "db_bench",
            EngineName::DbBenchJoulio => "db_bench_joulio",
        }
    }

    /// Returns the names of the completion modes that the engine has; the kernel's need a kernel that has them.
    pub fn completion_modes(self) -> &'static str {
        match self {
            EngineName::Nvme | EngineName::DbBenchJoulio => "the modes of a policy",
            EngineName::Psync => "interrupt, poll, hybrid and hybrid=TIME",
            EngineName::Libaio | EngineName::FioPosixAio | EngineName::DbBench => "interrupt",
            EngineName::IoUring => "interrupt, poll, hybrid, adaptive, sqpoll and sqpoll+poll",
            EngineName::IoUringCmd => "interrupt, poll, adaptive, sqpoll and sqpoll+poll",
            EngineName::Fio => "interrupt, poll, sqpoll and sqpoll+poll",
            EngineName::SpdkNvmePerf => "poll",
        }
    }

    /// Returns true if the engine has `mode`; a mode of the kernel needs a kernel that has it.
    pub fn takes(self, mode: CompletionMode) -> bool {
        use CompletionMode as Mode;
        match self {
            EngineName::Nvme | EngineName::DbBenchJoulio => mode.policy().is_some(),
            EngineName::Psync => matches!(
                mode,
                Mode::Interrupt | Mode::Poll | Mode::Hybrid | Mode::HybridFixed(_)
            ),
            EngineName::Libaio | EngineName::FioPosixAio | EngineName::DbBench => {
                mode == Mode::Interrupt
            }
            EngineName::SpdkNvmePerf => mode == Mode::Poll,
            EngineName::IoUringCmd => matches!(
                mode,
                Mode::Interrupt | Mode::Poll | Mode::Adaptive | Mode::SqPoll | Mode::SqPollPoll
            ),
            EngineName::Fio => matches!(
                mode,
                Mode::Interrupt | Mode::Poll | Mode::SqPoll | Mode::SqPollPoll
            ),
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

    /// Returns true for the kernel's engines: not the user-space driver, and not another program.
    pub fn is_kernel(self) -> bool {
        matches!(
            self,
            EngineName::Psync | EngineName::Libaio | EngineName::IoUring | EngineName::IoUringCmd
        )
    }

    /// Returns true for the engines on a ring of io_uring(7), to which the options of a ring apply.
    pub fn has_ring(self) -> bool {
        matches!(self, EngineName::IoUring | EngineName::IoUringCmd)
    }

    /// Returns true for the engines that run fio.
    pub fn is_fio(self) -> bool {
        matches!(self, EngineName::Fio | EngineName::FioPosixAio)
    }

    /// Returns true if another program does the I/O and reports its figures.
    pub fn is_external(self) -> bool {
        matches!(
            self,
            EngineName::Fio
                | EngineName::FioPosixAio
                | EngineName::SpdkNvmePerf
                | EngineName::DbBench
                | EngineName::DbBenchJoulio
        )
    }

    /// Returns true if the engine works on block devices and files, false if it works on controllers.
    pub fn takes_block_devices(self) -> bool {
        !matches!(
            self,
            EngineName::Nvme | EngineName::SpdkNvmePerf | EngineName::DbBenchJoulio
        )
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // fio's name for the engine with preadv2 is pvsync2.
        let text = if text == "pvsync2" { "psync" } else { text };
        let known = Self::ALL.into_iter().find(|engine| engine.name() == text);
        known.ok_or_else(|| {
            let all = Self::ALL.map(Self::name);
            ParseError::unknown(text, "an engine", text, all, all.join(", "))
        })
    }
}

impl From<EngineName> for String {
    fn from(engine: EngineName) -> String {
        engine.to_string()
    }
}

impl TryFrom<String> for EngineName {
    type Error = ParseError;

    fn try_from(text: String) -> Result<EngineName, ParseError> {
        text.parse()
    }
}
