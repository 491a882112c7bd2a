//! Requests that are not possible are refused in one line with a remedy, and nothing is changed.

use crate::common::{program, refused, refused_with};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use tempfile::{TempDir, tempdir};

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

/// Asserts that `joulio bench` with `flags` is refused, with a message that contains all of `hints`.
#[track_caller]
fn bench(flags: &str, hints: &[&str]) {
    refused_with(&format!("bench {flags}"), hints);
}

#[test]
fn an_unknown_machine_is_answered_with_the_known_ones() {
    bench("--machine nope", &["nope", "xeon-e3-1230v5", ".toml"]);
}

#[test]
fn an_unknown_flag_is_no_value_of_anything() {
    let folder = room();
    let said = refused(folder.path(), "stat -q 1 1");
    assert_eq!(
        said,
        "joulio: unexpected argument '-q' found (see --help)\n"
    );
    let said = refused(folder.path(), "stat --foo");
    assert_eq!(
        said,
        "joulio: unexpected argument '--foo' found (see --help)\n"
    );
    let said = refused(folder.path(), "bench --iodept 4");
    let tip = "joulio: unexpected argument '--iodept' found; a similar argument exists: '--iodepth' (see --help)\n";
    assert_eq!(said, tip);
}

#[test]
fn a_block_size_that_the_device_cannot_do_is_refused() {
    bench("--bs 1000", &["--bs", "multiple", "512"]);
    bench(
        "--device emulated:instant,lba=4096 --bs 512",
        &["--bs", "4096"],
    );
    bench("--bs 0", &["--bs", "above zero"]);
    bench("--blockalign 0", &["--blockalign", "above zero"]);
    bench(
        "--rw randrw --random_distribution zoned_abs:50/64k:50/64k --numjobs 2 --verify crc32c",
        &["--verify", "--numjobs 1"],
    );
    bench("--blockalign 1000", &["--blockalign", "multiple", "512"]);
    bench(
        "--blockalign 4k --verify crc32c",
        &["--verify", "leave --blockalign out"],
    );
    bench("--bs 2G", &["--bs", "at most 1073741824"]);
    bench("--bs 18446744073709551615", &["--bs"]);
    bench("--bs 18446744073709551616", &["--bs", "4k"]);
    bench("--bs=-4k", &["--bs", "4k"]);
}

#[test]
fn an_area_that_is_not_there_is_refused() {
    bench(
        "--device emulated:instant,size=1M --size 2M",
        &["--size", "has 1048576 bytes"],
    );
    bench("--size 1k", &["--size", "4096"]);
}

#[test]
fn a_depth_that_no_queue_has_is_refused() {
    bench("--iodepth 0", &["--iodepth", "at least 1"]);
    bench("--iodepth 99999", &["--iodepth", "at most 4095"]);
    bench("--iodepth 18446744073709551615", &["--iodepth", "at most"]);
    bench("--iodepth=-1", &["--iodepth", "whole number"]);
}

#[test]
fn each_job_needs_a_queue_pair() {
    bench("--numjobs 0", &["--numjobs", "at least 1"]);
    bench("--numjobs 32", &["--numjobs", "32", "has 31"]);
    bench("--numjobs 257", &["--numjobs", "at most 256"]);
}

#[test]
fn a_run_has_to_have_a_length() {
    bench("--runtime 0", &["--runtime", "above zero"]);
    bench("--number_ios 0", &["--number_ios", "above zero"]);
    bench("--runtime 1d", &["--runtime", "write a number with ns"]);
}

#[test]
fn an_open_loop_has_one_rate_above_zero() {
    bench("--rate_iops 0", &["--rate_iops", "above zero"]);
    bench("--bursts 0:5", &["--bursts", "above zero"]);
    bench("--bursts 5:0", &["--bursts", "above zero"]);
    bench("--bursts 5", &["--bursts", "16:1ms"]);
    bench(
        "--bursts 5:1ms --thinktime 10",
        &["--bursts", "--thinktime", "cannot be used with"],
    );
    bench("--rate_iops 2G", &["--rate_iops"]);
    bench(
        "--rate_iops 10 --thinktime 10",
        &["--rate_iops", "--thinktime", "cannot be used with"],
    );
    bench("--rate_process poisson", &["--rate_iops"]);
    bench(
        "--rate_iops 2G --rate_process poisson",
        &["--rate_iops", "one I/O a nanosecond"],
    );
    bench("--thinktime_blocks 2", &["--thinktime"]);
    for more in ["--rate_iops 10", "--thinktime 10"] {
        bench(
            &format!("--phases 10:1s {more}"),
            &["--phases", "cannot be used with"],
        );
    }
    for wrong in ["20k", "20k:5s,", "0:5s", "20k:0", "20k:5s:1s", "fast:5s"] {
        bench(&format!("--phases {wrong}"), &["--phases", "'"]);
    }
    bench("--phases 2G:1s", &["--phases", "0 ns apart"]);
    bench("--phases 10:1s --verify crc32c", &["--phases", "--verify"]);
    bench(
        "--phases 10:1s --numjobs 2 --bs 4k:8k",
        &["--phases", "one --bs"],
    );
    bench(
        "--thinktime 10 --thinktime_blocks 0",
        &["--thinktime_blocks", "above zero"],
    );
}

#[test]
fn drawn_sizes_are_percents_of_100_and_are_not_verified() {
    bench("--bssplit 4k/60:8k/30", &["--bs", "100 together"]);
    bench("--bsrange 4k-6k", &["--bs", "multiple of the smaller"]);
    bench("--bs 4k-8k --verify crc32c", &["--verify", "one --bs"]);
    bench("--bs 4k-8k --phases 10:1s", &["--phases", "one --bs"]);
}

#[test]
fn a_mistyped_flag_is_answered_with_the_one_meant() {
    bench("--iodpeth 4", &["--iodpeth", "--iodepth"]);
    bench("--number_io 4", &["--number_io", "--number_ios"]);
}

#[test]
fn an_unknown_word_is_answered_with_the_known_ones() {
    bench("--completion fast", &["fast", "poll", "interrupt"]);
    bench("--completion poll,", &["poll", "interrupt"]);
    bench("--rw scribble", &["scribble", "randread", "randrw"]);
    bench("--verify md5", &["md5", "crc32c"]);
    bench("--output xml", &["xml", "normal", "json"]);
}

#[test]
fn a_mix_is_a_percentage() {
    bench("--rwmixread 101", &["--rwmixread", "0 to 100"]);
    bench("--rwmixread 256", &["--rwmixread"]);
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    bench("--cpus_allowed 9999", &["--cpus_allowed", "9999"]);
    bench("--cpus_allowed 1-0", &["--cpus_allowed", "0,2-4"]);
}

#[test]
fn a_profile_with_an_error_is_refused_by_the_field() {
    let room = room();
    let good = include_str!("../../../../profiles/devices/instant.toml");
    let at = good
        .find("capacity_bytes")
        .expect("a profile has a capacity");
    let end = at + good[at..].find('\n').expect("a line ends");
    let bad = format!(
        "{}capacity_bytes = {{ value = -1, kind = \"guess\", source = \"none\" }}{}",
        &good[..at],
        &good[end..]
    );
    fs::write(room.path().join("bad.toml"), bad).expect("write");
    let said = refused(room.path(), "bench --device emulated:bad.toml");
    assert!(
        said.contains("bad.toml") && said.contains("capacity_bytes"),
        "{said}"
    );
    fs::write(room.path().join("worse.toml"), "name = [").expect("write");
    let said = refused(room.path(), "bench --device emulated:worse.toml");
    assert!(said.contains("worse.toml:1"), "{said}");
}

#[test]
fn a_name_that_is_not_utf_8_is_shown() {
    let output = program()
        .arg("bench")
        .arg("--device")
        .arg(OsStr::from_bytes(b"./bad\xff.img"))
        .output()
        .expect("the command runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(
        said,
        "joulio: './bad\u{fffd}.img' is not UTF-8: rename it (see --help)\n"
    );
}
