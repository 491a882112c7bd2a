//! Files that commands write: checked before the work, complete after it, and existing files are kept.

use crate::common::machine::{file, server};
use crate::common::{contents, joulio, refused, refused_with, stdout};
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

const GRID: &str = "twin grid --machine generic-server --device optane-p5800x --iodepth 1 \
                    --numjobs 1 --bs 4k --rwmixread 100 --load closed --number_ios 1000 \
                    --ramp_time 1ms";
const TRACE: &str = "trace --device emulated:instant,size=1M --number_ios 32 --ramp_time 0";

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

/// Runs a command in `room` where no file can be larger than a kilobyte, as on a full disk. It has to end with status 1
/// and a line that contains `hint`, and nothing in `room` may be created or changed. Returns its standard output.
/// writes to standard output.
#[track_caller]
fn on_a_full_disk(room: &Path, line: &str, hint: &str) -> String {
    let before = contents(room);
    let mut command = assert_cmd::Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    command.args(["-c", script]);
    command.arg(assert_cmd::cargo::cargo_bin!("joulio"));
    command.args(line.split_whitespace());
    let output = command.current_dir(room).output().expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{line}: {said}");
    let reported: Vec<_> = said.lines().filter(|line| line.contains(hint)).collect();
    assert!(
        reported.len() == 1 && reported[0].contains("File too large"),
        "{line}: {said}"
    );
    assert_eq!(contents(room), before, "{line}: changed something");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_place_that_is_none_is_reported_before_the_work() {
    let lines = [
        "calibrate --write-profile",
        &format!("{GRID} --svg"),
        &format!("{TRACE} --file"),
        "stat --count 1 --textfile",
        "power marker --file",
        "power swap --devices a --file",
    ];
    for line in lines {
        for (place, hint) in [
            ("no/such/place.prom", "there is no folder no/such"),
            ("here.prom", "s a directory"),
        ] {
            let place = match line.starts_with("calibrate") {
                true => place.replace(".prom", ".toml"),
                false => place.to_owned(),
            };
            let room = room();
            for name in ["here.prom", "here.toml"] {
                fs::create_dir(room.path().join(name)).expect("made");
            }
            let said = refused(room.path(), &format!("{line} {place}"));
            let exists = said.contains("exists already") && line.contains("swap");
            assert!(said.contains(&place), "{line}: {said}");
            assert!(said.contains(hint) || exists, "{line}: {said}");
        }
    }
}

#[test]
fn a_profile_is_written_only_to_a_name_that_is_loaded_as_a_file() {
    let room = room();
    for line in [
        "calibrate --rounds 1",
        "profiles fit rates.csv",
        "profiles measure --device emulated:optane-900p,size=1M",
    ] {
        for name in ["mine", "./mine.tom", "mine.toml.txt"] {
            let said = refused(room.path(), &format!("{line} --write-profile {name}"));
            let why = format!("--write-profile {name}: must end in .toml");
            assert!(said.contains(&why), "{line}: {said}");
        }
    }
}

#[test]
fn a_file_that_is_there_is_kept_without_a_word() {
    for (line, name) in [
        ("calibrate --write-profile there.toml", "there.toml"),
        (&*format!("{GRID} --svg there"), "there"),
        (&*format!("{TRACE} --file there"), "there"),
    ] {
        let room = room();
        fs::write(room.path().join(name), "mine").expect("written");
        let said = refused(room.path(), line);
        assert!(
            said.contains(&format!("{name} exists already")) && said.contains("--force"),
            "{line}: {said}"
        );
    }
}

#[test]
fn a_file_is_written_over_by_force() {
    for (line, beginning) in [
        (format!("{GRID} --force --svg there"), "<svg"),
        (format!("{TRACE} --force --output json --file there"), "{"),
    ] {
        let room = room();
        let there = room.path().join("there");
        fs::write(&there, "mine").expect("written");
        joulio(&line).current_dir(&room).assert().success();
        let text = fs::read_to_string(&there).expect("read");
        assert!(text.starts_with(beginning), "{line}: {text}");
        assert_eq!(fs::read_dir(&room).expect("read").count(), 1);
    }
}

#[test]
fn a_trace_goes_to_one_file_and_the_report_of_another_time_stays() {
    let room = room();
    fs::write(room.path().join("report.txt"), "mine").expect("written");
    let line = format!("{TRACE} --file trace.txt --output report.txt --force");
    let said = refused(room.path(), &line);
    assert!(
        said.contains("--file trace.txt with --output report.txt"),
        "{said}"
    );
    let text = fs::read_to_string(room.path().join("report.txt")).expect("read");
    assert_eq!(text, "mine");
    assert_eq!(contents(room.path()).len(), 1);
}

#[test]
fn force_says_of_what() {
    for line in ["calibrate --force", "trace --force", "twin grid --force"] {
        let said = refused(room().path(), line);
        assert!(said.contains("required"), "{line}: {said}");
    }
}

#[test]
fn a_full_disk_leaves_neither_a_part_nor_a_loss() {
    for there in [None, Some("mine")] {
        let room = room();
        if let Some(text) = there {
            fs::write(room.path().join("out"), text).expect("written");
        }
        let force = if there.is_some() { "--force" } else { "" };
        let line = format!("{TRACE} --output perfetto {force} --file out");
        on_a_full_disk(room.path(), &line, "cannot write out");
        let line = format!("{GRID} {force} --svg out");
        let shown = on_a_full_disk(room.path(), &line, "--svg: cannot write out");
        // The rows are shown nevertheless.
        assert!(
            shown.contains("poll") && shown.contains("regret"),
            "{shown}"
        );
    }
}

#[test]
fn merged_results_without_room_are_a_failure_and_no_refusal() {
    let room = room();
    let text = "name = \"small\"\ntitle = \"A small one\"\n[twin]\nmachine = \"xeon-e3-1230v5\"\n\
                device = \"emulated:optane-900p\"\nnumber_ios = 500\n[[sweep]]\nname = \"one\"\n\
                rw = \"randread\"\nbs = \"4k\"\ncompletion = \"poll\"\n";
    fs::write(room.path().join("small.toml"), text).expect("written");
    stdout(room.path(), "lab run small.toml --twin --results one");
    fs::create_dir(room.path().join("all")).expect("made");
    let line = "lab merge one --results all";
    on_a_full_disk(room.path(), line, "cannot write all/records.jsonl");
    assert!(contents(&room.path().join("all")).is_empty());
}

#[test]
fn a_stream_can_be_written_to_and_a_full_one_is_reported() {
    let room = room();
    let line = format!("{TRACE} --output json --file");
    let mut command = joulio(&format!("{line} /dev/stdout"));
    let output = command.current_dir(&room).assert().success();
    let text = output.get_output().stdout.clone();
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON");
    let mut command = joulio(&format!("{line} /dev/full"));
    let output = command.current_dir(&room).assert().code(1);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    // Other programs on this machine may have spoiled the run, which is reported first.
    let last = said.lines().last().expect("a line");
    assert!(
        last.starts_with("joulio: cannot write /dev/full: No space left"),
        "{said}"
    );
}

#[test]
fn files_that_another_program_made_are_not_replaced() {
    let tree = server();
    let root = tree.path().display();
    file(&tree, "proc/diskstats", "");
    for (line, maker) in [
        (
            format!("stat --root {root} --count 1 --textfile mine.prom"),
            "joulio stat",
        ),
        (
            format!("power --root {root} --idle 1 --file mine.prom"),
            "joulio power --idle",
        ),
        ("power marker --file mine.prom".into(), "joulio power swap"),
        (
            "twin grid --sample --state mine.prom".into(),
            "name another file",
        ),
    ] {
        let room = room();
        fs::write(room.path().join("mine.prom"), "# a thesis\n").expect("written");
        let said = refused(room.path(), &line);
        assert!(
            said.contains("mine.prom") && said.contains(maker),
            "{line}: {said}"
        );
    }
}

#[test]
fn a_grid_is_kept_in_a_regular_file_that_is_not_its_picture() {
    for (flags, hint) in [
        ("--state /dev/zero", "not a regular file"),
        ("--state .", "not a regular file"),
        ("--state same --svg same", "name two"),
    ] {
        let said = refused(room().path(), &format!("{GRID} {flags}"));
        assert!(said.contains(hint), "{flags}: {said}");
    }
}

/// Commands of each kind, with the beginning of their reports as text.
const REPORTS: [(&str, &str); 5] = [
    (BENCH, "randread, bs 4k"),
    (TRACE, "poll"),
    ("list", ""),
    ("profiles", ""),
    ("id-ctrl emulated:instant", "NVME Identify Controller"),
];

const BENCH: &str = "bench --device emulated:instant,size=1M --number_ios 64 --ramp_time 0 \
                     --completion poll --quiet --meter none";

#[test]
fn a_report_goes_to_the_file_of_output_in_every_command() {
    for (line, _) in REPORTS {
        for flag in ["--output out.txt", "-o ./out"] {
            let room = room();
            let line = format!("{line} {flag} --output-format json");
            let output = joulio(&line).current_dir(&room).output().expect("it ran");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.success() && output.stdout.is_empty(),
                "{line}: {said}"
            );
            let files = contents(room.path());
            assert_eq!(files.len(), 1, "{line}: {files:?}");
            let text = files.into_values().next().flatten().expect("a file");
            serde_json::from_slice::<serde_json::Value>(&text).expect("JSON");
        }
    }
}

#[test]
fn a_report_in_a_file_is_the_one_that_is_printed() {
    let (line, beginning) = REPORTS[4];
    let room = room();
    let printed = joulio(line).output().expect("it ran").stdout;
    assert!(printed.starts_with(beginning.as_bytes()));
    joulio(&format!("{line} -o id.txt"))
        .current_dir(&room)
        .assert()
        .success();
    assert_eq!(fs::read(room.path().join("id.txt")).expect("read"), printed);
}

#[test]
fn a_file_of_output_is_kept_or_whole() {
    for (line, _) in [REPORTS[0], REPORTS[1], REPORTS[4]] {
        let room = room();
        let there = room.path().join("there.txt");
        fs::write(&there, "mine").expect("written");
        let said = refused(room.path(), &format!("{line} --output there.txt"));
        assert!(
            said.contains("--output: there.txt exists") && said.contains("--force"),
            "{said}"
        );
        let line = format!("{line} --output there.txt --force --output-format json");
        on_a_full_disk(room.path(), &line, "--output: cannot write there.txt");
        joulio(&line).current_dir(&room).assert().success();
        let text = fs::read_to_string(&there).expect("read");
        assert!(text.starts_with('{'), "{text}");
        assert_eq!(contents(room.path()).len(), 1);
    }
}

#[test]
fn a_run_that_fails_leaves_no_beginning_of_a_report() {
    let room = room();
    let line = format!("{BENCH} --output out.txt --faults cfs@#1 --io_timeout 1");
    let output = joulio(&line).current_dir(&room).output().expect("it ran");
    assert!(!output.status.success());
    let files = contents(room.path());
    let whole = |text: &Vec<u8>| String::from_utf8_lossy(text).contains("IOPS");
    assert!(files.values().flatten().all(whole), "{files:?}");
}

#[test]
fn a_place_for_a_report_that_is_none_is_reported_before_the_work() {
    for (place, hint) in [
        ("no/such/place.txt", "there is no folder no/such"),
        ("jsno", "not one of the formats (normal, json"),
        (".", "a directory"),
    ] {
        for (line, _) in [REPORTS[0], REPORTS[4]] {
            let said = refused(room().path(), &format!("{line} --output {place}"));
            assert!(said.contains(hint), "{line} {place}: {said}");
        }
    }
    let said = refused(room().path(), "list --force");
    assert!(said.contains("required"), "{said}");
}

#[test]
fn terse_is_a_line_a_run_with_the_fields_of_fio() {
    let line = format!("{BENCH} --replicates 3 --rw randwrite --output-format terse");
    let output = joulio(&line).output().expect("it ran");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), 3, "{text}");
    for line in text.lines() {
        let fields: Vec<_> = line.split(';').collect();
        assert_eq!(
            (fields.len(), fields[0], fields[4]),
            (121, "3", "0"),
            "{line}"
        );
        // KiB read and written, and the shares of the latency classes.
        assert_eq!((fields[5], fields[46]), ("0", "256"), "{line}");
        let shares = fields[99..].iter().map(|share| share.trim_end_matches('%'));
        let sum: f64 = shares
            .map(|share| share.parse::<f64>().expect("a number"))
            .sum();
        assert!((sum - 100.0).abs() < 0.2, "{sum}");
    }
}

#[test]
fn a_spelling_of_before_is_refused_and_names_the_one_that_replaces_it() {
    let measure = "profiles measure --device emulated:instant";
    for line in ["calibrate", "profiles fit rates.csv", measure] {
        for flag in ["-o ", "-o", "--output ", "--output=", "--out ", "--out="] {
            for force in ["", " --force"] {
                let line = format!("{line} {flag}mine.toml{force}");
                refused_with(&line, &["--write-profile mine.toml"]);
            }
        }
    }
    for line in ["lab run hotstorage25 --twin --quick", "lab merge one two"] {
        for flag in ["-o ", "-o", "--output ", "--output="] {
            refused_with(&format!("{line} {flag}all"), &["--results all"]);
        }
    }
    // Earlier, this named the profile's file; it does not look like a report's file.
    refused_with("calibrate -o mine", &["normal, json", "--write-profile"]);
}

#[test]
fn a_profile_and_a_report_have_a_file_each() {
    let room = room();
    let rates = "rw,bs,iodepth,numjobs,iops\nrandread,4k,1,1,65400\nrandread,4k,1,20,639800\n";
    fs::write(room.path().join("rates.csv"), rates).expect("written");
    let line = "profiles fit rates.csv --machine xeon-6230 --write-profile mine.toml";
    let printed = joulio(line).current_dir(&room).output().expect("it ran");
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    assert!(printed.contains("*: modelled"), "{printed}");
    let profile = fs::read(room.path().join("mine.toml")).expect("read");
    let line = format!("{line} --force -o fit.txt");
    let output = joulio(&line).current_dir(&room).output().expect("it ran");
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    let report = fs::read_to_string(room.path().join("fit.txt")).expect("read");
    assert_eq!(report, printed);
    assert_eq!(
        fs::read(room.path().join("mine.toml")).expect("read"),
        profile
    );
    assert_eq!(contents(room.path()).len(), 3);
}
