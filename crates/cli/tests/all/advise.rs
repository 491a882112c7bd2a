//! Tests of `joulio advise`: the least energy that keeps a promise, and nothing that the runs do not show.

use crate::common::{joulio, json, refused, thorough};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const FLASH: &str = "advise --twin --machine xeon-6230 --device emulated:samsung-980-pro --number_ios 1k --ramp_time 20ms";

fn advice(line: &str) -> Value {
    json(&format!("{line} -o json"))
}

fn candidates(advice: &Value) -> &[Value] {
    advice["candidates"].as_array().expect("candidates")
}

fn number(value: &Value, pointer: &str) -> f64 {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.unwrap_or_else(|| panic!("{pointer} of {value:#}"))
}

fn text(line: &str) -> String {
    let assert = joulio(line).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

#[test]
fn the_best_takes_the_least_energy_of_all_that_keep_the_promise() {
    let advice = advice(FLASH);
    assert_eq!(advice["promise"]["from"]["polling"]["engine"], "nvme");
    assert_eq!(advice["yardstick"]["boundary"], "cores");
    assert_eq!(advice["yardstick"]["modelled"], true);
    let all = candidates(&advice);
    let best = &all[advice["best"].as_u64().expect("an index") as usize];
    let joules = |one: &Value| number(one, "/figures/joules_per_io/value");
    let limits = ["p99", "p99.9"].map(|name| number(&advice["promise"], &format!("/{name}")));
    let figures = all.iter().filter(|one| !one["figures"].is_null());
    let (mut kept, mut broken) = (0, 0);
    for one in figures {
        let of = |name: &str| number(&one["figures"]["percentiles_ns"], &format!("/{name}"));
        let keeps = of("p99") <= limits[0] && of("p99.9") <= limits[1];
        assert_eq!(one["keeps"], keeps, "{one:#}");
        if keeps {
            assert!(joules(best) <= joules(one) * 1.01, "{one:#}");
            kept += 1;
        } else {
            broken += 1;
        }
    }
    assert!(kept > 5 && broken > 5, "{kept} kept, {broken} broken");
    // A mode that the machine lacks has a reason and no figures.
    let gone = all.iter().filter(|one| one["figures"].is_null());
    assert!(gone.clone().count() > 0);
    for one in gone {
        assert!(
            one["reason"]
                .as_str()
                .is_some_and(|why| why.contains("xeon-6230"))
        );
    }
}

#[test]
fn another_boundary_and_another_promise_have_another_best() {
    // Compares fixed modes only: adaptive is the best with either objective.
    let best = |flags: &str| {
        let advice = advice(&format!("{FLASH} {flags}"));
        let mut modes = candidates(&advice)
            .iter()
            .filter_map(|one| one["completion"].as_str());
        let fixed = modes.find(|mode| *mode != "adaptive");
        fixed.expect("a mode").to_owned()
    };
    // At the wall, sleeping costs more: the whole machine draws power for longer.
    let (cores, wall) = (best("--objective cores"), best("--objective wall"));
    assert_ne!(cores, wall);
    // No mode that sleeps is as fast as this.
    let polled = advice(&format!("{FLASH} --latency-budget none"));
    let loose = candidates(&polled)[0]["completion"]
        .as_str()
        .expect("a mode");
    assert_eq!(polled["promise"]["from"], "nothing");
    assert_ne!(loose, "poll");
    assert!(
        text(&format!("{FLASH} --objective cores")).contains("at the wall the least energy is")
    );
}

#[test]
fn the_break_even_is_where_both_take_the_same() {
    let advice = advice(FLASH);
    let all = candidates(&advice);
    let rivals = advice["rivals"].as_array().expect("rivals");
    let (best, mut checked) = (&all[0], 0);
    for rival in rivals {
        let Some(even) = rival["break_even"].as_object() else {
            continue;
        };
        let other = &all[rival["index"].as_u64().expect("an index") as usize];
        let more = number(&even["watts"], "") - number(&even["spin_watts"], "");
        let at = |one: &Value| {
            let cpu = number(one, "/figures/cpu_us_per_io") * 1e-6;
            number(one, "/figures/joules_per_io/value") + more * cpu
        };
        assert!((at(best) / at(other) - 1.0).abs() < 1e-6, "{rival:#}");
        checked += 1;
    }
    assert!(checked > 0, "{rivals:#?}");
}

#[test]
fn a_cap_buys_the_most_iops_within_it() {
    let longer = FLASH.replace("1k", "2k");
    let line = format!("{longer} --iodepth 4 --objective wall --cap 112W");
    let advice = advice(&line);
    let all = candidates(&advice);
    let watts = |one: &Value| number(one, "/figures/watts/value");
    let iops = |one: &Value| number(one, "/figures/iops/value");
    let figures = || all.iter().filter(|one| !one["figures"].is_null());
    let best = &all[0];
    assert!(watts(best) <= 112.0);
    let allowed = figures().filter(|one| one["keeps"] == true && watts(one) <= 112.0);
    let most = allowed.map(iops).fold(0.0, f64::max);
    assert!(iops(best) >= 0.99 * most);
    let depths: Vec<_> = figures().map(|one| one["iodepth"].as_u64()).collect();
    for depth in [1, 2, 4] {
        assert!(depths.contains(&Some(depth)), "{depth}");
    }
}

#[test]
fn a_cap_may_be_one_of_the_drive_alone() {
    let line = format!(
        "{FLASH} --engine nvme --completion poll,interrupt --iodepth 16 --cap-boundary device"
    );
    let watts = |one: &Value| number(one, "/figures/watts/value");
    let depth = |one: &Value| one["iodepth"].as_u64();
    let free = advice(&format!("{line} --cap 1000W"));
    assert_eq!(free["yardstick"]["boundary"], "device");
    let all = candidates(&free);
    assert_eq!(depth(&all[0]), Some(16));
    let least = all.iter().map(watts).fold(f64::INFINITY, f64::min);
    let cap = (least + watts(&all[0])) / 2.0;
    let capped = advice(&format!("{line} --cap {cap}W"));
    let best = &candidates(&capped)[0];
    assert!(watts(best) <= cap && depth(best) < Some(16), "{best:#}");
}

#[test]
fn the_command_that_it_names_runs() {
    for flags in [
        "",
        "--iodepth 8 --rate_iops 20k --rate_process poisson --latency-budget none",
    ] {
        let advice = advice(&format!("{FLASH} {flags}"));
        let command = advice["command"].as_str().expect("a command");
        let words = command
            .strip_prefix("joulio ")
            .expect("a command of joulio's");
        let run = json(&format!("{words} --number_ios 1000 --output json"));
        assert_eq!(run["runs"].as_array().map(Vec::len), Some(1));
        let settings = &candidates(&advice)[0]["settings"];
        assert_eq!(run["runs"][0]["settings"], *settings, "{command}");
    }
}

#[test]
fn the_command_that_it_names_has_the_whole_workload() {
    let adaptive = format!("{FLASH} --replicates 2 --engine nvme --completion poll,adaptive");
    let goal = ["--objective=package", "--slo=p99=500us", "--seed=7"];
    for (flags, expected) in [
        ("--bursts 16:1ms --iodepth 16", &["--bursts=16:1ms"][..]),
        (
            "--phases 20k:5ms,max:10ms --rate_process poisson --iodepth 4",
            &["--phases=20000:5ms,max:10ms", "--rate_process=poisson"],
        ),
        (
            "--iodepth 4 --objective package --slo p99=500us --seed 7 --completion adaptive",
            &goal,
        ),
        (
            "--latency-budget 7% --completion adaptive",
            &["--latency-budget=7%"],
        ),
    ] {
        let line = match flags.contains("--completion") {
            true => format!("{FLASH} --replicates 2 --engine nvme {flags}"),
            false => format!("{adaptive} {flags}"),
        };
        let advice = advice(&line);
        let command = advice["command"].as_str().expect("a command");
        for word in expected {
            assert!(command.contains(word), "{word}: {command}");
        }
        let words = command.strip_prefix("joulio ").expect("joulio's");
        let run = json(&format!("{words} --number_ios 1000 --output json"));
        let open = flags.contains("bursts");
        let kind = &run["runs"][0]["loop"];
        assert_eq!(kind == "open", open, "{command}: {kind}");
    }
}

#[test]
fn a_log_of_fios_is_the_workload() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("log");
    fs::write(
        &path,
        "fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 16384\n1000 f write 65536 16384\n\
         2000 f read 16384 16384\n3000 f read 131072 16384\n4000 f close\n",
    )
    .expect("written");
    let line = format!("{FLASH} --read_iolog {}", path.display());
    let advice = advice(&line);
    let seen = &advice["observed"];
    assert_eq!(
        (&seen["bs"], &seen["read_percent"]),
        (&16384.into(), &75.into())
    );
    assert_eq!(seen["rate"], 1333);
    let command = advice["command"].as_str().expect("a command");
    for word in [
        "--rw=randrw",
        "--rwmixread=75",
        "--bs=16k",
        "--rate_iops=1333",
    ] {
        assert!(command.contains(word), "{command}");
    }
}

#[test]
fn observed_writes_are_run_as_reads_where_nothing_may_be_written() {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    };
    let log =
        b"fio version 2 iolog\nf add\nf open\nf write 65536 4096\nf read 8192 4096\nf close\n";
    let log = file("log", log);
    let data = vec![7; 1 << 20];
    let disk = file("disk.img", &data);
    let line = format!(
        "advise --read_iolog {} --device {} --engine psync --completion interrupt --number_ios 40 --ramp_time 10ms --replicates 2 --meter none",
        log.display(),
        disk.display()
    );
    let advice = advice(&line);
    assert_eq!(advice["writes_as_reads"], true);
    assert_eq!(advice["observed"]["read_percent"], 50);
    let command = advice["command"].as_str().expect("a command");
    assert!(command.contains("--rw=randread"), "{command}");
    assert_eq!(fs::read(&disk).expect("there"), data);
    let allowed = json(&format!("{line} --allow-write -o json"));
    assert_eq!(allowed["writes_as_reads"], false);
    let command = allowed["command"].as_str().expect("a command");
    assert!(command.contains("--rw=randrw"), "{command}");
    assert_ne!(fs::read(&disk).expect("there"), data);
    assert!(text(&line).contains("its writes were run as reads"));
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    for (flags, why) in [
        ("--slo p99=1us", "no candidate is that fast"),
        ("--rate_iops 900k", "keeps up with the arrivals"),
        (
            "--rate_iops 900k --latency-budget none",
            "keeps up with the arrivals",
        ),
        ("--slo p95=1ms", "p50, p90, p99 and p99.9"),
        ("--cap 5W --objective wall", "allow more"),
        ("--cap 0", "write watts above zero"),
        ("--cap 0.1W --cap-boundary device", "at the device"),
        ("--cap 6W --cap-boundary plug", "is not a boundary"),
        ("--cap 6W --cap-boundary dram", "--cap-boundary dram"),
        ("--cap-boundary device", "--cap"),
        ("--read_iolog /dev/null", "not a regular file"),
        ("--observe 1s", "name it by --disk"),
        ("--observe 1s --disk no-such-disk", "no-such-disk"),
        ("--observe 1s --disk x --bs 8k", "cannot be used"),
        ("--apply", "cannot be used"),
        ("--max-cstate C9", "not an idle state"),
        ("--engine libaio --completion poll", "no engine has any"),
    ] {
        let said = refused(folder.path(), &format!("{FLASH} {flags}"));
        assert!(said.contains(why), "{flags}: {said}");
    }
}

#[test]
fn an_idle_state_that_is_too_deep_is_named_with_the_advice_and_without_one() {
    let line = "advise --twin --machine xeon-8558 --device emulated:tipro9000 --engine nvme --completion poll,interrupt --number_ios 1k --ramp_time 20ms";
    let advice = advice(line);
    let what = advice["diagnoses"][0]["what"].as_str();
    let what = what.expect("a diagnosis");
    assert!(what.starts_with("C6 is entered at waits of "), "{what}");
    assert!(text(line).contains(&format!("\n- {what}: ")), "{what}");
    // No candidate is as fast as this, and the idle state is one of the reasons.
    let assert = joulio(&format!("{line} --slo p99=1us")).assert().code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr);
    let (before, error) = said.trim().split_once('\n').expect("two lines");
    assert!(before.starts_with(&format!("joulio: {what}: ")), "{said}");
    assert!(error.contains("no candidate is that fast"), "{said}");
    // Where it is not entered, nothing is said.
    assert_eq!(
        json(&format!("{FLASH} -o json"))["diagnoses"],
        serde_json::json!([])
    );
}

#[test]
fn interrupts_of_devices_that_joulio_drives_are_coalesced() {
    let advice = advice(
        "advise --device emulated:instant,size=1M --completion poll,interrupt --iodepth 8 --number_ios 400 --ramp_time 10ms --replicates 2 --meter none",
    );
    let all = candidates(&advice);
    let coalesced = |mode: &str| {
        let mut all = all.iter().filter(|one| one["completion"] == mode);
        all.any(|one| one["settings"]["coalescing"] == "4 completions or 100 us")
    };
    assert!(coalesced("interrupt"), "{all:#?}");
    assert!(!coalesced("poll"), "{all:#?}");
}

#[test]
fn below_a_cap_the_power_states_of_a_drive_are_tried() {
    let line = "advise --device emulated:samsung-960-evo,size=16M --completion poll --number_ios 200 --ramp_time 10ms --replicates 2 --meter none";
    let states = |advice: &Value| -> Vec<Value> {
        let all = candidates(advice).iter();
        all.map(|one| one["settings"]["power-state"].clone())
            .collect()
    };
    let capped = states(&advice(&format!(
        "{line} --cap 10000W --cap-boundary cores"
    )));
    for state in [Value::Null, "1".into(), "2".into()] {
        assert!(capped.contains(&state), "{state}: {capped:?}");
    }
    assert!(!capped.contains(&"3".into()), "{capped:?}");
    assert!(states(&advice(line)).iter().all(Value::is_null));
}

#[test]
fn really_run_it_says_what_holds_the_machine_back_and_leaves_it_as_it_was() {
    if !thorough() {
        return;
    }
    let advice = advice("advise --completion poll,interrupt,uintr --number_ios 500 --runtime 5");
    let all = candidates(&advice);
    let modes: Vec<_> = all.iter().map(|one| one["completion"].as_str()).collect();
    for mode in ["poll", "interrupt"] {
        assert!(modes.contains(&Some(mode)), "{modes:?}");
    }
    assert!(advice["diagnoses"].is_array());
    assert_eq!(advice["manifest"]["modelled"], false);
    let command = advice["command"].as_str().expect("a command");
    assert!(
        command.starts_with("joulio bench --device=emulated:optane-900p"),
        "{command}"
    );
}

#[test]
fn polling_under_the_only_scheduler_is_what_the_budget_is_over() {
    let advice = advice(&format!(
        "{FLASH} --engine io_uring --completion poll,interrupt --scheduler mq-deadline"
    ));
    assert_eq!(advice["promise"]["from"]["polling"]["engine"], "io_uring");
    assert!(number(&advice["promise"], "/p99") > 0.0);
}
