//! Three examples for each subcommand, shown below its help.

mod nested;

use clap::Command;
use nested::NESTED;

/// Lines with a command and a description of what it does.
type Lines = [(&'static str, &'static str); 3];

/// Example lines by subcommand.
const EXAMPLES: [(&str, Lines); 20] = [
    (
        "bench",
        [
            ("joulio bench", "the usual modes on an emulated drive"),
            (
                "joulio bench --device pcie:0000:01:00.0 --iodepth 1,32 --completion poll,interrupt",
                "on a drive, two depths",
            ),
            (
                "joulio bench job.fio --replicates 5",
                "a job file of fio's, five times, with intervals",
            ),
        ],
    ),
    (
        "advise",
        [
            (
                "joulio advise --slo p99=50us",
                "the least energy within a promise",
            ),
            (
                "joulio advise --observe 60s --device /dev/nvme0n1",
                "for the load that a disk has",
            ),
            (
                "joulio advise --twin --machine xeon-6230",
                "for another machine, modelled",
            ),
        ],
    ),
    (
        "calibrate",
        [
            (
                "joulio calibrate --write-profile here.toml",
                "this machine's costs, as a profile",
            ),
            (
                "joulio calibrate --watts --write-profile here.toml",
                "and its watts, where a meter can be read",
            ),
            ("joulio calibrate --check", "the twin beside real reads"),
        ],
    ),
    (
        "trace",
        [
            (
                "joulio trace --completion hybrid",
                "the steps of a few I/Os",
            ),
            (
                "joulio trace --completion adaptive",
                "and what was planned and came of it",
            ),
            (
                "joulio trace --output perfetto --file trace.json",
                "for ui.perfetto.dev",
            ),
        ],
    ),
    (
        "list",
        [
            ("joulio list", "the namespaces of this machine"),
            (
                "joulio list pcie:0000:01:00.0",
                "of a drive that joulio drives",
            ),
            ("joulio list -o json", "for programs"),
        ],
    ),
    (
        "lab",
        [
            ("joulio lab list", "the experiments"),
            (
                "joulio lab run hotstorage25 --twin",
                "a paper, in virtual time",
            ),
            (
                "joulio lab report RESULTS",
                "its tables and figures, a page that opens offline",
            ),
        ],
    ),
    (
        "id-ctrl",
        [
            (
                "joulio id-ctrl emulated:optane-900p",
                "an emulated controller",
            ),
            ("joulio id-ctrl /dev/nvme0", "one of the kernel's"),
            (
                "joulio id-ctrl vfio-user:/run/nvme.sock -o json",
                "one of another process, for programs",
            ),
        ],
    ),
    (
        "id-ns",
        [
            ("joulio id-ns emulated:optane-900p", "an emulated namespace"),
            ("joulio id-ns /dev/nvme0n1", "one of the kernel's"),
            (
                "joulio id-ns vfio-user:/run/nvme.sock -o json",
                "one of another process, for programs",
            ),
        ],
    ),
    (
        "smart-log",
        [
            (
                "joulio smart-log emulated:optane-900p",
                "of an emulated one",
            ),
            (
                "joulio smart-log /dev/nvme0",
                "temperature, wear and errors of a drive",
            ),
            ("joulio smart-log pcie:0000:01:00.0 -o json", "for programs"),
        ],
    ),
    (
        "power",
        [
            ("joulio power", "the meters of this machine"),
            (
                "joulio power --idle 60s",
                "the watts of the idle machine, to be taken off later",
            ),
            (
                "joulio power import plug.csv",
                "the file of a plug's logger",
            ),
        ],
    ),
    (
        "stat",
        [
            (
                "joulio stat nvme0n1 5 12",
                "one of them, each 5 s, a minute long",
            ),
            (
                "joulio stat --model --listen 9409",
                "by profiles where no meter tells, for Prometheus too",
            ),
            (
                "joulio stat -- fio job.fio",
                "what a command takes: joules, I/Os, CPU time, waits",
            ),
        ],
    ),
    (
        "power-states",
        [
            (
                "joulio power-states /dev/nvme0",
                "the power states of a drive",
            ),
            (
                "joulio power-states pcie:0000:01:00.0",
                "of one that joulio drives",
            ),
            (
                "joulio power-states /dev/nvme0 --measure",
                "the latencies and watts that they really have",
            ),
        ],
    ),
    (
        "knobs",
        [
            ("joulio knobs", "the settings that change what an I/O costs"),
            (
                "joulio knobs --set scaling_governor=performance --for 60s",
                "one of them for a minute, then restored",
            ),
            (
                "joulio restore",
                "what a killed run has changed is restored",
            ),
        ],
    ),
    (
        "restore",
        [
            ("joulio restore", "restores what killed runs have changed"),
            ("joulio knobs", "the settings as they are now"),
            ("joulio restore --help", "more of it"),
        ],
    ),
    (
        "selftest",
        [
            (
                "joulio selftest umwait",
                "loss, latency and sleep of user-level waits",
            ),
            (
                "joulio selftest uintr",
                "of user interrupts, with kmod/joulio_uintr",
            ),
            (
                "joulio selftest uintr --device pcie:0000:01:00.0",
                "by a drive's own interrupts",
            ),
        ],
    ),
    (
        "serve",
        [
            (
                "joulio serve --device emulated:optane-900p --socket /run/nvme.sock",
                "an emulated drive for a virtual machine",
            ),
            (
                "joulio bench --device vfio-user:/run/nvme.sock",
                "its I/Os, from another process",
            ),
            ("joulio list vfio-user:/run/nvme.sock", "its namespaces"),
        ],
    ),
    (
        "bind",
        [
            ("joulio bind 0000:01:00.0", "the drive goes to vfio-pci"),
            (
                "joulio bench --device pcie:0000:01:00.0",
                "joulio drives it",
            ),
            (
                "joulio bind 0000:01:00.0 --noiommu",
                "without an IOMMU: as pcie:0000:01:00.0,noiommu",
            ),
        ],
    ),
    (
        "unbind",
        [
            (
                "joulio unbind 0000:01:00.0",
                "the kernel has the drive again",
            ),
            ("joulio list", "its namespaces then"),
            ("joulio bind 0000:01:00.0", "and back"),
        ],
    ),
    (
        "profiles",
        [
            ("joulio profiles", "the machines and devices that are known"),
            ("joulio profiles optane-900p", "one of them, as TOML"),
            ("joulio profiles mine.toml", "checks a file of one's own"),
        ],
    ),
    (
        "twin",
        [
            ("joulio twin check", "the twin beside what papers measured"),
            ("joulio twin check HS25", "beside one of them"),
            ("joulio twin grid", "every policy on every load"),
        ],
    ),
];

/// Examples of the command itself.
const FIRST: Lines = [
    (
        "joulio bench",
        "completion modes beside each other, on an emulated drive",
    ),
    (
        "joulio advise --observe 60s --device /dev/nvme0n1",
        "what to choose for the load that a disk has",
    ),
    (
        "joulio stat -x 1 5",
        "disks as iostat has them, with watts and joules",
    ),
];

/// Adds examples to the help of `command` and of its subcommands.
pub fn with_examples(command: Command) -> Command {
    let command = with_lines(command, &FIRST);
    let command = EXAMPLES
        .into_iter()
        .fold(command, |command, (name, lines)| {
            command.mut_subcommand(name, |subcommand| with_lines(subcommand, &lines))
        });
    NESTED
        .into_iter()
        .fold(command, |command, (name, below, lines)| {
            command.mut_subcommand(name, |subcommand| {
                subcommand.mut_subcommand(below, |command| with_lines(command, &lines))
            })
        })
}

/// Adds examples to the help of `command`.
fn with_lines(command: Command, lines: &[(&str, &str)]) -> Command {
    let widest = lines.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let mut text = match command.get_after_help() {
        Some(text) => format!("{text}\n\n"),
        None => String::new(),
    };
    text.push_str("Examples:");
    for (line, what) in lines {
        // If a line is long, descriptions are put below the commands.
        text.push_str(&match widest > 44 {
            true => format!("\n  {line}\n      {what}"),
            false => format!("\n  {line:<widest$}  {what}"),
        });
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written;

    #[test]
    fn every_subcommand_that_is_shown_has_examples() {
        let mut commands: Vec<Command> = written().get_subcommands().cloned().collect();
        while let Some(mut command) = commands.pop() {
            let shown = ["completions", "man", "help"];
            if command.is_hide_set() || shown.contains(&command.get_name()) {
                continue;
            }
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:"), "{}", command.get_name());
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn every_example_is_a_command_that_can_be_written() {
        let nested = NESTED.iter().map(|(_, _, lines)| lines);
        let all = EXAMPLES.iter().map(|(_, lines)| lines);
        for lines in all.chain(nested).chain([&FIRST]) {
            for (line, _) in lines {
                let parsed = written().try_get_matches_from(line.split_whitespace());
                let help = line.ends_with("--help");
                assert!(parsed.is_ok() || help, "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
