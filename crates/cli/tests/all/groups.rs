//! Sections of a job file that run at the same time.

use crate::common::{ended, interrupt, joulio, program, refused, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

const MIB: usize = 1 << 20;

/// Returns a folder with a file of 2 MiB and a job file with the text `jobs`.
fn room(jobs: &str) -> TempDir {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a room");
    fs::write(room.path().join("jobs.fio"), jobs).expect("written");
    fs::write(room.path().join("disk.img"), vec![7; 2 * MIB]).expect("written");
    room
}

/// Returns the runs of the job file in `room`, with the flags in `line`.
fn runs(room: &TempDir, line: &str) -> Vec<Value> {
    let line = format!("bench jobs.fio --meter none --output json {line}");
    let report: Value = serde_json::from_str(&stdout(room.path(), &line)).expect("JSON");
    report["runs"].as_array().expect("runs").clone()
}

fn ios(result: &Value) -> u64 {
    assert_eq!(result["all"]["errors"], 0, "{result}");
    result["all"]["ios"].as_u64().expect("a count")
}

/// Returns the names of the sections of `run`, each with its I/Os.
fn sections(run: &Value) -> Vec<(&str, u64)> {
    let sections = run["sections"].as_array().expect("sections").iter();
    let named = sections.map(|one| (one["section"].as_str().expect("a name"), ios(one)));
    named.collect()
}

const TWO: &str = "[global]
filename=disk.img
size=1m
[seq]
rw=read
bs=64k
[rand]
rw=randread
ioengine=io_uring
iodepth=8
";

#[test]
fn a_run_has_the_figures_of_each_section_and_the_energy_of_all() {
    let room = room(TWO);
    let runs = runs(&room, "--machine generic-server");
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!(sections(run), [("seq", 16), ("rand", 256)]);
    assert_eq!(ios(run), 272);
    // Values that differ between sections are null in the run; equal ones are the run's.
    assert_eq!((&run["rw"], &run["engine"]), (&Value::Null, &Value::Null));
    assert_eq!(run["devices"].as_array().map(Vec::len), Some(1));
    let [seq, rand] = [0, 1].map(|at| &run["sections"][at]);
    assert_eq!(
        (&seq["engine"], &rand["engine"]),
        (&"psync".into(), &"io_uring".into())
    );
    assert_eq!(rand["point"]["iodepth"], "8");
    let system_calls = |result: &Value| result["system_calls"].as_u64().expect("counted");
    assert_eq!(system_calls(run), system_calls(seq) + system_calls(rand));
    let joules = |result: &Value| result["energy"].as_array().map(Vec::len);
    assert!(joules(run) > Some(0), "{run}");
    for section in [seq, rand] {
        assert_eq!(joules(section), Some(0), "{section}");
        let why = &section["machine"]["missing"]["cpuidle"];
        assert!(
            why.as_str().is_some_and(|why| why.contains("all sections")),
            "{why}"
        );
        // The run lasts from the first section's start to the last one's end.
        let at = |result: &Value, end: &str| {
            result[end]["monotonic_seconds"].as_f64().expect("a moment")
        };
        assert!(at(section, "begin") >= at(run, "begin"));
        assert!(at(section, "end") <= at(run, "end"));
    }
}

#[test]
fn the_end_of_one_ends_all_that_run_beside_it() {
    // Neither section would end or begin by itself within a test.
    let room = room(
        "[global]
filename=disk.img
size=1m
[long]
time_based
runtime=3600
[late]
startdelay=3600
[short]
exitall
number_ios=9
",
    );
    let runs = runs(&room, "");
    let found = sections(&runs[0]);
    assert_eq!((found[1], found[2]), (("late", 0), ("short", 9)));
    assert_eq!(found[0].0, "long");
    assert_eq!(runs[0]["interrupted"], false);
}

#[test]
fn sections_share_an_emulated_device_in_each_completion_mode() {
    let room = room(
        "[global]
filename=emulated\\:instant,size=4M
number_ios=40
[a]
rw=randread
[b]
rw=randwrite
iodepth=4
numjobs=2
[file]
filename=disk.img
",
    );
    let runs = runs(&room, "--machine generic-server");
    let modes: Vec<_> = runs
        .iter()
        .map(|run| run["point"]["completion"].as_str().expect("a mode"))
        .collect();
    assert_eq!(modes, ["poll", "interrupt", "hybrid", "adaptive"]);
    for run in &runs {
        assert_eq!(sections(run), [("a", 40), ("b", 80), ("file", 40)]);
        assert_eq!(run["devices"].as_array().map(Vec::len), Some(2));
        assert_eq!(run["per_device"][0]["all"]["ios"], 120);
        assert_eq!(
            (&run["read"]["ios"], &run["write"]["ios"]),
            (&80.into(), &80.into())
        );
        assert_eq!(run["numjobs"], 4);
        let file = &run["sections"][2];
        assert_eq!(file["point"]["completion"], "interrupt");
        assert_eq!(file["per_device"].as_array().map(Vec::len), Some(1));
        assert_eq!(file["wait"]["polls"], 0, "{file}");
    }
}

#[test]
fn a_table_has_a_row_a_section_or_one_of_all() {
    let room = room(&format!(
        "{TWO}[then]\nstonewall\nrw=read\nbs=32k\nstartdelay=10ms\n"
    ));
    let columns = "--columns IOPS,p50 --meter none";
    let text = stdout(room.path(), &format!("bench jobs.fio {columns}"));
    let then = "[then]\nread, bs 32k, iodepth 1, numjobs 1, closed loop, 32 I/Os a job, begins after 0.01 s\n";
    assert!(text.contains(then), "{text}");
    let rows = |text: &str, begin: &str| {
        let lines = text.lines().map(str::trim_start);
        lines.filter(|line| line.starts_with(begin)).count()
    };
    for (row, count) in [("seq ", 1), ("rand ", 1), ("section ", 2), ("[then]", 1)] {
        let first = text.split("section   energy").next().expect("a table");
        let text = if count == 1 && !row.starts_with('[') {
            first
        } else {
            &text
        };
        assert!(rows(text, row) >= count, "{row}: {text}");
    }
    let grouped = stdout(
        room.path(),
        &format!("bench jobs.fio {columns} --group_reporting"),
    );
    assert_eq!((rows(&grouped, "seq "), rows(&grouped, "rand ")), (0, 0));
    assert!(rows(&grouped, "seq+rand ") >= 1, "{grouped}");
    // Files have the same rows.
    let chosen = "--section seq --section rand --meter none";
    let csv = stdout(
        room.path(),
        &format!("bench jobs.fio {chosen} --output-format csv"),
    );
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let at = |name: &str| header.iter().position(|one| one == name).expect(name);
    let rows: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (&row[at("section")], &row[at("ios")]))
        .collect();
    assert_eq!(found, [("seq", "16"), ("rand", "256"), ("seq+rand", "272")]);
    let terse = stdout(
        room.path(),
        &format!("bench jobs.fio {chosen} --output-format terse"),
    );
    let fields = terse
        .lines()
        .map(|line| line.split(';').collect::<Vec<_>>());
    let names: Vec<_> = fields.map(|fields| (fields[2], fields[3])).collect();
    assert_eq!(names, [("seq", "0"), ("rand", "0"), ("seq+rand", "0")]);
}

#[test]
fn each_reporting_group_is_a_row() {
    let section = |name: &str, more: &str| format!("[{name}]\nnumber_ios=20\n{more}");
    let jobs = [
        section("a", "rw=read\n"),
        section("b", "rw=randread\nnumjobs=2\n"),
        section("c", "new_group\nrw=randread\nbs=8k\n"),
        section("d", "rw=randread\nbs=8k\n"),
        section("e", "new_group\nrw=read\n"),
    ];
    let global = "[global]\nfilename=disk.img\nsize=1m\ngroup_reporting\n";
    let room = room(&(global.to_owned() + &jobs.concat()));
    let csv = stdout(
        room.path(),
        "bench jobs.fio --meter none --output-format csv",
    );
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let at = |name: &str| header.iter().position(|one| one == name).expect(name);
    let (section, ios) = (at("section"), at("ios"));
    let rows = reader.records().map(|row| row.expect("a row"));
    let rows: Vec<_> = rows
        .map(|row| (row[section].to_owned(), row[ios].to_owned()))
        .collect();
    let expected = [
        ("a+b", "60"),
        ("c+d", "40"),
        ("e", "20"),
        ("a and 4 more", "120"),
    ];
    let expected = expected.map(|(name, ios)| (name.to_owned(), ios.to_owned()));
    assert_eq!(rows, expected);
    let run = &runs(&room, "")[0];
    assert_eq!(sections(run).len(), 5);
    let groups = run["reporting_groups"].as_array().expect("groups");
    // Values that the sections of a group have in common are the group's.
    assert_eq!(groups[0]["bs"], 4096);
    assert_eq!(groups[0]["rw"], Value::Null);
    assert_eq!(groups[1]["point"]["bs"], "8k");
    // fio reports the groups in the same way.
    let fio = std::process::Command::new("fio")
        .args(["--output-format=json", "--direct=0", "jobs.fio"])
        .current_dir(&room)
        .output();
    let Ok(fio) = fio else {
        return;
    };
    let theirs: Value = serde_json::from_slice(&fio.stdout).expect("JSON");
    let theirs = theirs["jobs"].as_array().expect("jobs").iter();
    let theirs: Vec<_> = theirs
        .map(|job| job["read"]["total_ios"].as_u64().expect("a count"))
        .collect();
    assert_eq!(theirs, [60, 40, 20]);
}

#[test]
fn processes_run_beside_threads() {
    let room = room(
        "[global]
filename=disk.img
number_ios=30
[threads]
thread
[processes]
thread=0
numjobs=2
",
    );
    let run = &runs(&room, "")[0];
    assert_eq!(sections(run), [("threads", 30), ("processes", 60)]);
    assert_eq!(run["job_kind"], Value::Null);
    assert_eq!(run["sections"][1]["job_kind"], "process");
    assert_eq!(run["per_job"].as_array().map(Vec::len), Some(3));
}

/// Returns two sections that write and verify; the second begins at `offset`.
fn verifying(offset: &str) -> String {
    format!(
        "[global]
filename=disk.img
size=1m
verify=crc32c
rw=randwrite
[a]
[b]
offset={offset}
"
    )
}

#[test]
fn what_one_verifies_no_other_overwrites() {
    let room = room(&verifying("1m"));
    let run = &runs(&room, "--allow-write")[0];
    assert_eq!(sections(run), [("a", 256), ("b", 256)]);
    for one in [&run["sections"][0], &run["sections"][1], run] {
        assert_eq!(one["verify"]["errors"], 0, "{one}");
        assert!(one["verify"]["blocks"].as_u64() > Some(0), "{one}");
    }
    let before = fs::read(room.path().join("disk.img")).expect("a file");
    fs::write(room.path().join("jobs.fio"), verifying("512k")).expect("written");
    let said = refused(room.path(), "bench jobs.fio --allow-write --meter none");
    assert!(said.contains("[a] verifies what [b] overwrites"), "{said}");
    let after = fs::read(room.path().join("disk.img")).expect("a file");
    assert!(before == after, "something was written");
}

#[test]
fn what_cannot_run_beside_others_is_one_line_and_nothing_runs() {
    let untouched = |path: &Path| fs::read(path).expect("a file") == vec![7; 2 * MIB];
    let cases = [
        ("[a]\n[b]\nrw=write\n", "", "--allow-write"),
        ("[a]\n[b]\n", "--twin", "--section NAME, or write stonewall"),
        ("[a]\nioscheduler=none\n[b]\n", "", "[b] has other settings"),
        (
            "[a]\nioengine=psync\nfixedbufs\n[b]\nioengine=io_uring\n",
            "",
            "--fixedbufs",
        ),
        ("[a]\n[b]\niodepth=2\nbs=512k\nsize=256k\n", "", "jobs.fio:"),
        (
            "[a]\n[b]\nstonewall\n",
            "--plot x.svg",
            "choose by --section NAME",
        ),
        // Otherwise the first section would already have run.
        ("[a]\n[b]\nstonewall\nrw=write\n", "", "--allow-write"),
        ("[a]\nexitall\n[b]\nthread=0\n", "", "--exitall"),
        (
            "[a]\nstartdelay=1\n",
            "--twin --device optane-900p --engine nvme",
            "--startdelay",
        ),
        (
            "[a]\nexitall\nnumjobs=2\n",
            "--twin --device optane-900p --engine nvme",
            "--exitall",
        ),
    ];
    for (sections, flags, why) in cases {
        let room = room(&format!("[global]\nfilename=disk.img\nsize=1m\n{sections}"));
        let said = refused(room.path(), &format!("bench jobs.fio {flags}"));
        assert!(said.contains(why), "{sections}: {said}");
        assert!(untouched(&room.path().join("disk.img")), "{sections}");
    }
}

#[test]
fn a_state_file_has_a_run_whole_with_its_sections() {
    let room = room(TWO);
    let first = runs(&room, "--state state");
    let kept = fs::read_to_string(room.path().join("state")).expect("a state file");
    assert_eq!(kept.lines().count(), 2, "{kept}");
    // No run is repeated.
    assert_eq!(runs(&room, "--state state"), first);
    let kept_again = fs::read_to_string(room.path().join("state")).expect("a state file");
    assert_eq!(kept, kept_again);
    // With other sections it is another bench.
    let other = TWO.replace("bs=64k", "bs=32k");
    fs::write(room.path().join("jobs.fio"), other).expect("written");
    let mut command = joulio("bench jobs.fio --meter none --state state");
    let output = command.current_dir(&room).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_document_has_all_groups_in_their_order() {
    let room = room(&format!(
        "{TWO}[then]\nstonewall\nrw=read\nbs=32k\n[last]\nstonewall\n"
    ));
    let runs = runs(&room, "");
    let places = runs.iter().map(|run| {
        let name = run["point"]["section"].as_str().expect("a name");
        (name, run["order"].as_u64(), ios(run))
    });
    let wanted = [
        ("seq+rand", Some(1), 272),
        ("then", Some(2), 32),
        ("last", Some(3), 256),
    ];
    assert!(places.eq(wanted), "{runs:?}");
    assert_eq!(runs[1].get("sections"), None);
    let lines = stdout(
        room.path(),
        "bench jobs.fio --meter none --output-format terse",
    );
    let fields = lines
        .lines()
        .map(|line| line.split(';').collect::<Vec<_>>());
    let groups: Vec<_> = fields
        .map(|fields| format!("{} {}", fields[2], fields[3]))
        .collect();
    assert_eq!(
        groups,
        ["seq 0", "rand 0", "seq+rand 0", "then 1", "last 2"]
    );
}

#[test]
fn a_run_that_is_ended_has_what_its_sections_did() {
    let room = room(
        "[global]\nfilename=disk.img\ntime_based\nruntime=3600\n[a]\n[b]\nioengine=libaio\n[c]\nstonewall\n",
    );
    let line = "bench jobs.fio --meter none --output json --status-interval 100ms";
    let mut child = program()
        .args(line.split_whitespace())
        .current_dir(&room)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it begins");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let running = said.find(|line| line.as_ref().is_ok_and(|line| line.contains("I/Os:")));
    let running = running.expect("a line").expect("text");
    assert!(running.contains("a+b: "), "{running}");
    interrupt(&child);
    // The command writes until it is read to the end.
    let rest: Vec<_> = said.map_while(Result::ok).collect();
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = report["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["interrupted"], true);
    let names: Vec<_> = sections(&runs[0]).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(ios(&runs[0]) > 0, "{report}");
    assert!(
        rest.iter().any(|line| line.contains("cut short")),
        "{rest:?}"
    );
}

#[test]
fn fio_counts_the_same_of_each_section() {
    if std::process::Command::new("fio")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("no fio: apt install fio");
        return;
    }
    let room = room(
        "[global]
filename=disk.img
direct=1
size=1m ; of two
[seq]
rw=read
bs=64k
loops=3
[rand]
rw=randread
norandommap
io_size=2m
ioengine=libaio
iodepth=4
[two]
new_group
rw=randread
numjobs=2
number_ios=7
[then]
stonewall
rw=read
blocksize=8k
filesize=512k
[last]
wait_for=then
rw=randread
bsrange=16k-16k
",
    );
    let mut fio = std::process::Command::new("fio");
    fio.args(["--output-format=json", "jobs.fio"])
        .current_dir(&room);
    let output = fio.output().expect("it runs");
    let theirs: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for job in theirs["jobs"].as_array().expect("jobs") {
        let name = job["jobname"].as_str().expect("a name").to_owned();
        *counts.entry(name).or_default() += job["read"]["total_ios"].as_u64().expect("a count");
    }
    let mut own = BTreeMap::new();
    for run in runs(&room, "") {
        match run.get("sections") {
            Some(_) => own.extend(
                sections(&run)
                    .iter()
                    .map(|(name, ios)| (name.to_string(), *ios)),
            ),
            None => {
                let name = run["point"]["section"].as_str().expect("a name");
                own.insert(name.to_owned(), ios(&run));
            }
        }
    }
    assert_eq!(own, counts);
}

#[test]
fn the_files_that_fio_makes_are_found() {
    let jobs = "[global]\nsize=64k\ndirectory=made\n[a]\n[b]\nnumjobs=2\n";
    let room = room(jobs);
    let said = refused(room.path(), "bench jobs.fio --meter none");
    assert!(said.contains("made/a.0.0 is not there"), "{said}");
    fs::create_dir(room.path().join("made")).expect("made");
    for name in ["a.0.0", "b.0.0", "b.1.0"] {
        fs::write(room.path().join("made").join(name), vec![7; 64 << 10]).expect("written");
    }
    let run = &runs(&room, "")[0];
    assert_eq!(sections(run), [("a", 16), ("b", 32)]);
    assert_eq!(run["devices"].as_array().map(Vec::len), Some(3));
}

#[test]
fn rings_of_each_section_have_their_own_options() {
    let room = room(
        "[global]
filename=disk.img
ioengine=io_uring
number_ios=20
[plain]
[fixed]
fixedbufs
registerfiles
[process]
thread=0
registerfiles
[other]
ioengine=psync
",
    );
    let run = &runs(&room, "")[0];
    let names = ["plain", "fixed", "process", "other"];
    assert_eq!(sections(run), names.map(|name| (name, 20)));
}
