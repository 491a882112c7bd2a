//! `joulio bench --twin`: virtual time, with the same report as a real run.

use crate::common::{joulio, json, refused, runs};
use serde_json::Value;
use std::collections::BTreeSet;
use tempfile::TempDir;

const OPTANE: &str = "--machine xeon-e3-1230v5 --device emulated:optane-900p --number_ios 2000";

fn twin(flags: &str) -> Vec<Value> {
    runs(&format!("--twin {OPTANE} {flags}"))
}

fn count(run: &Value, pointer: &str) -> u64 {
    run.pointer(pointer).and_then(Value::as_u64).unwrap()
}

fn stdout(line: &str) -> String {
    let assert = joulio(line).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Collects all keys with their paths from the root.
fn keys(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    if let Value::Object(map) = value {
        for (key, value) in map {
            let path = format!("{path}/{key}");
            keys(value, &path, into);
            into.insert(path);
        }
    }
}

#[test]
fn a_slower_clock_takes_longer_and_draws_less() {
    let all = twin("--completion poll,interrupt --frequency 3.4GHz,1.7GHz");
    let of = |run: &Value, at: &str| run.pointer(at).and_then(Value::as_f64).unwrap();
    assert_eq!(all.len(), 4);
    for (fast, slow) in all[..2].iter().zip(&all[2..]) {
        assert_eq!(fast["settings"]["frequency"], "3.4GHz");
        assert_eq!(slow["settings"]["frequency"], "1.7GHz");
        assert!(of(slow, "/all/latency_ns/mean") > of(fast, "/all/latency_ns/mean"));
        let watts = |run: &Value| of(run, "/energy/0/joules") / of(run, "/seconds");
        assert!(watts(slow) < watts(fast), "{slow:#}");
    }
    // Polls keep a length above zero at a very fast clock; an impossible clock is refused at once.
    assert_eq!(twin("--completion poll --frequency 300GHz").len(), 1);
    let said = refused(
        ".".as_ref(),
        &format!("bench --twin {OPTANE} --frequency 3GHz,9000GHz"),
    );
    assert!(said.contains("9000GHz"), "{said}");
    // The reference clock gives the same results as no clock.
    let plain = twin("--completion poll");
    let reported = twin("--completion poll --frequency 3.4GHz");
    assert_eq!(plain[0]["all"], reported[0]["all"]);
}

#[test]
fn posted_interrupts_are_named_and_leave_the_kernel_none() {
    let seven = "--twin --machine xeon-8558 --device emulated:samsung-980-pro,count=7 --numjobs 1 \
                 --number_ios 500 --completion uintr";
    let by_kernel = runs(seven).remove(0);
    assert!(count(&by_kernel, "/wait/interrupts") > 0, "{by_kernel:#}");
    assert!(by_kernel["settings"].get("posted-interrupts").is_none());
    let posted = runs(&format!("{seven} --posted-interrupts")).remove(0);
    assert_eq!(count(&posted, "/wait/interrupts"), 0);
    assert_eq!(posted["settings"]["posted-interrupts"], "on");
    let said = refused(
        ".".as_ref(),
        &format!("bench {OPTANE} --completion poll --posted-interrupts"),
    );
    assert!(said.contains("--twin"), "{said}");
}

#[test]
fn interrupts_of_others_are_counted_and_no_jobs_own() {
    let run = twin("--completion poll --other-irqs 50k").remove(0);
    assert_eq!(run["settings"]["other-irqs"], "50000");
    assert!(count(&run, "/other_irqs") > 100, "{run:#}");
    let seconds = run["seconds"].as_f64().unwrap();
    // Allows a deviation of five times the square root of the expected number.
    let expected = 50_000.0 * seconds;
    let off = (count(&run, "/other_irqs") as f64 - expected).abs();
    assert!(off < 5.0 * expected.sqrt(), "{off} of {expected}");
    assert_eq!(count(&run, "/wait/interrupts"), 0);
    let none = twin("--completion poll").remove(0);
    assert!(none.get("other_irqs").is_none() && none["settings"].get("other-irqs").is_none());
    for (rate, hint) in [("9M", "leave no CPU to the jobs"), ("9G", "--other-irqs")] {
        let said = refused(
            ".".as_ref(),
            &format!("bench --twin {OPTANE} --other-irqs {rate}"),
        );
        assert!(said.contains(hint), "{said}");
    }
}

#[test]
fn a_scheduler_costs_time_and_none_is_one_that_does_not() {
    let all = twin("--engine psync --completion interrupt --scheduler none,bfq");
    let plain = twin("--engine psync --completion interrupt");
    assert_eq!(all[0]["settings"]["scheduler"], "none");
    assert_eq!(all[0]["all"], plain[0]["all"]);
    let mean = |run: &Value| run["all"]["latency_ns"]["mean"].as_f64().unwrap();
    assert!(mean(&all[1]) > mean(&all[0]));
}

#[test]
fn a_promise_below_what_the_device_takes_is_said_not_to_be_kept() {
    let line = |slo| format!("bench --twin {OPTANE} --completion adaptive --slo {slo}");
    let words = |line: &str| {
        let text = stdout(line);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = words(&line("p99=1us"));
    assert!(
        said.contains("--slo p99=1us was not kept: p99 was "),
        "{said}"
    );
    assert!(said.contains("polling could not keep it either"), "{said}");
    let said = words(&line("p99=1ms"));
    assert!(!said.contains("was not kept"), "{said}");
    let all = twin("--completion poll,adaptive --slo p99=1us");
    assert!(all[0].get("slo").is_none());
    assert_eq!(all[1]["slo"]["p99"], 1_000);
    assert!(count(&all[1], "/all/latency_ns/min") > 1_000);
}

#[test]
fn coalescing_saves_interrupts() {
    let all = twin("--completion interrupt --iodepth 8 --coalescing 8,100");
    assert_eq!(all[0]["settings"]["coalescing"], "8 completions or 100 us");
    assert!(count(&all[0], "/wait/interrupts") < 500);
    let said = refused(
        ".".as_ref(),
        &format!("bench --twin {OPTANE} --coalescing 0,100"),
    );
    assert!(said.contains("8,200"), "{said}");
}

#[test]
fn every_run_counts_as_a_real_one_and_says_that_it_is_modelled() {
    let all = twin("--rw randrw --numjobs 2");
    let requested: Vec<_> = all
        .iter()
        .map(|run| &run["completion"]["requested"])
        .collect();
    assert_eq!(requested, ["poll", "interrupt", "hybrid", "adaptive"]);
    for run in &all {
        assert_eq!(run["modelled"], true);
        let energy = &run["energy"][0];
        assert_eq!(
            (&energy["modelled"], &energy["boundary"]),
            (&true.into(), &"wall".into())
        );
        let band = energy["band_joules"].as_array().unwrap();
        let [low, high] = [&band[0], &band[1]].map(|end| end.as_f64().unwrap());
        assert!((low..high).contains(&energy["joules"].as_f64().unwrap()));
        assert_eq!(count(run, "/all/ios"), 4000);
        assert_eq!(count(run, "/read/ios") + count(run, "/write/ios"), 4000);
    }
    let interrupt = &all[1];
    assert_eq!(count(interrupt, "/wait/blocks"), 4000);
    assert_eq!(
        count(interrupt, "/threads/submitter/voluntary_switches"),
        4000
    );
    assert_eq!(count(&all[0], "/wait/interrupts"), 0);
}

#[test]
fn the_watts_of_a_package_are_reported_as_a_package_s() {
    let line = "--twin --machine xeon-8558 --device emulated:optane-p5800x --number_ios 500";
    for run in runs(line) {
        assert_eq!(run["energy"][0]["boundary"], "package");
        assert_eq!(run["energy"][0]["source"], "model of xeon-8558");
    }
    let table = stdout(&format!("bench {line}"));
    assert!(
        table.contains("package*") && !table.contains("wall"),
        "{table}"
    );
}

#[test]
fn a_latency_budget_is_adaptive_s_beside_other_completion_modes() {
    let flash = "--twin --device emulated:samsung-960-evo --number_ios 2000";
    let both = runs(&format!(
        "{flash} --completion poll,adaptive --latency-budget none"
    ));
    assert_eq!(both.len(), 2);
    // Within the default budget it watches for longer.
    let polls: Vec<_> = both.iter().map(|run| count(run, "/wait/polls")).collect();
    assert!(polls[1] * 20 < polls[0], "{polls:?}");
}

#[test]
fn the_same_keys_as_a_real_run() {
    let real =
        "--device emulated:instant,size=1M --number_ios 64 --machine generic-server --meter none";
    let mut shapes = [BTreeSet::new(), BTreeSet::new()];
    let flags = [real.to_string(), format!("--twin {OPTANE}")];
    for (flags, shape) in flags.iter().zip(&mut shapes) {
        let run = &runs(&format!("--completion poll {flags}"))[0];
        let mut run = run.clone();
        // Machines differ in the counters that they lack and in their idle states.
        run["machine"]["missing"].take();
        run["machine"]["cpuidle"].take();
        // Virtual time has no wall clock.
        run["begin"].take();
        run["end"].take();
        // A real run has this field only if it lasts long enough, as this one may on a busy machine.
        run["steadiness"].take();
        keys(&run, "", shape);
    }
    assert_eq!(shapes[0], shapes[1]);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let line = format!("bench --twin {OPTANE} --iodepth 4 --output json");
    assert_eq!(stdout(&line), stdout(&line));
    let other = json(&format!("{line} --seed 2"));
    assert_ne!(json(&line)["runs"], other["runs"]);
}

#[test]
fn the_table_says_modelled() {
    let table = stdout(&format!("bench --twin {OPTANE}"));
    assert!(table.contains("every figure is modelled"), "{table}");
    assert!(
        table.contains("IOPS*") && table.contains("uJ/IO*"),
        "{table}"
    );
}

#[test]
fn every_heading_of_figures_has_its_star() {
    let table = stdout(&format!("bench --twin {OPTANE} --rw randrw"));
    let heading = |first: &str| {
        let mut lines = table.lines();
        let line = lines.find(|line| line.trim_start().starts_with(first));
        line.unwrap_or_else(|| panic!("{first}: {table}"))
    };
    for (first, words) in [("completion", 1), ("mixed", 1), ("energy", 3)] {
        // Headings such as "CPU us/IO" and "mean us" are single names.
        let figures = heading(first).replace(" us", "-us");
        let bare: Vec<_> = figures
            .split_whitespace()
            .skip(words)
            .filter(|name| !name.ends_with('*'))
            .collect();
        assert_eq!(bare, [""; 0], "{table}");
    }
}

#[test]
fn a_run_past_the_part_s_tdp_says_so() {
    let line = "--machine xeon-8558 --device emulated:tipro9000 --completion poll --number_ios 200";
    let table = |jobs: &str| stdout(&format!("bench --twin {line} --numjobs {jobs}"));
    assert!(table("46").contains("past its TDP of 330 W"));
    assert!(!table("1").contains("TDP"));
    let run = &runs(&format!("--twin {line} --numjobs 46"))[0];
    assert_eq!(run["past_tdp"]["tdp_watts"], 330.0);
    assert!(run["past_tdp"]["package_watts"].as_f64().unwrap() > 400.0);
}

#[test]
fn the_kernel_s_engines_are_played_on_the_same_device() {
    let all = twin("--engine psync,io_uring,libaio --completion interrupt");
    let engines: Vec<_> = all.iter().map(|run| &run["engine"]).collect();
    assert_eq!(engines, ["psync", "io_uring", "libaio"]);
    let mean = |run: &Value| run["all"]["latency_ns"]["mean"].as_f64().unwrap();
    let user = twin("--completion poll");
    assert!(mean(&user[0]) < mean(&all[0]));
    // The effective mode is io_uring's own hybrid polling.
    let hybrid = &twin("--engine io_uring --completion hybrid")[0];
    assert_eq!(hybrid["completion"]["effective"], "uring-hybrid");
}

#[test]
fn what_an_open_loop_cannot_issue_is_reported() {
    let length = "--twin --machine xeon-e3-1230v5 --device emulated:optane-900p --runtime 10ms --ramp_time 0";
    let run = &runs(&format!("{length} --rate_iops 1M --completion poll"))[0];
    let (done, left) = (count(run, "/all/ios"), count(run, "/arrivals_not_issued"));
    assert_eq!(done + left, 10_000);
    let run = &runs(&format!("{length} --rate_iops 1000 --completion poll"))[0];
    assert_eq!(count(run, "/arrivals_not_issued"), 0);
    assert_eq!(run["falls_behind"], false);
}

#[test]
fn a_device_is_too_slow_when_more_is_left_than_chance_leaves() {
    let said = |flags: &str| {
        let line = format!(
            "bench --twin --machine xeon-e3-1230v5 --device emulated:optane-900p --completion poll \
             --ramp_time 0 --rate_process poisson {flags}"
        );
        stdout(&line)
    };
    // About 90 % of the device's rate at this depth, so that with some seeds arrivals are waiting at the end.
    let waiting = (1..100).any(|seed| {
        let text = said(&format!("--rate_iops 90k --runtime 10ms --seed {seed}"));
        assert!(!text.contains("does not keep up"), "{seed}: {text}");
        text.contains(" still waiting to be issued at the end")
    });
    assert!(waiting);
    let text = said("--rate_iops 300k --runtime 10ms");
    assert!(
        text.contains("never issued: the device does not keep up"),
        "{text}"
    );
    // If a number of I/Os ends the run, all arrivals are issued.
    let text = said("--rate_iops 300k --number_ios 2k");
    assert!(
        text.contains("does not keep up at this iodepth: each I/O waits"),
        "{text}"
    );
    assert!(!said("--rate_iops 90k --number_ios 2k").contains("keep up"));
}

#[test]
fn what_has_no_meaning_in_virtual_time_is_refused_by_name() {
    let room = TempDir::new().unwrap();
    for (flags, hints) in [
        ("--process --engine psync", ["--process", "--twin"]),
        ("--verify crc32c", ["--verify", "no data"]),
        ("--meter rapl", ["--meter", "measured"]),
        ("--scheduler none", ["--scheduler", "--twin"]),
        ("--window 5", ["--window", "--twin"]),
        ("--faults drop@0.1", ["--faults", "--twin"]),
        ("--bs 4k:1000 --numjobs 2", ["bs: 1000", "multiple"]),
        ("--device ./x.img", ["./x.img", "emulated:"]),
        ("--device emulated:instant,seed=3", ["seed=", "--twin"]),
        ("--device emulated:nothing", ["nothing", "optane-900p"]),
        ("--completion sqpoll", ["sqpoll", "not modelled"]),
        ("--engine libaio --completion poll", ["libaio", "poll"]),
        ("--engine psync --iodepth 2", ["--iodepth", "psync"]),
        ("--cpus_allowed 8", ["cpus_allowed", "0 to 7"]),
        ("--machine nothing", ["nothing", "xeon-e3-1230v5"]),
    ] {
        let given = ["--machine", "--device"].map(|flag| flags.contains(flag));
        let mut line = format!("bench --twin {flags} --number_ios 10");
        if !given[0] {
            line += " --machine xeon-e3-1230v5";
        }
        let said = refused(room.path(), &line);
        for hint in hints {
            assert!(said.contains(hint), "{line}: {said}");
        }
    }
}

#[test]
fn energy_is_modelled_at_each_boundary_the_widest_first() {
    for run in twin("--completion poll,interrupt") {
        let figures = run["energy"].as_array().unwrap().iter();
        let joules: Vec<_> = figures
            .map(|figure| {
                let joules = figure["joules"].as_f64().unwrap();
                (figure["boundary"].as_str().unwrap().to_owned(), joules)
            })
            .collect();
        let names: Vec<_> = joules.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["wall", "package", "cores", "device"]);
        // Devices are not part of the package.
        assert!(joules[..3].is_sorted_by(|wider, narrower| wider.1 > narrower.1));
        assert!(joules[3].1 > 0.0 && joules[3].1 < joules[0].1);
    }
    let text = stdout(&format!("bench --twin {OPTANE} --completion poll"));
    assert!(
        text.contains("wall*") && !text.contains("package*"),
        "{text}"
    );
}

#[test]
fn a_cpu_that_may_not_idle_deeply_wakes_sooner_and_draws_more() {
    let device = "--machine xeon-8558 --device emulated:samsung-970-evo-plus --number_ios 2000";
    let all = runs(&format!(
        "--twin {device} --completion interrupt --max-cstate C1,C1E,C6"
    ));
    let of = |at: &str| -> Vec<f64> {
        let all = all.iter();
        all.map(|run| run.pointer(at).and_then(Value::as_f64).unwrap())
            .collect()
    };
    let states: Vec<_> = all
        .iter()
        .map(|run| &run["settings"]["max-cstate"])
        .collect();
    assert_eq!(states, ["C1", "C1E", "C6"]);
    assert!(of("/all/latency_ns/mean").is_sorted_by(|a, b| a < b));
    assert!(of("/energy/0/watts").is_sorted_by(|a, b| a > b));
    for (flag, why) in [
        ("C9", "'C9' is not an idle state"),
        ("C0", "it has C1, C1E, C6"),
    ] {
        let said = refused(
            ".".as_ref(),
            &format!("bench --twin {device} --max-cstate {flag}"),
        );
        assert!(said.contains(why), "{said}");
    }
}
