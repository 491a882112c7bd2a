//! `joulio completions` and `joulio man`: what packages install beside the command.

use crate::failure::Failure;
use crate::output::print_data;
use crate::{Outcome, written};
use clap_complete::{Shell, generate};
use std::fs::create_dir_all;
use std::path::PathBuf;

/// Flags of `completions`.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// Shell whose completions are printed
    shell: Shell,
}

/// Flags of `man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Folder for the pages, joulio.1 and joulio-SUBCOMMAND.1; it is made where it does not exist
    folder: PathBuf,
}

/// `joulio completions`.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut written(), "joulio", &mut script);
    print_data(&String::from_utf8_lossy(&script))
}

/// `joulio man`.
pub fn man(args: &ManArgs) -> Outcome {
    let folder = &args.folder;
    let wrong = |error| Failure::input(format!("{}: {error}", folder.display()));
    create_dir_all(folder).map_err(wrong)?;
    clap_mangen::generate_to(written(), folder).map_err(wrong)
}
