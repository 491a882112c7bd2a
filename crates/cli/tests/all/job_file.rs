//! `joulio bench JOBFILE`: fio's sections as benches.

use crate::common::{joulio, refused, stdout};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const JOBS: &str = "[global]
filename=disk.img
direct=1
size=1m

[seq]
rw=read
bs=64k

[rand]
stonewall
rw=randread
bs=4k
iodepth=8
ioengine=io_uring
norandommap
";

/// Returns a folder with a job file and the file that it reads.
fn room() -> TempDir {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(room.path().join("jobs.fio"), JOBS).unwrap();
    fs::write(room.path().join("disk.img"), vec![7; 1 << 20]).unwrap();
    room
}

#[test]
fn each_section_is_a_bench_of_as_many_ios_as_its_size_has_blocks() {
    let room = room();
    let text = stdout(room.path(), "bench jobs.fio --meter none");
    let seq = text.find("[seq]\nread, bs 64k, iodepth 1").expect(&text);
    let rand = text
        .find("[rand]\nrandread, bs 4k, iodepth 8")
        .expect(&text);
    assert!(seq < rand && text.contains("16 I/Os a job") && text.contains("256 I/Os a job"));
    for (section, ios, engine) in [("seq", 16, "psync"), ("rand", 256, "io_uring")] {
        let line = format!("bench jobs.fio --section {section} --meter none --output json");
        let report: Value = serde_json::from_str(&stdout(room.path(), &line)).unwrap();
        let run = &report["runs"][0];
        assert_eq!(
            (&run["all"]["ios"], &run["all"]["errors"]),
            (&ios.into(), &0.into())
        );
        assert_eq!(run["engine"], engine);
    }
}

#[test]
fn a_section_without_a_size_goes_through_its_file_once_from_the_offset_on() {
    let room = room();
    for (offset, ios) in [("0", 256), ("960k", 16), ("50%", 128)] {
        let text =
            format!("[rest]\nfilename=disk.img\ndirect=1\nrw=read\nbs=4k\noffset={offset}\n");
        fs::write(room.path().join("rest.fio"), text).unwrap();
        let line = "bench rest.fio --meter none --output json";
        let report: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
        assert_eq!(report["runs"][0]["all"]["ios"], ios, "offset={offset}");
    }
}

#[test]
fn names_on_the_command_line_begin_sections() {
    let room = room();
    let line = "bench --filename=disk.img --size=1m --meter none --name=seq --rw=read --bs=64k --name rand \
                --stonewall --rw randread --ioengine io_uring --iodepth=8 --norandommap --output json";
    let report: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
    let runs = report["runs"].as_array().unwrap();
    let seen = runs.iter().map(|run| {
        let fields = [&run["point"]["section"], &run["engine"], &run["rw"]];
        let fields = fields.map(|field| field.as_str().unwrap());
        (fields, run["all"]["ios"].as_u64().unwrap())
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (["seq", "psync", "read"], 16),
            (["rand", "io_uring", "randread"], 256)
        ]
    );
}

#[test]
fn words_of_fios_stand_beside_flags() {
    let room = room();
    let line = "bench --filename disk.img --ioengine=psync --direct=1 --norandommap --number_ios 20 --meter none \
                --completion interrupt --output json";
    let report: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
    let run = &report["runs"][0];
    assert_eq!(
        (&run["engine"], &run["all"]["ios"]),
        (&"psync".into(), &20.into())
    );
    for (line, why) in [
        (
            "bench --filename disk.img --buffered=1",
            "--buffered=1: every I/O is direct",
        ),
        (
            "bench --filename disk.img --ioengine null",
            "--ioengine=null: engines are",
        ),
        ("bench jobs.fio --name a", "--name beside a job file"),
        ("bench --name=global --bs=4k", "begin one by --name"),
    ] {
        let said = refused(room.path(), line);
        assert!(said.contains(why), "{line}: {said}");
    }
}

#[test]
fn a_job_file_may_be_called_as_a_flag_s_value_is() {
    let room = room();
    fs::rename(room.path().join("jobs.fio"), room.path().join("read")).unwrap();
    for line in [
        "bench read --rw read --section rand --meter none --output json",
        "bench --rw read --section rand read --meter none --output json",
    ] {
        let report: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
        let run = &report["runs"][0];
        assert_eq!(run["point"]["rw"], "read", "{line}");
        assert_eq!(run["all"]["ios"], 256, "{line}");
    }
}

#[test]
fn jobs_of_sections_one_after_the_other_have_each_their_log() {
    let room = room();
    let logged = JOBS.replace("direct=1", "numjobs=2\nwrite_lat_log=x\nwrite_bw_log=x");
    fs::write(room.path().join("logged.fio"), logged).unwrap();
    let lines = |kind: &str, job: u32| {
        let name = format!("x_{kind}.{job}.log");
        let text = fs::read_to_string(room.path().join(&name)).expect(&name);
        text.lines().count()
    };
    stdout(room.path(), "bench logged.fio --meter none");
    for kind in ["lat", "bw"] {
        assert_eq!([1, 2, 3, 4].map(|job| lines(kind, job)), [16, 16, 256, 256]);
    }
    // A section that runs alone has the first job.
    stdout(room.path(), "bench logged.fio --section rand --meter none");
    assert_eq!(lines("lat", 1), 256);
}

#[test]
fn flags_come_before_the_file_and_its_sections_go_by_name() {
    let room = room();
    let line =
        "bench jobs.fio --section rand --iodepth 2 --number_ios=9 --meter none --output json";
    let report: Value = serde_json::from_str(&stdout(room.path(), line)).unwrap();
    let run = &report["runs"][0];
    assert_eq!(
        (&run["iodepth"], &run["all"]["ios"]),
        (&2.into(), &9.into())
    );
}

#[test]
fn what_is_wrong_with_a_file_is_one_line_and_nothing_runs() {
    let room = room();
    let said = refused(room.path(), "bench jobs.fio --section nobody");
    assert!(said.contains("jobs.fio has seq, rand"), "{said}");
    let said = refused(room.path(), "bench jobs.fio --state kept");
    assert!(said.contains("--section NAME"), "{said}");
    let said = refused(room.path(), "bench none.fio");
    assert!(said.contains("takes a job file"), "{said}");
    // Nothing is written without --allow-write.
    fs::write(
        room.path().join("write.fio"),
        JOBS.replace("rw=read", "rw=write"),
    )
    .unwrap();
    let said = refused(room.path(), "bench write.fio");
    assert!(said.contains("--allow-write"), "{said}");
    assert_eq!(
        fs::read(room.path().join("disk.img")).unwrap(),
        vec![7; 1 << 20]
    );
    fs::write(
        room.path().join("bad.fio"),
        JOBS.replace("bs=4k", "bs=nothing"),
    )
    .unwrap();
    let output = joulio("bench bad.fio").current_dir(&room).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && output.stdout.is_empty(),
        "{said}"
    );
    assert!(said.starts_with("joulio: bad.fio:13: "), "{said}");
}
