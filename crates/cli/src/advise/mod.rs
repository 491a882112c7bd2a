//! `joulio advise`: recommendation for a workload, with the reasons.

mod args;
mod text;

pub use args::AdviseArgs;

use crate::Outcome;
use crate::bench::BenchTerminal;
use crate::failure::say;
use crate::output::{Format, print, print_json};
use crate::signals::stop_on_signals;
use joulio_lab::advise::{AdviceReport, Advising, Applied};
use std::fmt::Write;

/// Runs `joulio advise`.
pub fn run(args: &AdviseArgs) -> Outcome {
    args.work.check_single()?;
    let advising = Advising::new(args.request())?;
    let stop = stop_on_signals()?;
    let request = advising.request().clone();
    let report = advising.find(&stop, &BenchTerminal::default())?;
    match args.output.format() {
        Format::Normal => print(&text::advice(&request, &report, args.explain))?,
        Format::Json => print_json(&report)?,
    }
    match args.apply {
        true => apply(&report, args.output.format()),
        false => Ok(()),
    }
}

/// Executes `--apply`: makes the settings of the advice, and leaves them in place.
fn apply(report: &AdviceReport, format: Format) -> Outcome {
    // On standard output a program finds one document and nothing else.
    let show = |text: &str| match format {
        Format::Normal => print(text),
        Format::Json => {
            text.trim().lines().for_each(say);
            Ok(())
        }
    };
    let applied = match report.apply(say)? {
        Applied::Nothing => {
            return show(
                "\nNothing to apply: the completion mode is the program's own choice, and no setting of the machine helps.\n",
            );
        }
        Applied::ByCommand => {
            return show(
                "\nNothing to apply: the setting is one of a device that joulio drives, and ends with each run: the command makes it.\n",
            );
        }
        Applied::Already => "Nothing to apply: every setting already has the advised value.".into(),
        Applied::Changed(settings) => format!(
            "Applied: {}. joulio restore restores the old values.",
            settings.join(", ")
        ),
    };
    let mut text = format!("\n{applied}\n");
    for file in report.lasting() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "To make it last, in {}:", file.path);
        for line in file.lines {
            let _ = writeln!(text, "  {line}");
        }
    }
    show(&text)
}
