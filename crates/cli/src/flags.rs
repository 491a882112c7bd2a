//! Flags of all subcommands: both spellings, and the groups in the help.

use clap::{Arg, Command};

/// Groups of flags, with the long names of their members; other flags keep their own heading.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Workload",
        &[
            "engine",
            "completion",
            "seed",
            "allow-write",
            "io_timeout",
            "max_retries",
            "process",
            "verify",
            "direct",
            "fsync",
            "fdatasync",
            "end_fsync",
            "iodepth_batch_submit",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "coalescing",
            "power-state",
            "apst",
            "faults",
        ],
    ),
    (
        "Length and repetition",
        &[
            "runtime",
            "number_ios",
            "ramp_time",
            "window",
            "startdelay",
            "exitall",
            "steadystate",
            "steadystate_duration",
            "steadystate_ramp_time",
            "steadystate_check_interval",
            "replicates",
            "order",
            "state",
            "interval",
            "count",
        ],
    ),
    (
        "Energy",
        &["meter", "idle-baseline", "machine", "model", "drive"],
    ),
    (
        "Virtual time",
        &["twin", "frequency", "other-irqs", "posted-interrupts"],
    ),
    (
        "Advice",
        &[
            "observe",
            "disk",
            "read_iolog",
            "cap",
            "cap-boundary",
            "apply",
            "explain",
        ],
    ),
    ("Metrics", &["textfile", "listen"]),
    (
        "Report",
        &[
            "columns",
            "per-job",
            "group_reporting",
            "percentile_list",
            "status-interval",
            "legend",
            "quiet",
            "strict",
            "write_lat_log",
            "write_bw_log",
            "write_iops_log",
            "log_avg_msec",
            "log_offset",
            "output",
            "output-format",
            "plot",
            "file",
            "force",
        ],
    ),
];

/// Subcommands with so many flags that groups are useful.
const GROUPED: [&str; 4] = ["bench", "advise", "trace", "stat"];

/// Puts the flags of `command` into groups.
pub fn with_groups(command: Command) -> Command {
    GROUPED.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| subcommand.mut_args(grouped))
    })
}

/// Puts `flag` into its group.
fn grouped(flag: Arg) -> Arg {
    let long = flag.get_long();
    let group = GROUPS
        .iter()
        .find(|(_, flags)| long.is_some_and(|long| flags.contains(&long)));
    match group {
        Some((heading, _)) => flag.help_heading(*heading),
        None => flag,
    }
}

/// Allows every flag of `command` to be written with underscores, as in fio, or with hyphens.
pub fn with_both_spellings(command: Command) -> Command {
    command
        .mut_args(|flag| {
            let other = flag.get_long().and_then(other_spelling);
            match other {
                Some(other)
                    if !flag
                        .get_all_aliases()
                        .unwrap_or_default()
                        .contains(&&*other) =>
                {
                    flag.alias(other)
                }
                _ => flag,
            }
        })
        .mut_subcommands(with_both_spellings)
}

/// Returns `name` with hyphens instead of underscores, or the other way around.
fn other_spelling(name: &str) -> Option<String> {
    match (name.contains('-'), name.contains('_')) {
        (true, false) => Some(name.replace('-', "_")),
        (false, true) => Some(name.replace('_', "-")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written;

    /// Calls `check` for every flag of `command` and its subcommands.
    fn each(command: &Command, check: &mut impl FnMut(&Command, &Arg)) {
        for flag in command.get_arguments() {
            check(command, flag);
        }
        for subcommand in command.get_subcommands() {
            each(subcommand, check);
        }
    }

    #[test]
    fn every_flag_has_both_spellings() {
        let mut both = 0;
        each(&written(), &mut |command, flag| {
            let Some(other) = flag.get_long().and_then(other_spelling) else {
                return;
            };
            both += 1;
            let aliases = flag.get_all_aliases().unwrap_or_default();
            let name = command.get_name();
            assert!(aliases.contains(&&*other), "{name} has no --{other}");
        });
        assert!(both > 40, "{both}");
    }

    #[test]
    fn every_flag_of_a_group_is_there_and_no_group_is_left_to_chance() {
        let command = written();
        let of = |name: &str| command.find_subcommand(name).expect("a subcommand");
        for (heading, flags) in GROUPS {
            for flag in flags {
                let there = GROUPED.into_iter().any(|name| {
                    let mut found = of(name).get_arguments();
                    found.any(|one| one.get_long() == Some(flag))
                });
                assert!(there, "{heading}: no --{flag} anywhere");
            }
        }
        for (heading, few) in [
            ("Promise of the completion mode adaptive", 3),
            ("io_uring", 4),
            ("Settings of the machine", 4),
        ] {
            let flags = of("bench").get_arguments();
            let under = flags
                .filter(|flag| flag.get_help_heading() == Some(heading) && !flag.is_hide_set());
            let under: Vec<_> = under.map(Arg::get_id).collect();
            assert_eq!(under.len(), few, "{heading}: {under:?}");
        }
    }
}
