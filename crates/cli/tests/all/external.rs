//! Runs of other programs: fio, SPDK's perf on a served device, and RocksDB's db_bench on a file system of its own.
//! Programs that are not installed are named and skipped; SPDK is replaced by a script that prints its table.

use crate::common::loop_device::Loop;
use crate::common::server::Server;
use crate::common::{joulio, json, lab_ran, refused};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

fn installed(program: &str) -> bool {
    let there = ["/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(program));
    let there = there.iter().any(|path| path.exists());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

#[test]
fn a_log_that_fio_writes_has_the_rate_at_which_it_went() {
    if !installed("fio") {
        return;
    }
    let room = TempDir::new().unwrap();
    let written = std::process::Command::new("fio")
        .current_dir(&room)
        .args([
            "--name=a",
            "--filename=disk.img",
            "--size=1m",
            "--rw=randread",
        ])
        .args(["--rate_iops=200", "--number_ios=40", "--write_iolog=log"])
        .output()
        .unwrap();
    assert!(written.status.success(), "{written:?}");
    let log = room.path().join("log");
    let line =
        "advise --twin --machine xeon-6230 --device emulated:samsung-980-pro --number_ios 500";
    let advice = json(&format!(
        "{line} --ramp_time 10ms --read_iolog {} -o json",
        log.display()
    ));
    let observed = &advice["observed"];
    assert_eq!(observed["ios"], 40);
    // On a busy machine fio may not have reached its 200 I/Os per second, but it is not off by a factor of fifty.
    let rate = observed["rate"].as_u64().unwrap();
    assert!((4..=2_000).contains(&rate), "{observed}");
}

#[test]
fn fio_does_the_run_that_joulio_does() {
    if !installed("fio") {
        return;
    }
    let room = TempDir::new().unwrap();
    let disk = room.path().join("a:disk.img");
    fs::write(&disk, vec![7_u8; 1 << 20]).unwrap();
    let line = format!(
        "bench --device {} --engine fio,fio_posixaio,io_uring --completion interrupt --rw randrw --allow-write --bs 8k --iodepth 4 --numjobs 2 --number_ios 500 --meter none --output json",
        disk.display()
    );
    let report = json(&line);
    let runs = report["runs"].as_array().unwrap();
    let engines: Vec<_> = runs
        .iter()
        .map(|run| run["engine"].as_str().unwrap())
        .collect();
    assert_eq!(engines, ["fio", "fio_posixaio", "io_uring"]);
    for run in runs {
        assert_eq!(run["completion"]["effective"], "interrupt");
        assert_eq!(
            (&run["all"]["ios"], &run["all"]["errors"]),
            (&1000.into(), &0.into())
        );
        let [read, write] = ["read", "write"].map(|side| run[side]["ios"].as_u64().unwrap());
        assert!(read > 0 && write > 0 && read + write == 1000, "{run}");
        assert!(run["all"]["latency_ns"]["p99"].as_u64().unwrap() > 0);
    }
}

#[test]
fn what_another_program_does_not_do_is_one_line() {
    let room = TempDir::new().unwrap();
    fs::write(room.path().join("disk.img"), vec![0_u8; 1 << 20]).unwrap();
    let fio = installed("fio");
    for (line, hint) in [
        ("--device ./disk.img --engine spdk_nvme_perf", "joulio bind"),
        (
            "--device pcie:0000:00:1f.7 --engine spdk_nvme_perf --number_ios 5",
            "give --runtime",
        ),
        (
            "--device vfio-user:./s --engine spdk_nvme_perf --runtime 1",
            "serve the device as ./cntrl",
        ),
        (
            "--device vfio-user:./cntrl --engine spdk_nvme_perf --runtime 1 --size 1m",
            "leave --size out",
        ),
        (
            "--device emulated:instant --engine spdk_nvme_perf --runtime 1",
            "which joulio serve offers",
        ),
        (
            "--device emulated:instant --engine fio",
            "block device or a file",
        ),
        ("--twin --engine fio", "not modelled for fio"),
        (
            "--device ./disk.img --engine fio_posixaio --completion poll",
            "it has interrupt",
        ),
        (
            "--device ./disk.img --engine fio --rate_iops 5",
            "closed loop",
        ),
        (
            "--device ./disk.img --engine fio --completion hybrid",
            "no completion mode hybrid",
        ),
        (
            "--device ./disk.img --engine db_bench --iodepth 2",
            "--iodepth 1",
        ),
        (
            "--device ./disk.img --engine db_bench --rw randwrite --allow-write",
            "randread",
        ),
    ] {
        let said = refused(room.path(), &format!("bench {line}"));
        assert!(said.contains(hint), "{line}: {said}");
    }
    let mut command = joulio("bench --device ./disk.img --engine fio --number_ios 5");
    let command = command.current_dir(&room).env("PATH", "/nowhere");
    let assert = command.assert().code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        said.contains("fio is not on the PATH: apt install fio"),
        "{said}"
    );
    if fio {
        let said = refused(
            room.path(),
            "bench --device ./disk.img --engine fio --rw randwrite",
        );
        assert!(said.contains("--allow-write"), "{said}");
    }
}

/// Table of one run in the format of spdk_nvme_perf.
const SPDK: &str = r#"cat <<'END'
Initializing NVMe Controllers
Attached to NVMeoF Controller at VFIOUSER (.)
Associating VFIOUSER (.) NSID 1 with lcore 0
Initialization complete. Launching workers.
========================================================
                                                               Latency(us)
Device Information             :       IOPS      MiB/s    Average        min        max
VFIOUSER (.) NSID 1 from core  0:   12345.50      48.22     250.75       7.25   64125.50
========================================================
Total                          :   12345.50      48.22     250.75       7.25   64125.50

Summary latency data for VFIOUSER (.) NSID 1                         from core 0:
=================================================================================
 50.00000% :     8.566us
 90.00000% :     9.206us
 99.00000% :    55.532us
 99.90000% : 47992.517us
 99.99000% : 63317.858us
END
"#;

/// Output of spdk_nvme_perf when it has lost its device.
const SPDK_LOST: &str = r#"cat >&2 <<'END'
[2026-01-02 03:04:05.678902] vfio_user.c: 363:vfio_user_dev_setup: *ERROR*: connect error
[2026-01-02 03:04:05.678903] nvme.c: 781:nvme_probe_internal: *ERROR*: NVMe ctrlr scan failed
spdk_nvme_probe() failed for transport address '.'
spdk_nvme_perf: errors occurred
END
exit 255
"#;

/// Returns a command for which `spdk_nvme_perf` is a script that writes its arguments to the file `words` and then
/// executes `script`.
fn with_spdk(room: &Path, script: &str, line: &str) -> assert_cmd::Command {
    let path = room.join("bin/spdk_nvme_perf");
    fs::create_dir_all(room.join("bin")).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > words\n{script}");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let mut command = joulio(line);
    let folders = format!("{}:/usr/bin:/bin", room.join("bin").display());
    command.current_dir(room).env("PATH", folders);
    command
}

#[test]
fn spdk_has_a_served_device_to_itself_and_its_table_is_the_report() {
    let room = TempDir::new().unwrap();
    let server = Server::start(room.path(), "cntrl", "16m", &[]);
    let line = "bench --device vfio-user:cntrl --engine spdk_nvme_perf,nvme --completion poll --iodepth 4 --runtime 1 --ramp_time 0 --meter none --output json";
    // The nvme run after it finds the device free.
    let assert = with_spdk(room.path(), SPDK, line).assert().success();
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let runs = report["runs"].as_array().unwrap();
    let engines: Vec<_> = runs.iter().map(|run| &run["engine"]).collect();
    assert_eq!(engines, ["spdk_nvme_perf", "nvme"]);
    let all = &runs[0]["all"];
    assert_eq!(
        (&all["ios"], &all["iops"]),
        (&12346.into(), &12345.5.into())
    );
    let latency = &all["latency_ns"];
    assert_eq!(latency["mean"], 250_750.0);
    let of = |name: &str| latency[name].as_u64().unwrap();
    assert_eq!(
        ["p50", "p90", "p99", "p999", "max"].map(of),
        [8_566, 9_206, 55_532, 47_992_517, 64_125_500]
    );
    assert!(runs[1]["all"]["ios"].as_u64().unwrap() > 0);
    let words = fs::read_to_string(room.path().join("words")).unwrap();
    assert!(words.lines().any(|word| word == "--no-huge"), "{words}");
    let id = words.lines().find(|word| word.starts_with("-r")).unwrap();
    assert!(id.starts_with("-rtrtype:VFIOUSER traddr:. subnqn:") && id.ends_with(" ns:1"));

    let line = "bench --device vfio-user:cntrl --engine spdk_nvme_perf --runtime 1 --meter none";
    let assert = with_spdk(room.path(), SPDK_LOST, line).assert().failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert_eq!(
        said,
        "joulio: spdk_nvme_perf: exit status: 255: connect error; spdk_nvme_probe() failed for transport address '.'\n"
    );

    // A job that writes is refused before anything is started.
    fs::remove_file(room.path().join("words")).unwrap();
    let line = format!("{line} --rw randwrite");
    let assert = with_spdk(room.path(), SPDK, &line).assert().code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("--allow-write"), "{said}");
    assert!(!room.path().join("words").exists());
    server.kill();
}

/// Output of db_bench for `readrandom`, and of its RocksDB library at the end.
const DB_BENCH: &str = r#"#!/bin/sh
printf '%s\n' "$LD_PRELOAD" "$@" >>words
echo 'readrandom   :      51.621 micros/op 38041 ops/sec 1.051 seconds 40000 operations;  149.2 MB/s (20000 of 20000 found)'
echo 'Count: 40000 Average: 51.6285  StdDev: 72.43'
echo 'Min: 1  Median: 46.0619  Max: 4097'
echo '(      22,      34 ]    40000  100.000%  100.000% ####'
echo "joulio: a device, poll: 20 reads (0.1 MiB, p99 2.0 us), 0 writes (0.0 MiB), 0 syncs; an operation: 1.00 polls, 0.00 interrupts, 0.00 blocks; device by nvme:emulated:instant,size=256M, modelled: 21.02 J in 2.102 s, 1.05e+06 J per million operations" >&2
"#;

#[test]
fn db_bench_has_joulios_file_system_by_its_library_and_its_joules() {
    let room = TempDir::new().unwrap();
    let path = |name: &str| room.path().join(name);
    fs::write(path("db_bench"), DB_BENCH).unwrap();
    fs::set_permissions(path("db_bench"), Permissions::from_mode(0o755)).unwrap();
    let run = |line: &str, libraries: &str| {
        let mut command = joulio(&format!("bench --engine db_bench_joulio {line}"));
        let folders = format!("{}:/usr/bin:/bin", room.path().display());
        command.current_dir(&room).env("PATH", folders);
        command.env("LD_LIBRARY_PATH", path(libraries));
        command
    };
    let refused = |line: &str, libraries: &str, hint: &str| {
        let assert = run(line, libraries).assert().code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(said.contains(hint) && said.lines().count() == 1, "{said}");
        assert!(!path("words").exists(), "{line}");
    };
    let on = "--device emulated:instant,size=256M";
    if !Path::new("/usr/local/lib/libjoulio-rocksdb.so").exists() {
        refused(
            on,
            "none",
            "libjoulio-rocksdb.so is not found: neighbours/rocksdb/build",
        );
    }
    fs::create_dir(path("lib")).unwrap();
    fs::write(path("lib/libjoulio-rocksdb.so"), "").unwrap();
    refused("--device ./db_bench", "lib", "joulio bind");
    refused(&format!("{on} --iodepth 2"), "lib", "--iodepth 1");
    refused(&format!("{on} --completion sqpoll"), "lib", "sqpoll");
    fs::write(path("disk.img"), vec![7; 4096]).unwrap();
    let file = "--device emulated:instant,size=256M,file=disk.img";
    refused(file, "lib", "say --allow-write if that is meant");

    let line = format!("{on} --completion poll --numjobs 2 --size 8M --runtime 1 --output json");
    let assert = run(&line, "lib").assert().success();
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let run = &report["runs"][0];
    assert_eq!(
        (&run["all"]["ios"], &run["all"]["iops"]),
        (&40_000.into(), &38_041.0.into())
    );
    assert_eq!(run["settings"]["file-system"], "joulio");
    let energy = run["energy"].as_array().unwrap();
    let of_device = energy
        .iter()
        .find(|one| one["boundary"] == "device")
        .unwrap();
    assert_eq!(
        (&of_device["modelled"], &of_device["joules"]),
        (&true.into(), &21.02.into())
    );
    assert_eq!(of_device["source"], "nvme:emulated:instant,size=256M");
    // The database is created once, without meters, and read in the requested mode. Its device is a temporary file,
    // which is deleted by now.
    let words = fs::read_to_string(path("words")).unwrap();
    let uris: Vec<_> = words
        .lines()
        .filter(|word| word.starts_with("--fs_uri="))
        .collect();
    let [fill, read] = uris.as_slice() else {
        panic!("{words}");
    };
    let (device, keys) = fill.split_once('?').unwrap();
    assert_eq!(keys, "allow_write=1&format=overwrite&meter=none");
    let expected = format!("{device}?allow_write=1&completion=poll&queues=2&meter=all");
    assert_eq!(*read, expected);
    let (device, file) = device.split_once(",file=").unwrap();
    assert_eq!(device, "--fs_uri=joulio://emulated:instant,size=256M");
    assert!(!Path::new(file).exists(), "{file}");
    assert_eq!(
        words.lines().next(),
        path("lib/libjoulio-rocksdb.so").to_str()
    );
    assert!(
        words.lines().any(|word| word == "--benchmarks=fillseq"),
        "{words}"
    );
}

const ROCKS: &str = r#"
name = "rocks"
title = "db_bench alone"
[run]
replicates = 2
number_ios = 300
[[sweep]]
name = "rocksdb"
rw = "randread"
bs = "4k"
iodepth = 1
numjobs = [1, 3]
scheduler = SCHEDULERS
size = 8M
engine = "db_bench"
completion = "interrupt"
[[figure]]
id = "F5"
title = "Keys"
kind = "lines"
sweep = "rocksdb"
x = "numjobs"
y = ["iops", "p99_us"]
series = "scheduler"
"#;

#[test]
fn db_bench_reads_a_database_of_its_own_under_each_scheduler() {
    if !installed("db_bench") {
        return;
    }
    let Some(disk) = Loop::with(600 << 20, &[]) else {
        return;
    };
    let (before, image) = (disk.scheduler(), disk.room.path().join("disk.img"));
    let mut offered = disk.offered();
    offered.truncate(2);
    let text = ROCKS
        .replace("SCHEDULERS", &format!("{offered:?}"))
        .replace("size = 8M\n", "run = { size = \"8M\" }\n");
    fs::write(disk.room.path().join("rocks.toml"), text).unwrap();
    let line = format!(
        "lab run rocks.toml --device {} --meter none --results out",
        disk.device
    );
    // Nothing is written without --allow-write.
    let begin = fs::read(&image).unwrap()[..8 << 20].to_vec();
    let assert = disk.command(&line).current_dir(&disk.room).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        said.contains("say --allow-write if that is meant"),
        "{said}"
    );
    assert!(fs::read(&image).unwrap()[..8 << 20] == begin);

    let line = format!("{line}2 --allow-write");
    lab_ran(disk.command(&line).current_dir(&disk.room));
    assert_eq!(disk.scheduler(), before);
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(&disk.device), "{mounts}");
    let text = fs::read_to_string(disk.room.path().join("out2/records.jsonl")).unwrap();
    let records = text.lines().skip(1).map(serde_json::from_str::<Value>);
    let records: Vec<Value> = records.collect::<Result<_, _>>().unwrap();
    assert_eq!(records.len(), 4 * offered.len());
    for record in &records {
        let (point, result) = (&record["point"], &record["result"]);
        let threads: u64 = point["numjobs"].as_str().unwrap().parse().unwrap();
        assert_eq!(result["all"]["ios"], 300 * threads, "{record}");
        assert_eq!(result["settings"]["scheduler"], point["scheduler"]);
        assert!(result["settings"]["file-system"].is_string());
        // The keys came from the device: its reads were counted.
        let read = result["machine"]["disks"]["read_bytes"].as_u64().unwrap();
        assert!(read > 100 * 4096, "{record}");
        assert!(result["all"]["latency_ns"]["p99"].as_u64().unwrap() > 0);
    }
}
