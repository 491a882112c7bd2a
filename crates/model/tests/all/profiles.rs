//! Loading of profiles: the built-in ones are valid, and errors name the field.

use joulio_model::{AnyProfile, DeviceProfile, Figure, FigureKind, MachineProfile, ProfileError};
use std::collections::BTreeMap;

const OPTANE: &str = include_str!("../../../../profiles/devices/optane-900p.toml");
const SERVER: &str = include_str!("../../../../profiles/machines/generic-server.toml");

#[test]
fn every_built_in_profile_loads_under_its_own_name() {
    for name in DeviceProfile::names() {
        assert_eq!(DeviceProfile::load(name).unwrap().name, name);
    }
    for name in MachineProfile::names() {
        assert_eq!(MachineProfile::load(name).unwrap().name, name);
    }
    assert!(MachineProfile::names().any(|name| name == MachineProfile::DEFAULT));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let known: Vec<&str> = DeviceProfile::names().collect();
    assert!(known.contains(&"optane-900p") && known.contains(&"hdd-7200"));
    assert_eq!(
        DeviceProfile::load("optan-900p").unwrap_err().to_string(),
        format!(
            "unknown device profile 'optan-900p': did you mean optane-900p? known are {} (or give a path to a .toml file)",
            known.join(", ")
        )
    );
    assert_eq!(
        MachineProfile::load("abacus").unwrap_err().to_string(),
        "unknown machine profile 'abacus': known are generic-server, client, xeon-6230, xeon-8558, \
         xeon-e3-1230v5 (or give a path to a .toml file)"
    );
}

#[test]
fn a_path_is_read_and_named_when_it_cannot_be() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../profiles/devices/optane-900p.toml"
    );
    let builtin = DeviceProfile::builtin("optane-900p").unwrap();
    assert_eq!(DeviceProfile::load(path).unwrap(), builtin);
    let message = DeviceProfile::load("no/such.toml").unwrap_err().to_string();
    assert!(
        message.starts_with("cannot read profile no/such.toml: "),
        "{message}"
    );
}

#[test]
fn text_that_is_no_profile_is_refused_with_its_line() {
    let line = OPTANE
        .lines()
        .position(|line| line.starts_with("name = "))
        .unwrap()
        + 1;
    for (to, want) in [
        ("colour = 'red'\nname = ", "unknown field `colour`"),
        (
            "name = 1 # ",
            "invalid type: integer `1`, expected a string",
        ),
        ("name ", "key with no value"),
    ] {
        let text = OPTANE.replacen("name = ", to, 1);
        let message = DeviceProfile::parse(&text, "x.toml")
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with(&format!("x.toml:{line}: {want}")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_renamed_field_is_refused_with_its_present_name() {
    for (old, new) in [("look_ns", "poll_ns"), ("cold_most_ns", "cold_max_ns")] {
        let text = SERVER.replacen(&format!("{new} ="), &format!("{old} ="), 1);
        let message = MachineProfile::parse(&text, "x.toml")
            .unwrap_err()
            .to_string();
        let want = format!("the field `{old}` is called `{new}` now: rename it");
        assert!(message.ends_with(&want), "{message}");
    }
}

#[test]
fn a_figure_says_what_kind_it_is_and_where_it_came_from() {
    for (from, to, want) in [
        (
            "kind = \"published\"",
            "kind = \"heard\"",
            "unknown variant `heard`",
        ),
        ("kind = \"published\", ", "", "missing field `kind`"),
        ("source = \"DPAS", "sauce = \"DPAS", "unknown field `sauce`"),
    ] {
        let text = SERVER.replacen(from, to, 1);
        let message = MachineProfile::parse(&text, "x.toml")
            .unwrap_err()
            .to_string();
        assert!(message.contains(want), "{message}");
    }
}

/// Returns the errors of built-in profiles after one change each.
fn refusals<P>(profile: &P, validate: impl Fn(&P) -> Result<(), ProfileError>, cases: &[Case<P>])
where
    P: Clone,
{
    for (change, want) in cases {
        let mut changed = profile.clone();
        change(&mut changed);
        let message = validate(&changed).expect_err(want).to_string();
        assert!(message.ends_with(want), "want {want}, got {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// A change to a profile, and the end of its error message.
type Case<P> = (fn(&mut P), &'static str);

fn set(figure: &mut Figure, value: f64) {
    figure.value = value;
    figure.band = None;
}

#[test]
fn a_device_of_impossible_size_is_refused_by_the_name_of_the_field() {
    refusals(
        &DeviceProfile::builtin("optane-900p").unwrap(),
        DeviceProfile::validate,
        &[
            (|d| d.name.clear(), "name is empty: say what it is"),
            (
                |d| d.model = "jöulio".to_owned(),
                "model must be at most 40 characters of printable ASCII, as Identify's MN is",
            ),
            (
                |d| set(&mut d.capacity_bytes, 513.0),
                "capacity_bytes must be whole blocks of every size in lba.sizes_bytes",
            ),
            (
                |d| set(&mut d.max_transfer_bytes, 12_288.0),
                "max_transfer_bytes must be a power of two, as MDTS is an exponent",
            ),
            (
                |d| set(&mut d.max_queue_entries, 1.0),
                "max_queue_entries must be from 2 to 65536, is 1",
            ),
            (
                |d| d.lba.sizes_bytes.clear(),
                "lba.sizes_bytes is empty: give 512, 4096 or both",
            ),
            (
                |d| d.lba.sizes_bytes.push(520),
                "lba.sizes_bytes[1] must be 512 or 4096, is 520",
            ),
            (
                |d| d.lba.default_bytes = 4096,
                "lba.default_bytes must be one of lba.sizes_bytes",
            ),
        ],
    );
}

#[test]
fn impossible_times_are_refused_by_the_name_of_the_field() {
    refusals(
        &DeviceProfile::builtin("optane-900p").unwrap(),
        DeviceProfile::validate,
        &[
            (
                |d| set(&mut d.service.parallelism, 0.0),
                "service.parallelism must be from 1 to 65536, is 0",
            ),
            (
                |d| set(&mut d.service.parallelism, 6.5),
                "service.parallelism must be a whole number, is 6.5",
            ),
            (
                |d| set(&mut d.service.spread, f64::NAN),
                "service.spread must be a finite number, is NaN",
            ),
            (
                |d| set(&mut d.service.floor, 1.1),
                "service.floor must be from 0 to 1, is 1.1",
            ),
            (
                |d| d.service.floor.value = 0.6,
                "service.floor.band must hold the value 0.6, is [0.7, 1]",
            ),
            (
                |d| d.service.read.clear(),
                "service.read is empty: give at least one { bytes, us }",
            ),
            (
                |d| d.service.read.swap(0, 1),
                "service.read[1].bytes must be more than the row before it: \
                 sort the table by size",
            ),
            (
                |d| set(&mut d.service.write[2].us, 1.0),
                "service.write[2].us must be at least 4.096, in which the fastest link of a drive \
                 (PCIe 6.0 x4, 32 GB/s) carries so much, or not less than the row before it",
            ),
            (
                |d| set(&mut d.service.flush_us, -1.0),
                "service.flush_us must be from 0 to 60000000 microseconds, is -1",
            ),
            (
                |d| set(d.service.read_bandwidth.as_mut().unwrap(), -1.0),
                "service.read_bandwidth must be 0 (no limit) or from 100000 to 10000000000000 \
                 bytes per second, is -1",
            ),
        ],
    );
}

#[test]
fn impossible_tails_and_collections_are_refused_by_the_name_of_the_field() {
    refusals(
        &DeviceProfile::builtin("optane-p4800x").unwrap(),
        DeviceProfile::validate,
        &[
            (
                |d| set(&mut d.service.tail.as_mut().unwrap().probability, 1.5),
                "service.tail.probability must be from 0 to 1, is 1.5",
            ),
            (
                |d| set(&mut d.service.tail.as_mut().unwrap().us, -1.0),
                "service.tail.us must be from 0 to 60000000 microseconds, is -1",
            ),
            (
                // 5.5 us x (1 - 0.9) are above the floor, and 3e-5 x 20 ms is 0.6 us.
                |d| set(&mut d.service.tail.as_mut().unwrap().us, 20_000.0),
                "service.tail must not take more of the mean than lies above service.floor: \
                 lower its probability or us",
            ),
        ],
    );
    fn collection(d: &mut DeviceProfile) -> &mut joulio_model::device::GarbageCollection {
        d.service.garbage_collection.as_mut().unwrap()
    }
    refusals(
        &DeviceProfile::builtin("flash-gc").unwrap(),
        DeviceProfile::validate,
        &[
            (
                |d| set(&mut collection(d).bytes, 0.0),
                "service.garbage_collection.bytes must be from 1 to 9007199254740992, is 0",
            ),
            (
                |d| set(&mut collection(d).us, -1.0),
                "service.garbage_collection.us must be from 0 to 60000000 microseconds, is -1",
            ),
            (
                |d| set(&mut collection(d).fraction, 2.0),
                "service.garbage_collection.fraction must be from 0 to 1, is 2",
            ),
        ],
    );
}

#[test]
fn impossible_power_is_refused_by_the_name_of_the_field() {
    refusals(
        &DeviceProfile::builtin("optane-900p").unwrap(),
        DeviceProfile::validate,
        &[
            (
                |d| set(&mut d.power.read_active_watts, 4.0),
                "power.read_active_watts must not be less than power.idle_watts, which it includes",
            ),
            (
                |d| d.power.states.clear(),
                "power.states must be 1 to 32 states: NVMe has at least power state 0",
            ),
            (
                |d| d.power.states[0].operational = false,
                "power.states[0].operational must be true: the device starts in power state 0",
            ),
            (
                |d| set(&mut d.power.states[0].exit_latency_us, -1.0),
                "power.states[0].exit_latency_us must be from 0 to 4294967295, is -1",
            ),
            (
                |d| d.power.states[0].exit_latency_us.source.clear(),
                "power.states[0].exit_latency_us.source is empty: say what it is",
            ),
            (
                |d| {
                    d.power.states.push(d.power.states[0].clone());
                    set(&mut d.power.states[1].max_power_watts, 20.0);
                },
                "power.states[1].max_power_watts must not exceed the state before it: \
                 NVMe orders states by falling power",
            ),
        ],
    );
    refusals(
        &MachineProfile::builtin("generic-server").unwrap(),
        MachineProfile::validate,
        &[
            (
                |m| set(&mut m.cores, 0.0),
                "cores must be from 1 to 65536, is 0",
            ),
            (
                |m| set(&mut m.base_watts, 0.0),
                "base_watts must be from 0.001 to 100000 watts, is 0",
            ),
            (
                |m| set(&mut m.core_watts.c1, 5.0),
                "core_watts.c1 must not exceed core_watts.spin: \
                 waiting does not cost more than spinning",
            ),
            (
                |m| set(&mut m.core_watts.c1e, 0.01),
                "core_watts.c1e must not be less than core_watts.c6",
            ),
            (
                |m| set(&mut m.wake.interrupt_joules, -1e-6),
                "wake.interrupt_joules must be from 0 to 1 joules, is -0.000001",
            ),
        ],
    );
}

#[test]
fn the_optane_is_the_one_that_was_sold() {
    let optane = DeviceProfile::builtin("optane-900p").unwrap();
    assert_eq!(optane.capacity() / 512, 547_002_288);
    assert_eq!((optane.max_transfer(), optane.mdts()), (131_072, 5));
    assert_eq!(optane.power.states.len(), 1);
}

#[test]
fn a_device_of_several_servers_says_how_far_an_address_binds_its_io_to_one() {
    for name in DeviceProfile::names() {
        let device = DeviceProfile::builtin(name).unwrap();
        let several = device.parallelism().get() > 1;
        // The drive that is made up to show garbage collection alone says so.
        let conflicts = several && name != "flash-gc";
        assert_eq!(conflicts, device.service.channel_share.is_some(), "{name}");
    }
}

#[test]
fn a_processor_finds_the_profile_of_its_machine() {
    let fitting = |name| MachineProfile::fitting(name).map(|profile| profile.name);
    let known = "Intel(R) Xeon(R) CPU E3-1230 v5 @ 3.40GHz";
    assert_eq!(fitting(known).as_deref(), Some("xeon-e3-1230v5"));
    assert_eq!(fitting("Intel(R) Xeon(R) Processor @ 2.50GHz"), None);
    assert_eq!(fitting(""), None);
}

#[test]
fn a_drive_is_known_by_the_model_name_that_the_kernel_has() {
    let fitting = |name| DeviceProfile::fitting(name).map(|profile| profile.name);
    for (model, profile) in [
        ("INTEL SSDPED1D280GA", "optane-900p"),
        ("INTEL SSDPE21K375GA", "optane-p4800x"),
        ("INTEL SSDPE21K100GA", "optane-p4801x"),
        ("Samsung SSD 960 EVO 250GB", "samsung-960-evo"),
        ("Samsung SSD 970 EVO Plus 1TB", "samsung-970-evo-plus"),
        ("joulio emulated Optane 900P   ", "optane-900p"),
    ] {
        assert_eq!(fitting(model).as_deref(), Some(profile), "{model}");
    }
    for unknown in ["", "QEMU HARDDISK", "Samsung SSD 970 EVO 1TB", "SSD"] {
        assert_eq!(fitting(unknown), None, "{unknown}");
    }
    // No drive belongs to two profiles.
    let all: Vec<_> = DeviceProfile::names()
        .map(|name| DeviceProfile::builtin(name).expect("built in"))
        .collect();
    for profile in &all {
        for part in &profile.drives {
            let fits = all.iter().filter(|other| other.fits(part)).count();
            assert_eq!(fits, 1, "{part}");
        }
    }
}

const FIELDS: &str = include_str!("../../../../docs/profiles.md");

#[test]
fn every_field_of_a_profile_is_in_the_documents() {
    fn names(value: &toml::Value, found: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                // The keys of a figure, and the names of a profile's schedulers, are not fields.
                let figure = table.contains_key("kind");
                for (key, value) in table.iter().filter(|_| !figure) {
                    found.push(key.clone());
                    if key == "scheduler" {
                        let schedulers = value.as_table().unwrap();
                        schedulers.values().for_each(|one| names(one, found));
                    } else {
                        names(value, found);
                    }
                }
            }
            toml::Value::Array(array) => array.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (_, text) in AnyProfile::builtin().unwrap() {
        names(&text.parse().map(toml::Value::Table).unwrap(), &mut found);
    }
    assert!(found.len() > 500);
    for name in found {
        let named = [
            format!("`{name}`"),
            format!("[{name}]"),
            format!(".{name}]"),
            format!(".{name}."),
        ];
        let there = named.iter().any(|field| FIELDS.contains(field));
        assert!(there, "docs/profiles.md does not name {name}");
    }
}

/// Adds the figures of `values` with their places: an idle state by its name and a size by its bytes, as profiles list
/// different ones.
fn figures_at(values: &toml::Value, place: &str, found: &mut Vec<(String, Figure)>) {
    if let Ok(figure) = values.clone().try_into() {
        found.push((place.to_owned(), figure));
        return;
    }
    match values {
        toml::Value::Table(table) => {
            for (key, value) in table {
                figures_at(value, &format!("{place}.{key}"), found);
            }
        }
        toml::Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                let name = value.get("state").or_else(|| value.get("bytes"));
                let name = name.map_or_else(|| index.to_string(), |name| format!("{name:?}"));
                figures_at(value, &format!("{place}.{name}"), found);
            }
        }
        _ => {}
    }
}

/// Returns the figures of each built-in profile, by its name.
fn built_in_figures() -> BTreeMap<String, Vec<(String, Figure)>> {
    let figures = |(profile, text): (AnyProfile, &str)| {
        let values = text.parse().map(toml::Value::Table).unwrap();
        let mut found = Vec::new();
        figures_at(&values, "", &mut found);
        (profile.name().to_owned(), found)
    };
    AnyProfile::builtin()
        .unwrap()
        .into_iter()
        .map(figures)
        .collect()
}

#[test]
fn a_figure_as_another_one_is_the_same_or_says_what_that_one_is() {
    let all = built_in_figures();
    let (mut of_others, mut of_its_own) = (0, 0);
    for (profile, text) in AnyProfile::builtin().unwrap() {
        // A line "#   SHORT   NAME.toml" at the top gives another profile a short name.
        let mut names: Vec<(&str, &str)> = all.keys().map(|name| (&**name, &**name)).collect();
        names.extend(text.lines().filter_map(|line| {
            let (short, file) = line.strip_prefix("#   ")?.split_once("  ")?;
            let (file, _) = file.trim_start().split_once(".toml")?;
            all.contains_key(file).then_some((short, file))
        }));
        let own = &all[profile.name()];
        for (place, figure) in own {
            let source = &figure.source;
            let like = source.strip_prefix("as ");
            let Some(source) = like.or_else(|| source.strip_prefix("about ")) else {
                continue;
            };
            let source = source.strip_prefix("the ").unwrap_or(source);
            let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            let starts = |short: &str| {
                let rest = source.strip_prefix(short);
                rest.is_some_and(|rest| !rest.starts_with(inside))
            };
            let line = format!("{}{place}: {source}", profile.name());
            let is = if let Some((_, other)) = names.iter().find(|(short, _)| starts(short)) {
                of_others += 1;
                let mut there = all[*other].iter();
                let Some((_, there)) = there.find(|(one, _)| one == place) else {
                    panic!("{line}: {other} has no such figure");
                };
                there.value
            } else {
                // A figure of the same profile has a dot in its name: kernel.complete_ns.
                let name = source.split([' ', ',', ':', ';']).next().unwrap();
                let mut here = own.iter().filter(|_| name.contains('.'));
                let Some((_, here)) = here.find(|(one, _)| one.ends_with(&format!(".{name}")))
                else {
                    continue;
                };
                of_its_own += 1;
                here.value
            };
            let mut words = source.split(|c: char| c.is_whitespace() || ",;:".contains(c));
            let says = words.any(|word| word.parse::<f64>() == Ok(is));
            assert!(figure.value == is || says, "{line}: that one is {is}");
        }
    }
    assert!(
        of_others > 60 && of_its_own > 2,
        "{of_others}, {of_its_own}"
    );
}

#[test]
fn the_steps_of_xrp_less_a_completion_are_what_each_source_says() {
    let mut found = 0;
    for (profile, figures) in built_in_figures() {
        for (place, figure) in &figures {
            let Some((_, steps)) = figure.source.split_once("XRP: ") else {
                continue;
            };
            let Some(path) = place.strip_suffix(".submit_ns") else {
                continue;
            };
            let line = format!("{profile}{place}: {}", figure.source);
            let (steps, says) = steps.split_once(" less complete_ns are ").expect(&line);
            let steps = steps.split(" + ").map(|step| {
                let ns = step.rsplit(' ').next().unwrap();
                ns.parse::<f64>().expect(&line)
            });
            let complete = format!("{path}.complete_ns");
            let complete = figures.iter().find(|(place, _)| *place == complete);
            let less = steps.sum::<f64>() - complete.unwrap().1.value;
            let says = says.split([' ', ',', ';']).next().unwrap();
            assert_eq!(says.parse(), Ok(less), "{line}");
            assert!(
                figure.kind != FigureKind::Derived || figure.value == less,
                "{line}"
            );
            found += 1;
        }
    }
    assert_eq!(found, 5);
}

#[test]
fn a_census_counts_every_figure_once() {
    for (profile, text) in AnyProfile::builtin().unwrap() {
        let census = profile.census();
        let counted = [
            (census.published, "published"),
            (census.derived, "derived"),
            (census.measured, "measured"),
            (census.fitted, "fitted"),
            (census.guess, "guess"),
        ];
        for (count, kind) in counted {
            let written = text.matches(&format!("kind = \"{kind}\"")).count();
            assert_eq!(count, written, "{} {kind}", profile.name());
        }
    }
}

#[test]
fn a_file_is_a_machines_or_a_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        AnyProfile::read(path.to_str().unwrap())
    };
    assert_eq!(read(OPTANE).unwrap().what(), "device");
    assert_eq!(read(SERVER).unwrap().what(), "machine");
    let bare = OPTANE.replacen("capacity_bytes = {", "capacity_bytes = 5 # {", 1);
    let refused = read(&bare).unwrap_err().to_string();
    assert!(refused.contains("expected a figure, as {"), "{refused}");
    assert!(read("= nonsense").is_err());
}
