//! Resource limits set by a shell, and a standard output that cannot be written.

use std::process::Output;
use tempfile::tempdir;

/// Returns the output of `joulio` with the arguments in `line`, started by a shell after the commands in `before`.
fn after(before: &str, line: &str) -> Output {
    let room = tempdir().expect("a temporary directory");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]);
    command.arg(assert_cmd::cargo::cargo_bin!("joulio"));
    command.args(line.split_whitespace());
    command.current_dir(&room).output().expect("it ran")
}

const RUN: &str = "bench --device emulated:instant,size=1M --number_ios 10 --completion poll";

#[test]
fn a_small_stack_is_enough() {
    for line in ["--help", "list", RUN, &format!("{RUN} --twin")] {
        let output = after("ulimit -s 64", line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert!(!output.stdout.is_empty(), "{line}");
    }
    let output = after("ulimit -s 64", "bench --iodepth 0");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_limit_of_open_files_is_raised_as_far_as_it_may_be() {
    let output = after("ulimit -S -n 20", &format!("{RUN} --numjobs 8"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn too_few_open_files_are_reported_with_what_to_do() {
    let output = after("ulimit -n 20", &format!("{RUN} --numjobs 8"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("Too many open files")
            && said.contains("the limit is 20: raise it by ulimit -n"),
        "{said}"
    );
}

#[test]
fn what_standard_output_does_not_take_is_reported() {
    for line in [
        "--help",
        "--version",
        "help bench",
        "twin grid --help",
        "list",
        "profiles",
        "profiles instant",
        RUN,
        "bench --number_ios 10 --completion poll --output json",
        "twin check rule --output json",
        "stat --count 1",
        "id-ctrl emulated:instant",
    ] {
        let output = after("exec > /dev/full", line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        // Other programs on this machine may have spoiled a run, which is reported first.
        let lines: Vec<_> = said
            .lines()
            .filter(|line| !line.contains("spoiled"))
            .collect();
        assert_eq!(lines.len(), 1, "{line}: {said}");
        assert!(
            lines[0].starts_with("joulio: standard output: No space left"),
            "{line}: {said}"
        );
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    for line in ["--help", "profiles instant", "list"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("joulio"));
        let command = command.args(line.split_whitespace()).stdout(writer);
        let output = command.output().expect("it ran");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{line}");
    }
}

#[test]
fn without_streams_nothing_is_written_elsewhere() {
    let room = tempdir().expect("a temporary directory");
    let script = "exec <&- >&- 2>&-; \"$0\" trace --device emulated:instant,size=1M --number_ios 4 \
                  --ramp_time 0 --output json --file out";
    let status = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(assert_cmd::cargo::cargo_bin!("joulio"))
        .current_dir(&room)
        .status()
        .expect("it ran");
    assert!(status.success());
    let text = std::fs::read(room.path().join("out")).expect("written");
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON and nothing else");
}
