//! Tests of the help.

use crate::common::joulio;
use predicates::prelude::{PredicateBooleanExt, predicate};
use predicates::str::contains;

const SUBCOMMANDS: [&str; 18] = [
    "bench",
    "calibrate",
    "profiles",
    "twin",
    "trace",
    "power",
    "stat",
    "power-states",
    "knobs",
    "restore",
    "list",
    "id-ctrl",
    "id-ns",
    "smart-log",
    "selftest",
    "serve",
    "bind",
    "unbind",
];

#[test]
fn every_subcommand_has_help() {
    for subcommand in SUBCOMMANDS {
        for line in [format!("{subcommand} --help"), format!("help {subcommand}")] {
            joulio(&line)
                .assert()
                .success()
                .stdout(contains(format!("Usage: joulio {subcommand}")))
                .stderr(predicate::str::is_empty());
        }
    }
}

#[test]
fn help_lists_every_subcommand() {
    let mut all = joulio("--help").assert().success();
    for subcommand in SUBCOMMANDS {
        all = all.stdout(contains(format!("  {subcommand} ")));
    }
}

#[test]
fn the_command_alone_shows_what_it_can_do() {
    joulio("")
        .assert()
        .code(2)
        .stdout(predicate::str::is_empty())
        .stderr(contains("Usage: joulio").and(contains("bench")));
}

#[test]
fn the_flags_of_bench_are_spelled_as_fio_has_them() {
    let mut help = joulio("bench --help").assert().success();
    for flag in [
        "--rw ",
        "--rwmixread ",
        "--bs ",
        "--iodepth ",
        "--numjobs ",
        "--size ",
        "--runtime ",
        "--number_ios ",
        "--ramp_time ",
        "--rate_iops ",
        "--rate_process ",
        "--phases ",
        "--thinktime ",
        "--thinktime_blocks ",
        "--cpus_allowed ",
        "--verify ",
    ] {
        help = help.stdout(contains(flag));
    }
}

#[test]
fn the_version_is_one_line() {
    joulio("--version").assert().success().stdout(concat!(
        "joulio ",
        env!("CARGO_PKG_VERSION"),
        "\n"
    ));
}

#[test]
fn a_mistyped_subcommand_is_refused_in_one_line() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let said = crate::common::refused(room.path(), "benhc");
    assert!(said.contains("benhc") && said.contains("bench"), "{said}");
}

#[test]
fn every_subcommand_has_three_examples() {
    for subcommand in SUBCOMMANDS.into_iter().chain([""]) {
        let output = joulio(&format!("{subcommand} --help")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, examples) = text
            .split_once("Examples:")
            .unwrap_or_else(|| panic!("{subcommand}"));
        let commands = examples
            .lines()
            .filter(|line| line.starts_with("  joulio "));
        assert_eq!(commands.count(), 3, "{subcommand}: {examples}");
    }
}

#[test]
fn help_fits_the_terminal() {
    for subcommand in SUBCOMMANDS.into_iter().chain(["", "advise", "lab run"]) {
        for help in ["-h", "--help"] {
            let line = format!("{subcommand} {help}");
            let output = joulio(&line).env("COLUMNS", "80").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            // Commands are not broken, so that they can be copied.
            let wide = |line: &&str| line.chars().count() > 80 && !line.starts_with("  joulio ");
            assert_eq!(text.lines().find(wide), None, "{line}");
        }
    }
}

#[test]
fn subcommands_are_in_groups() {
    let output = joulio("--help").env("COLUMNS", "80").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let headings = text.lines().filter(|line| line.ends_with(':'));
    let headings: Vec<_> = headings.collect();
    assert_eq!(headings[..2], ["Workloads:", "Watts and joules:"], "{text}");
    assert!(text.contains("help metrics"), "{text}");
}

#[test]
fn the_columns_are_explained() {
    for line in ["help metrics", "bench --legend"] {
        let output = joulio(line).env("COLUMNS", "80").output().unwrap();
        assert!(output.status.success(), "{line}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("uJ/IO        energy of the window per I/O"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
