//! Help of the command itself, with its subcommands in groups.

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

/// Description of clap's help subcommand, which has an additional use here.
const HELP: &str = "The help of a subcommand; help metrics: what the columns of bench are";

/// Environment variables with their effects, in so few words that no line has to wrap.
const ENVIRONMENT: [(&str, &str); 7] = [
    (
        "COLUMNS",
        "width of tables where standard output is no terminal",
    ),
    ("NO_COLOR", "the progress bar has no colours"),
    (
        "XDG_STATE_HOME",
        "where the idle baseline and the journal of settings are kept",
    ),
    (
        "JOULIO_REDFISH_USER",
        "who reads a BMC (--meter redfish=URL), if not as in ~/.netrc",
    ),
    ("JOULIO_REDFISH_PASSWORD", "the password there"),
    (
        "JOULIO_REDFISH_CA",
        "a file of the certificates that BMCs may have",
    ),
    (
        "JOULIO_REDFISH_VERIFY",
        "no: a BMC may have any certificate",
    ),
];

/// Width of the column of subcommands' names, with the blanks around it.
const INDENT: usize = 16;

/// Puts the subcommands in the help of `command` into groups, and adds the environment variables at its end.
pub fn with_command_groups(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let width = terminal_width().unwrap_or(100).max(2 * INDENT);
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(groups, "{header}{heading}:{header:#}");
        for name in names {
            let about = about(&command, name);
            let about = textwrap::wrap(&about, width - INDENT).join(&format!("\n{:INDENT$}", ""));
            let _ = writeln!(groups, "  {literal}{name:<12}{literal:#}  {about}");
        }
        groups.push('\n');
    }
    let mut below = command
        .get_after_help()
        .map_or_else(String::new, ToString::to_string);
    below.push_str("\n\nEnvironment:");
    for (name, what) in ENVIRONMENT {
        let _ = write!(below, "\n  {name}\n      {what}");
    }
    let command = command.after_help(below);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// Returns the description of the subcommand `name` in one line.
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
