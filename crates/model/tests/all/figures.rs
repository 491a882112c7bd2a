//! Every figure of every built-in profile has what a reader needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use joulio_model::{CoreState, DeviceProfile, Figure, FigureKind, MachineProfile};
use toml::Value;

const PROFILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");

/// Figures that Identify Controller reports: exact for the device as it is emulated, whatever their source.
const EXACT: [&str; 6] = [
    "capacity_bytes",
    "max_transfer_bytes",
    "max_queue_entries",
    "max_io_queues",
    "entry_latency_us",
    "exit_latency_us",
];

/// Collects every figure in `value`, with the path to it.
fn figures(path: &str, value: &Value, found: &mut Vec<(String, Figure)>) {
    match value {
        Value::Table(table) if table.contains_key("value") => {
            let figure = value.clone().try_into();
            found.push((path.to_owned(), figure.unwrap()));
        }
        Value::Table(table) => {
            for (key, inner) in table {
                figures(&format!("{path}.{key}"), inner, found);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                figures(&format!("{path}[{at}]"), inner, found);
            }
        }
        _ => {}
    }
}

/// Returns the profiles in one folder, by name.
fn folder(folder: &str) -> Vec<(String, Value)> {
    let entries = fs::read_dir(Path::new(PROFILES).join(folder)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap().parse().unwrap())
        })
        .map(|(name, table): (String, toml::Table)| (name, Value::Table(table)))
        .collect()
}

fn all() -> Vec<(String, Figure)> {
    let mut found = Vec::new();
    for (name, profile) in folder("machines").iter().chain(&folder("devices")) {
        let before = found.len();
        figures(name, profile, &mut found);
        assert!(found.len() > before + 10, "{name} has few figures");
    }
    found
}

#[test]
fn every_profile_in_the_folders_is_built_in() {
    let names = |folder_name| {
        let files = folder(folder_name).into_iter().map(|(name, _)| name);
        files.collect::<BTreeSet<_>>()
    };
    let built_in = |names: Vec<&str>| names.into_iter().map(String::from).collect();
    assert_eq!(
        names("machines"),
        built_in(MachineProfile::names().collect())
    );
    assert_eq!(names("devices"), built_in(DeviceProfile::names().collect()));
}

#[test]
fn every_figure_has_a_source_and_lies_in_its_band() {
    for (path, figure) in all() {
        assert!(!figure.source.trim().is_empty(), "{path} has no source");
        if let Some([low, high]) = figure.band {
            assert!(low <= figure.value && figure.value <= high, "{path}");
        }
    }
}

#[test]
fn every_figure_that_nobody_printed_has_a_band() {
    for (path, figure) in all() {
        let field = path.rsplit('.').next().unwrap();
        // The profile instant is no real device: its times and watts are defined.
        let defined = EXACT.contains(&field) || path.starts_with("instant.");
        let exact = figure.kind == FigureKind::Published || defined;
        assert!(
            exact || figure.band.is_some(),
            "{path} is {:?} and has no band",
            figure.kind
        );
    }
}

/// Machines whose CPUs have no WAITPKG.
const OLDER: [&str; 3] = ["client", "xeon-6230", "xeon-e3-1230v5"];

#[test]
fn every_state_and_wake_of_a_core_and_every_direction_of_a_device_has_its_figure() {
    let fields = |name: &str, value: &Value| {
        let mut found = Vec::new();
        figures(name, value, &mut found);
        found
            .into_iter()
            .map(|(path, _)| path)
            .collect::<BTreeSet<_>>()
    };
    for (name, machine) in folder("machines") {
        let has = fields(&name, &machine);
        // CPUs without WAITPKG have no figures for it.
        let waits = ["pause_c01", "pause_c02"].map(|state| format!("core_watts.{state}"));
        let waits = waits.iter().filter(|_| !OLDER.contains(&name.as_str()));
        let always = [
            "base_watts",
            "uncore_watts",
            "uncore_active_watts",
            "core_watts.spin",
            "core_watts.kernel",
            "core_watts.c1",
            "core_watts.c1e",
            "core_watts.c6",
            "wake.interrupt_joules",
            "wake.timer_joules",
            "frequency.reference_hertz",
            "frequency.static_share",
            "frequency.exponent",
        ];
        for field in always.into_iter().chain(waits.map(String::as_str)) {
            assert!(has.contains(&format!("{name}.{field}")), "{name}: {field}");
        }
    }
    for (name, device) in folder("devices") {
        let has = fields(&name, &device);
        for field in ["idle_watts", "read_active_watts", "write_active_watts"] {
            assert!(
                has.contains(&format!("{name}.power.{field}")),
                "{name}: {field}"
            );
        }
    }
}

#[test]
fn deeper_states_draw_less() {
    for name in MachineProfile::names() {
        let machine = MachineProfile::builtin(name).unwrap();
        let watts = [
            CoreState::Spin,
            CoreState::PauseC01,
            CoreState::PauseC02,
            CoreState::C1,
            CoreState::C1e,
            CoreState::C6,
        ]
        .map(|state| machine.core_watts(state));
        assert!(
            watts.is_sorted_by(|before, after| before >= after),
            "{name}: {watts:?}"
        );
    }
}
