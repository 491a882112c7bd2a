//! `joulio completions` and `joulio man`: files that packages install beside the command.

use crate::failure::Failure;
use crate::output::print_data;
use crate::{Outcome, written};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use std::fs::{create_dir_all, write};
use std::io;
use std::path::{Path, PathBuf};

/// Flags of `completions`.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// Shell to print completions for
    shell: Shell,
}

/// Flags of `man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Folder for the pages, joulio.1 and joulio-SUBCOMMAND.1; created if it does not exist
    folder: PathBuf,
    /// Date in the footer of the pages, such as 2026-05-31. Default: none
    #[arg(long, default_value = "", hide_default_value = true)]
    date: String,
}

/// Runs `joulio completions`.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut written(), "joulio", &mut script);
    print_data(&String::from_utf8_lossy(&script))
}

/// Runs `joulio man`.
pub fn man(args: &ManArgs) -> Outcome {
    let folder = &args.folder;
    let wrong = |error| Failure::input(format!("{}: {error}", folder.display()));
    create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Failure::input(format!("{}: not a folder: name another", folder.display()))
        }
        _ => wrong(error),
    })?;
    let mut command = written().disable_help_subcommand(true);
    command.build();
    pages(&command, &args.date, folder).map_err(wrong)
}

/// Writes the page of `command`, and those of its subcommands.
fn pages(command: &clap::Command, date: &str, folder: &Path) -> io::Result<()> {
    let seen = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for sub in seen {
        pages(sub, date, folder)?;
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = tidy(&String::from_utf8_lossy(&page), date);
    write(folder.join(man.get_filename()), page)
}

/// Gives the page a header that names joulio and not only the subcommand, and removes what `mandoc -Tlint` warns of:
/// blanks at the end of lines, and breaks beside empty lines.
fn tidy(page: &str, date: &str) -> String {
    let lines: Vec<_> = page.lines().map(str::trim_end).collect();
    let is_empty = |line: Option<&&str>| line.is_some_and(|line| line.is_empty());
    let mut tidy = String::new();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| lines.get(before));
        if *line == ".br" && (is_empty(before) || is_empty(lines.get(at + 1))) {
            continue;
        }
        match line.strip_prefix(".TH ") {
            Some(rest) => {
                let name = rest.split(' ').next().unwrap_or_default().to_uppercase();
                let version = env!("CARGO_PKG_VERSION");
                tidy += &format!(".TH {name} 1 \"{date}\" \"joulio {version}\" \"joulio\"");
            }
            None => tidy += line,
        }
        tidy.push('\n');
    }
    tidy
}
