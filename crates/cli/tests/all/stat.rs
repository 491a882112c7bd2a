//! `joulio stat` on file trees whose counters change while it runs.

use crate::common::machine::{file, guest, server};
use crate::common::running::Running;
use crate::common::{joulio, refused, wait_for, wait_for_end};
use openmetrics_parser::PrometheusType;
use openmetrics_parser::prometheus::parse_prometheus;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStdin, Stdio};
use tempfile::{TempDir, tempdir};

/// Sets the counters of reads of 4 KiB, and of half as many writes.
fn count(tree: &TempDir, devices: &[(&str, u64)]) {
    let line = |&(name, reads): &(&str, u64)| {
        let writes = reads / 2;
        let (read_sectors, write_sectors) = (8 * reads, 8 * writes);
        let (read_ms, write_ms) = (2 * reads, 6 * writes);
        format!(
            "8 0 {name} {reads} 0 {read_sectors} {read_ms} {writes} 0 {write_sectors} {write_ms} 0 1 1\n"
        )
    };
    let lines: String = devices.iter().map(line).collect();
    for (name, _) in devices {
        file(tree, &format!("sys/block/{name}/size"), "1000\n");
    }
    file(tree, "proc/diskstats", &lines);
}

fn with_disks(tree: TempDir) -> TempDir {
    count(&tree, &[("sda", 100), ("sdb", 100)]);
    tree
}

fn line(tree: &TempDir, more: &str) -> String {
    format!("stat --root {} {more}", tree.path().display())
}

fn output(line: &str) -> String {
    // An idle baseline of this machine must not be used for the tree.
    let mut command = joulio(line);
    let assert = command.env("XDG_STATE_HOME", "/nowhere").assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

fn named<'a>(line: &'a Value, list: &str, name: &str) -> &'a Value {
    let rows = line[list].as_array().expect("a list");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {line:#}"))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value}: a number"))
}

const PACKAGE: &str = "powercap:package-0";
const ENERGY: &str = "sys/class/powercap/intel-rapl:0/energy_uj";

#[test]
fn an_interval_has_what_was_counted_in_it_and_each_meter_over_all_ios() {
    let tree = with_disks(server());
    let mut stat = Running::begin(&line(&tree, ""));
    let first = stat.line();
    // The first figures are not those since boot.
    assert_eq!(named(&first, "devices", "sda")["read_ios"], 0);
    assert_eq!(
        named(&first, "devices", "sda")["await_seconds"],
        Value::Null
    );
    let package = named(&first, "meters", PACKAGE);
    assert_eq!(
        (&package["joules"], &package["ios"]),
        (&0.0.into(), &0.into())
    );
    assert_eq!(package["joules_per_io"], Value::Null);
    assert_eq!(package["above_idle"], Value::Null);

    file(&tree, ENERGY, "4000000\n");
    count(&tree, &[("sda", 140), ("sdb", 120)]);
    let lines = stat.until(|line| named(line, "devices", "sda")["read_ios"] != 0);
    let last = lines.last().expect("one");
    let (sda, sdb) = (named(last, "devices", "sda"), named(last, "devices", "sdb"));
    assert_eq!(
        (&sda["read_ios"], &sda["write_ios"]),
        (&40.into(), &20.into())
    );
    assert_eq!(
        (&sdb["read_ios"], &sdb["write_ios"]),
        (&20.into(), &10.into())
    );
    assert_eq!(
        (&sda["read_bytes"], &sda["write_bytes"]),
        (&163_840.into(), &81_920.into())
    );
    assert_eq!(number(&sda["read_await_seconds"]), 0.002);
    assert_eq!(number(&sda["write_await_seconds"]), 0.006);
    // The energy may have been seen one interval before the I/Os.
    let joules: f64 = lines
        .iter()
        .map(|line| number(&named(line, "meters", PACKAGE)["joules"]))
        .sum();
    assert!((joules - 3.0).abs() < 1e-9, "{joules}");
    for name in [PACKAGE, "hwmon:power_meter/power1"] {
        let meter = named(last, "meters", name);
        assert_eq!(meter["ios"], 90);
        assert_eq!(meter["ios_of"], serde_json::json!(["sda", "sdb"]));
        // In the JSON text the last digit may differ.
        let per_io = number(&meter["joules"]) / 90.0;
        assert!((number(&meter["joules_per_io"]) - per_io).abs() < 1e-9);
        assert_eq!(
            (&meter["modelled"], &meter["idle_subtracted"]),
            (&false.into(), &false.into())
        );
    }
    let wall = named(last, "meters", "hwmon:power_meter/power1");
    assert_eq!(
        (&wall["boundary"], &wall["place"]),
        (&"wall".into(), &"machine".into())
    );
    assert!((number(&wall["watts"]) - 250.0).abs() < 1e-6);
    stat.end();
}

#[test]
fn only_named_devices_are_listed_and_counted() {
    let tree = with_disks(server());
    let mut stat = Running::begin(&line(&tree, "/dev/sdb --meter package"));
    stat.line();
    count(&tree, &[("sda", 1000), ("sdb", 104)]);
    let lines = stat.until(|line| named(line, "devices", "sdb")["read_ios"] != 0);
    let last = lines.last().expect("one");
    assert_eq!(last["devices"].as_array().map(Vec::len), Some(1));
    assert_eq!(last["meters"].as_array().map(Vec::len), Some(1));
    assert_eq!(named(last, "meters", PACKAGE)["ios"], 6);
    stat.end();
}

#[test]
fn a_device_that_goes_is_noted_and_the_others_go_on() {
    let tree = with_disks(guest());
    let mut stat = Running::begin(&line(&tree, ""));
    stat.line();
    count(&tree, &[("sda", 100)]);
    let lines = stat.until(|line| line["devices"].as_array().map(Vec::len) == Some(1));
    assert_eq!(lines.last().expect("one")["notes"][0], "sdb was removed");
    assert_eq!(stat.line()["notes"], serde_json::json!([]));
    stat.end();
}

#[test]
fn a_mapped_device_is_shown_and_not_counted_again() {
    let tree = with_disks(server());
    count(&tree, &[("dm-0", 0), ("sda", 0)]);
    fs::create_dir_all(tree.path().join("sys/block/dm-0/slaves/sda")).expect("made");
    let mut stat = Running::begin(&line(&tree, ""));
    stat.line();
    count(&tree, &[("dm-0", 20), ("sda", 20)]);
    let lines = stat.until(|line| named(line, "devices", "sda")["read_ios"] != 0);
    let last = lines.last().expect("one");
    assert_eq!(named(last, "devices", "dm-0")["read_ios"], 20);
    assert_eq!(named(last, "devices", "dm-0")["stands_on"][0], "sda");
    assert_eq!(named(last, "meters", PACKAGE)["ios"], 30);
    stat.end();
    let table = output(&line(&tree, "--count 2"));
    let reported = "dm-0: on sda, and its I/Os are not counted again";
    assert_eq!(table.matches(reported).count(), 1, "{table}");
}

#[test]
fn tables_have_their_headers_at_every_interval() {
    let table = output(&line(&with_disks(server()), "--count 2"));
    assert_eq!(
        table.matches(" device  r/s  w/s  rMiB/s").count(),
        2,
        "{table}"
    );
    assert_eq!(table.matches(" meter ").count(), 2, "{table}");
    assert_eq!(table.matches("reads and writes of the devices").count(), 1);
    assert!(!table.contains("idle"), "{table}");
    let wall = table
        .lines()
        .find(|line| line.contains("power_meter/power1"));
    let cells: Vec<_> = wall.expect("a line").split_whitespace().collect();
    assert_eq!(cells[1..5], ["wall", "hwmon", "measured", "250.000"]);
    assert_eq!(cells[6], "-", "no I/Os: {table}");
}

#[test]
fn without_a_meter_the_devices_are_shown_all_the_same() {
    let tree = with_disks(guest());
    let table = output(&line(&tree, "--count 2"));
    assert_eq!(
        table.matches("no meter: see joulio power\n").count(),
        1,
        "{table}"
    );
    assert_eq!(table.matches(" sda ").count(), 2, "{table}");
    assert!(!table.contains(" meter "), "{table}");
    let json = output(&line(&tree, "--count 1 --output json"));
    let json: Value = serde_json::from_str(&json).expect("an object");
    assert_eq!(json["meters"], serde_json::json!([]));
}

#[test]
fn what_is_above_idle_is_reported_beside_the_whole() {
    let (tree, room) = (
        with_disks(server()),
        tempdir().expect("a temporary directory"),
    );
    let baseline = room.path().join("idle.json");
    let root = tree.path().display();
    output(&format!(
        "power --root {root} --idle 1s --file {}",
        baseline.display()
    ));
    file(
        &tree,
        "sys/class/hwmon/hwmon0/power1_average",
        "260000000\n",
    );
    let stat = line(
        &tree,
        &format!("--count 1 --idle-baseline {}", baseline.display()),
    );
    let json: Value =
        serde_json::from_str(&output(&format!("{stat} --output json"))).expect("JSON");
    let wall = named(&json, "meters", "hwmon:power_meter/power1");
    assert!((number(&wall["watts"]) - 260.0).abs() < 1e-6, "{wall:#}");
    assert!(
        (number(&wall["above_idle"]["watts"]) - 10.0).abs() < 1e-6,
        "{wall:#}"
    );
    assert_eq!(wall["above_idle"]["idle_subtracted"], true);
    let table = output(&stat);
    assert!(table.contains("W>idle  uJ/IO>idle"), "{table}");
}

#[test]
fn a_kept_baseline_of_no_use_is_reported_and_a_named_one_is_refused() {
    let (tree, room) = (
        with_disks(server()),
        tempdir().expect("a temporary directory"),
    );
    let kept = room.path().join("joulio/idle-baseline.json");
    fs::create_dir_all(kept.parent().expect("a folder")).expect("made");
    fs::write(&kept, "{}").expect("written");
    let mut stat = joulio(&line(&tree, "--count 1"));
    let assert = stat.env("XDG_STATE_HOME", room.path()).assert().success();
    let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(said.contains("idle baseline not used: "), "{said}");
    let named = line(&tree, &format!("--idle-baseline {}", kept.display()));
    assert!(refused(room.path(), &named).contains("not an idle baseline"));
}

#[test]
fn a_modelled_device_is_called_so_and_divided_by_no_others_ios() {
    let tree = with_disks(guest());
    let stat = line(
        &tree,
        "--interval 2 --count 1 --device emulated:optane-900p",
    );
    let json: Value =
        serde_json::from_str(&output(&format!("{stat} --output json"))).expect("JSON");
    let device = named(&json, "meters", "nvme:emulated:optane-900p");
    assert_eq!(
        (&device["modelled"], &device["boundary"]),
        (&true.into(), &"device".into())
    );
    assert!(number(&device["joules"]) > 0.0);
    assert_eq!(
        (&device["ios"], &device["joules_per_io"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        device["problem"]
            .as_str()
            .expect("printed")
            .contains("none of the block devices")
    );
    let table = output(&stat);
    let row = table.lines().find(|line| line.contains("nvme:emulated"));
    assert!(row.expect("a row").contains(" modelled "), "{table}");
}

#[test]
fn the_metrics_are_those_of_all_intervals() {
    let (tree, room) = (
        with_disks(server()),
        tempdir().expect("a temporary directory"),
    );
    let path = room.path().join("joulio.prom");
    let mut stat = Running::begin(&line(&tree, &format!("--textfile {}", path.display())));
    let mut lines = vec![stat.line()];
    file(&tree, ENERGY, "4000000\n");
    count(&tree, &[("sda", 140), ("sdb", 120)]);
    lines.extend(stat.until(|line| named(line, "devices", "sda")["read_ios"] != 0));
    // The metrics file is written after each line, and before the next one.
    stat.line();
    let text = fs::read_to_string(&path).expect("there");
    stat.end();
    // Parsed like the collector does it, which treats a counter without a type line of its own name as untyped.
    let metrics = parse_prometheus(&text).expect("the text format");
    for (family, kind) in [
        ("joulio_build_info", PrometheusType::Gauge),
        ("joulio_energy_joules_total", PrometheusType::Counter),
        ("joulio_power_watts", PrometheusType::Gauge),
        ("joulio_device_ios_total", PrometheusType::Counter),
        ("joulio_device_bytes_total", PrometheusType::Counter),
    ] {
        let found = metrics.families.get(family);
        let found = found.unwrap_or_else(|| panic!("{family}: {text}"));
        assert_eq!(found.family_type, kind, "{family}");
        assert!(!found.help.is_empty(), "{family}");
    }
    assert_eq!(metrics.families.len(), 5, "{text}");
    for sample in [
        r#"joulio_energy_joules_total{domain="package",place="package-0",meter="powercap:package-0",source="powercap",modelled="false"} 3.0"#,
        r#"joulio_device_ios_total{device="sda",direction="read"} 40"#,
        r#"joulio_device_ios_total{device="sdb",direction="write"} 10"#,
        r#"joulio_device_bytes_total{device="sda",direction="write"} 81920"#,
    ] {
        assert!(text.lines().any(|line| line == sample), "{sample}\n{text}");
    }
    let wall = r#"joulio_power_watts{domain="wall",place="machine",meter="hwmon:power_meter/power1",source="hwmon",modelled="false"} "#;
    let watts = text.lines().find_map(|line| line.strip_prefix(wall));
    let watts: f64 = watts.and_then(|watts| watts.parse().ok()).expect("watts");
    assert!((watts - 250.0).abs() < 1e-6, "{text}");
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
    assert_eq!(fs::read_dir(room.path()).expect("there").count(), 1);
}

#[test]
fn flags_of_iostat_and_turbostat_are_known() {
    let tree = with_disks(guest());
    let shown = |flags: &str| output(&line(&tree, flags));
    assert!(shown("-d -x -i 1 -n 1").contains("sda"));
    assert!(shown("-m -n 1").contains("rMiB/s"));
    let kilobytes = shown("-k -n 1");
    assert!(
        kilobytes.contains("rKiB/s") && !kilobytes.contains("MiB/s"),
        "{kilobytes}"
    );
    let room = tempdir().expect("a temporary directory");
    assert!(refused(room.path(), &line(&tree, "-k -m")).contains("cannot be used with"));
    // The device has no I/O.
    let active = shown("-z --num_iterations 1");
    assert!(
        !active.contains("sda") && active.contains("every 1 s"),
        "{active}"
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let tree = with_disks(server());
    let bare = guest();
    let room = tempdir().expect("a temporary directory");
    let cases = [
        (line(&tree, "--interval 900ms"), "at least 1 s"),
        (
            line(&tree, "sdc"),
            "no block device 'sdc': disks here: sda, sdb",
        ),
        (
            line(&tree, "sda /dev/nothing"),
            "no block device 'nothing': disks here: sda, sdb",
        ),
        (line(&bare, ""), "proc/diskstats"),
        (line(&tree, "--meter pakage"), "package"),
        (
            line(&tree, "--meter powercap:package-7"),
            "there is no powercap:package-7",
        ),
        (
            line(&tree, "--idle-baseline /nowhere/b.json"),
            "/nowhere/b.json",
        ),
        (line(&tree, "--textfile joulio.txt"), "must end in .prom"),
        (
            line(&tree, "--textfile /nowhere/joulio.prom"),
            "/nowhere/joulio.prom",
        ),
        (line(&tree, "--output xml"), "xml"),
        ("stat --root /nowhere".into(), "/nowhere is not a folder"),
    ];
    for (line, expected) in cases {
        let said = refused(room.path(), &line);
        assert!(said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn this_machine_has_its_own_figures() {
    let json = output("stat --count 1 --output json");
    let json: Value = serde_json::from_str(&json).expect("an object");
    assert!(number(&json["seconds"]) >= 1.0);
    for device in json["devices"].as_array().expect("devices") {
        let utilisation = number(&device["utilisation"]);
        assert!((0.0..=1.0).contains(&utilisation), "{device:#}");
    }
}

#[test]
fn a_command_is_measured_and_its_status_passed_on() {
    let tree = with_disks(guest());
    let quiet = line(&tree, "-o json -- sh -c");
    let mut command = joulio(&quiet);
    let output = command.arg("sleep 0.01; exit 7").output().expect("run");
    assert_eq!(output.status.code(), Some(7));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        number(&json["command"]["voluntary_switches"]) >= 1.0,
        "{json}"
    );
    assert_eq!(json["command"]["status"], 7);
    assert_eq!(named(&json, "devices", "sda")["read_ios"], 0);
    // Standard output belongs to the command.
    let people = line(&tree, "-- echo said");
    let output = joulio(&people).output().expect("run");
    assert!(output.status.success());
    assert_eq!(output.stdout, b"said\n");
    let below = String::from_utf8(output.stderr).expect("UTF-8");
    for part in ["sda", "context switches", "joules: not measured"] {
        assert!(below.contains(part), "{part}: {below}");
    }
}

/// Runs `joulio stat` with `command`, which writes to the file `got`, on a terminal of its own; returns the file's
/// content and the status. Once the command is ready, `act` types keys or sends signals to joulio, whose process it
/// gets.
fn on_a_terminal(command: &str, act: impl FnOnce(&mut ChildStdin, Pid)) -> (String, Option<i32>) {
    let (tree, room) = (with_disks(guest()), tempdir().expect("a folder"));
    let command = format!("trap 'echo INT >> got' INT; echo $PPID > parent; {command}");
    fs::write(room.path().join("command"), command).expect("written");
    let program = assert_cmd::cargo::cargo_bin!("joulio").display();
    let line = line(&tree, "-- sh command");
    // script(1) creates the terminal, and passes on what is typed here.
    let mut terminal = std::process::Command::new("script")
        .args([
            "-qec",
            &format!("exec env --default-signal=INT {program} {line}"),
        ])
        .arg("/dev/null")
        .current_dir(room.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script of util-linux");
    let got = || fs::read_to_string(room.path().join("got")).unwrap_or_default();
    wait_for("command", || got().contains("ready").then_some(()));
    let parent = fs::read_to_string(room.path().join("parent")).expect("written");
    let parent = parent.trim().parse().ok().and_then(Pid::from_raw);
    let mut keys = terminal.stdin.take().expect("a pipe");
    act(&mut keys, parent.expect("a process"));
    wait_for_end(&mut terminal);
    (got(), terminal.wait().expect("ended").code())
}

#[test]
fn at_ctrl_c_a_command_gets_the_terminals_signal_and_no_other() {
    let command = "trap 'echo TERM >> got' TERM; echo ready >> got\n\
        until grep -q INT got; do sleep 0.05; done; sleep 1; exit 5\n";
    let ended = on_a_terminal(command, |keys, _| keys.write_all(b"\x03").expect("typed"));
    assert_eq!(ended, ("ready\nINT\n".into(), Some(5)));
}

#[test]
fn a_sigint_that_joulio_alone_gets_ends_the_command_on_its_terminal_too() {
    let command = "trap 'echo TERM >> got; exit 6' TERM; echo ready >> got\n\
        for second in $(seq 60); do sleep 1; done\n";
    let ended = on_a_terminal(command, |_, joulio| {
        kill_process(joulio, Signal::INT).expect("sent");
    });
    assert_eq!(ended, ("ready\nTERM\n".into(), Some(6)));
}

#[test]
fn devices_the_interval_and_the_count_stand_as_iostat_has_them() {
    let tree = with_disks(guest());
    let text = output(&line(&tree, "-xmty sdb 1 2"));
    assert_eq!(text.matches(" sdb ").count(), 2, "{text}");
    assert!(!text.contains(" sda "), "{text}");
    assert_eq!(text.matches("\n20").count(), 2, "a date above each: {text}");
}

#[test]
fn what_makes_no_sense_of_an_interval_or_a_command_is_refused() {
    let tree = with_disks(guest());
    let cases = [
        ("1 sda", "'sda' is not a count"),
        ("sda 1 2 3", "devices come first"),
        ("sda 0", "'0'"),
        ("sda 1 -- true", "leave the interval out"),
        ("-- /nowhere/at/all", "/nowhere/at/all: "),
    ];
    let room = tempdir().expect("a folder");
    for (words, hint) in cases {
        let said = refused(room.path(), &line(&tree, words));
        assert!(said.contains(hint), "{words}: {said}");
    }
}

/// Returns the tree of a guest with an SSD that reports its model, a drive that does not, and a loop device.
fn with_drives() -> TempDir {
    let tree = guest();
    count(
        &tree,
        &[("dm-0", 0), ("loop0", 0), ("nvme0n1", 0), ("vda", 0)],
    );
    file(
        &tree,
        "sys/block/dm-0/device/model",
        "INTEL SSDPED1D280GA\n",
    );
    file(&tree, "sys/block/dm-0/slaves/vda/size", "1000\n");
    let (nvme, vda) = ("sys/block/nvme0n1", "sys/block/vda");
    file(
        &tree,
        &format!("{nvme}/device/model"),
        "INTEL SSDPED1D280GA\n",
    );
    file(&tree, &format!("{nvme}/queue/rotational"), "0\n");
    file(&tree, &format!("{vda}/device/vendor"), "0x1af4\n");
    file(&tree, &format!("{vda}/queue/rotational"), "1\n");
    file(
        &tree,
        "proc/stat",
        "cpu  0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n",
    );
    tree
}

/// Returns the joules of a row between the ends of their band.
fn band(row: &Value) -> [f64; 3] {
    let [low, high] = [0, 1].map(|end| number(&row["band_joules"][end]));
    [low, number(&row["joules"]), high]
}

#[test]
fn without_a_meter_the_profiles_tell_with_their_bands() {
    let tree = with_drives();
    let mut stat = Running::begin(&line(&tree, "--model"));
    let first = stat.line();
    let notes = first["notes"].as_array().expect("notes");
    let noted = |words: &str| {
        notes
            .iter()
            .any(|note| note.as_str().expect("text").contains(words))
    };
    for words in [
        "nvme0n1: model of optane-900p, by its model name",
        "--drive vda=PROFILE names one",
        "not modelled, being no drives or on others: dm-0, loop0",
        "model:cores: watts of generic-server",
    ] {
        assert!(noted(words), "{words}: {first:#}");
    }
    let seconds = number(&first["seconds"]);
    let known = &named(&first, "devices", "nvme0n1")["model"];
    assert_eq!(
        (&known["modelled"], &known["source"]),
        (&true.into(), &"model of optane-900p".into())
    );
    // Idle: 5 W according to the profile, with a band of 4 to 5.5.
    for (joules, watts) in band(known).into_iter().zip([4.0, 5.0, 5.5]) {
        assert!((joules / seconds - watts).abs() < 1e-6, "{known:#}");
    }
    assert_eq!(known["joules_per_io"], Value::Null);
    let any = &named(&first, "devices", "vda")["model"];
    let ([low, joules, high], [known_low, _, known_high]) = (band(any), band(known));
    assert!(
        low < known_low && known_high < high && low < joules && joules < high,
        "{any:#}"
    );
    assert_eq!(named(&first, "devices", "loop0").get("model"), None);
    let cores = named(&first, "meters", "model:cores");
    assert_eq!(
        (&cores["modelled"], &cores["boundary"]),
        (&true.into(), &"cores".into())
    );
    let [low, idle, high] = band(cores);
    assert!(low < idle && idle < high, "{cores:#}");

    count(
        &tree,
        &[("dm-0", 0), ("loop0", 0), ("nvme0n1", 100_000), ("vda", 0)],
    );
    let lines = stat.until(|line| named(line, "devices", "nvme0n1")["read_ios"] != 0);
    let last = lines.last().expect("one");
    let row = named(last, "devices", "nvme0n1");
    let worked = &row["model"];
    let [low, joules, high] = band(worked);
    let seconds = number(&last["seconds"]);
    assert!(
        low < joules && joules < high && joules / seconds > 5.1,
        "{worked:#}"
    );
    assert!((number(&worked["joules_per_io"]) - joules / 150_000.0).abs() < 1e-9);

    file(
        &tree,
        "proc/stat",
        "cpu  0 0 0 0\ncpu0 50 0 0 0 0 0 0 0 0 0\n",
    );
    let watts = |line: &Value| number(&named(line, "meters", "model:cores")["watts"]);
    stat.until(|line| watts(line) > idle + 0.5);
    stat.end();
}

#[test]
fn a_drive_has_the_profile_that_it_is_given_and_tables_mark_the_model() {
    let tree = with_drives();
    let prom = tempdir().expect("a folder");
    let path = prom.path().join("joulio.prom");
    let words = format!(
        "--model --drive vda=samsung-980-pro --machine xeon-6230 --count 1 --textfile {}",
        path.display()
    );
    let text = output(&line(&tree, &words));
    for part in [
        "W*",
        "+-*",
        "uJ/IO*",
        "*: modelled",
        "vda: model of samsung-980-pro, by --drive",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let cores = text
        .lines()
        .find(|line| line.contains("model:cores  cores"));
    assert!(
        cores
            .expect("a row")
            .contains("model of xeon-6230  modelled"),
        "{text}"
    );
    let metrics = fs::read_to_string(&path).expect("there");
    parse_prometheus(&metrics).expect("the text format");
    let sample = r#"joulio_power_watts{domain="device",place="vda",meter="model:vda",source="model of samsung-980-pro",modelled="true"} 1.0"#;
    assert!(
        metrics.lines().any(|line| line.starts_with(sample)),
        "{metrics}"
    );
    let command = joulio(&line(&tree, "--model -- true"))
        .output()
        .expect("run");
    let text = String::from_utf8(command.stderr).expect("UTF-8");
    assert!(
        text.contains("W*") && text.contains("*: modelled"),
        "{text}"
    );
    let plain = output(&line(&tree, "--count 1"));
    assert!(!plain.contains('*'), "{plain}");
}

#[test]
fn a_model_of_nothing_that_there_is_is_refused() {
    let tree = with_drives();
    let room = tempdir().expect("a folder");
    for (words, hint) in [
        (
            "--model --drive vdb=optane-900p",
            "no block device 'vdb' is watched: disks here: dm-0, loop0",
        ),
        ("--model --drive vda", "vda=optane-900p"),
        (
            "--model --drive vda=quartz",
            "unknown device profile 'quartz'",
        ),
        (
            "--model --drive vda=instant --drive /dev/vda=instant",
            "vda is given twice",
        ),
        (
            "--model --machine abacus",
            "--machine: unknown machine profile 'abacus'",
        ),
        ("--drive vda=optane-900p", "--model"),
        ("--machine xeon-6230", "--model"),
    ] {
        let said = refused(room.path(), &line(&tree, words));
        assert!(said.contains(hint), "{words}: {said}");
    }
}
