//! Short descriptions of the completion modes, from which helps and messages are made.

use crate::CompletionMode;

/// Short description of a completion mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeSummary {
    /// Values of `--completion` that stand for the mode in a list: its name, and an example of its parameter.
    pub spellings: &'static [&'static str],
    /// Condition under which there is the mode; `None`: the user-space driver and engines of the kernel have it.
    pub needs: Option<&'static str>,
    /// Description of the wait, as the inside of parentheses.
    pub text: &'static str,
}

const NVME: Option<&str> = Some("Only nvme");
const USER_WAITS: Option<&str> = Some("Where the CPU has user-level waits");
const TWIN: Option<&str> = Some("Only with --twin");
const IO_URING: Option<&str> = Some("Only io_uring");

impl CompletionMode {
    /// Returns the short description of the mode; its parameter does not matter.
    pub fn summary(self) -> ModeSummary {
        use CompletionMode as Mode;
        let (spellings, needs, text): (&[&str], _, _) = match self {
            Mode::Poll => (&["poll"], None, "spin"),
            Mode::PollPause(_) => (
                &["poll-pause", "poll-pause=4"],
                NVME,
                "spin with that number of PAUSE instructions between polls",
            ),
            Mode::Interrupt => (&["interrupt"], None, "block"),
            Mode::Hybrid | Mode::HybridFixed(_) => (
                &["hybrid", "hybrid=4us"],
                None,
                "sleep for half the mean time, or for that time, then poll",
            ),
            Mode::UringHybrid => (
                &["uring-hybrid"],
                NVME,
                "sleep for half the shortest time, then poll",
            ),
            Mode::Ehp => (
                &["ehp"],
                NVME,
                "sleep until just before the shortest time, then poll; block for slow I/Os",
            ),
            Mode::Pas => (
                &["pas"],
                NVME,
                "sleep for longer or shorter by how the last sleeps ended, then poll",
            ),
            Mode::Dpas(_) => (
                &["dpas", "dpas=3"],
                NVME,
                "pas or poll, by the load; interrupt above that depth",
            ),
            Mode::SkiRental(_) => (
                &["ski-rental=2us"],
                NVME,
                "poll for that time, then take the interrupt",
            ),
            Mode::Tpause(_) => (
                &["tpause", "tpause=500ns"],
                USER_WAITS,
                "pause for that time between polls",
            ),
            Mode::HybridTpause => (
                &["hybrid-tpause"],
                USER_WAITS,
                "pause until the predicted time, then poll",
            ),
            Mode::Umwait => (&["umwait"], USER_WAITS, "until the completion is written"),
            Mode::Uintr => (&["uintr"], USER_WAITS, "until the user interrupt comes"),
            Mode::UintrBlock(_) => (
                &["uintr-block", "uintr-block=50us"],
                USER_WAITS,
                "uintr for that time, then in the kernel",
            ),
            Mode::HybridUintr => (
                &["hybrid-uintr"],
                USER_WAITS,
                "until the predicted time or the user interrupt, then poll",
            ),
            Mode::SpdkPlus => (&["spdk-plus"], USER_WAITS, "as in SPDK+"),
            Mode::ActiveCheck => (
                &["active-check"],
                TWIN,
                "uintr, but interrupt while another thread wants the CPU",
            ),
            Mode::ActiveCheckPoll => (
                &["active-check=poll"],
                TWIN,
                "poll, but interrupt while another thread wants the CPU",
            ),
            Mode::Adaptive => (
                &["adaptive"],
                None,
                "the least energy that keeps a promise, docs/adaptive.md",
            ),
            Mode::SqPoll => (&["sqpoll"], IO_URING, "a kernel thread submits"),
            Mode::SqPollPoll => (
                &["sqpoll+poll"],
                IO_URING,
                "a kernel thread submits and polls",
            ),
        };
        ModeSummary {
            spellings,
            needs,
            text,
        }
    }

    /// Returns the values of `--completion` for a message: `poll, poll-pause, poll-pause=4`.
    pub fn known() -> String {
        let all = CompletionMode::ALL.map(|mode| mode.summary().spellings.join(", "));
        all.join(", ")
    }

    /// Returns all modes with their short descriptions, for a help: those without a condition first, then those of
    /// each condition.
    pub fn described() -> String {
        let summaries = CompletionMode::ALL.map(CompletionMode::summary);
        let mut conditions = vec![None];
        for summary in summaries {
            if !conditions.contains(&summary.needs) {
                conditions.push(summary.needs);
            }
        }
        let sentences = conditions.into_iter().map(|needs| {
            let modes = summaries.iter().filter(|summary| summary.needs == needs);
            let modes = modes.map(|one| format!("{} ({})", one.spellings.join(", "), one.text));
            let modes: Vec<_> = modes.collect();
            let condition = needs.map_or_else(String::new, |needs| format!("{needs}: "));
            format!("{condition}{}.", modes.join(", "))
        });
        sentences.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_mode_is_read_as_that_mode() {
        for mode in CompletionMode::ALL {
            let summary = mode.summary();
            for spelling in summary.spellings {
                let read: CompletionMode = spelling.parse().unwrap();
                assert_eq!(read.summary(), summary, "{spelling}");
            }
        }
    }

    #[test]
    fn every_mode_is_described_once() {
        let text = CompletionMode::described();
        for mode in CompletionMode::ALL {
            let ModeSummary {
                spellings,
                text: one,
                ..
            } = mode.summary();
            let entry = format!("{} ({one})", spellings.join(", "));
            assert_eq!(text.matches(&entry).count(), 1, "{entry}: {text}");
        }
        assert!(
            text.starts_with("poll (spin), interrupt (block), hybrid, "),
            "{text}"
        );
        assert_eq!(text.matches("Only nvme: ").count(), 1, "{text}");
    }
}
