//! The help of the command alone: its subcommands in groups.

use crate::output::terminal_width;
use clap::Command;
use std::fmt::Write;

/// Groups of subcommands, by name.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Workloads", &["bench", "advise", "trace", "lab"]),
    ("Watts and joules", &["stat", "power", "power-states"]),
    (
        "NVMe devices",
        &[
            "list",
            "id-ctrl",
            "id-ns",
            "smart-log",
            "serve",
            "bind",
            "unbind",
        ],
    ),
    (
        "This machine",
        &["knobs", "restore", "calibrate", "selftest"],
    ),
    ("Virtual time", &["twin", "profiles"]),
    ("Help", &["help", "man", "completions"]),
];

/// The subcommand that clap adds, which has one more use here.
const HELP: &str = "The help of a subcommand; help metrics: what the columns of bench are";

/// Columns of the subcommands' names, with what is on either side.
const INDENT: usize = 16;

/// `command`, whose help has its subcommands in groups.
pub fn with_command_groups(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let width = terminal_width().unwrap_or(100).max(2 * INDENT);
    let options = textwrap::Options::new(width - INDENT);
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(groups, "{header}{heading}:{header:#}");
        for name in names {
            let about = about(&command, name);
            let about = textwrap::wrap(&about, &options).join(&format!("\n{:INDENT$}", ""));
            let _ = writeln!(groups, "  {literal}{name:<12}{literal:#}  {about}");
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// What the subcommand `name` does, in a line.
fn about(command: &Command, name: &str) -> String {
    let known = command.find_subcommand(name).and_then(Command::get_about);
    known.map_or_else(|| HELP.to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written;

    #[test]
    fn every_subcommand_that_is_shown_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        grouped.retain(|name| **name != "help");
        let command = written();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut shown: Vec<_> = shown.map(Command::get_name).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert!(grouped.iter().map(|name| **name).eq(shown.iter().copied()));
    }
}
