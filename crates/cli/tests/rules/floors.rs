//! Floors of the rooms, and rooms and files with unsafe code, are those that ARCHITECTURE.md lists.

use crate::files::{rust_files, workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn architecture() -> Result<String> {
    Ok(fs::read_to_string(workspace().join("ARCHITECTURE.md"))?)
}

/// Returns the floor of each room, from the table that begins with `| floor |`.
fn floors(text: &str) -> BTreeMap<String, u8> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let mut floors = BTreeMap::new();
    for row in rows {
        let mut cells = row.split(" | ");
        let Some(Ok(floor)) = cells.next().map(str::parse::<u8>) else {
            continue;
        };
        let names = cells.next().unwrap_or_default().split('`');
        floors.extend(names.skip(1).step_by(2).map(|name| (name.into(), floor)));
    }
    floors
}

/// Returns the rooms on which each room depends, without dependencies of its tests.
fn arrows() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut arrows = BTreeMap::new();
    for folder in fs::read_dir(workspace().join("crates"))? {
        let folder = folder?.path();
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml"))?.parse()?;
        let room = folder.file_name().ok_or("a folder without a name")?;
        let names = dependencies(&manifest).into_iter();
        let rooms = names.filter_map(|(name, _)| name.strip_prefix("joulio-"));
        let below = rooms.map(String::from).collect();
        arrows.insert(room.to_string_lossy().into_owned(), below);
    }
    Ok(arrows)
}

#[test]
fn every_room_has_a_floor_and_every_arrow_points_down() -> Result<()> {
    let floors = floors(&architecture()?);
    let mut wrong = Vec::new();
    for (room, below) in arrows()? {
        let Some(floor) = floors.get(&room) else {
            wrong.push(format!("{room} has no floor"));
            continue;
        };
        for other in below {
            match floors.get(&other) {
                Some(lower) if lower < floor => {}
                lower => wrong.push(format!("{room} ({floor}) on {other} ({lower:?})")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Returns all rooms on which a room depends, directly or not.
fn foundation(arrows: &BTreeMap<String, BTreeSet<String>>, room: &str) -> BTreeSet<String> {
    let (mut all, mut left) = (BTreeSet::new(), vec![room.to_string()]);
    while let Some(room) = left.pop() {
        for below in arrows.get(&room).into_iter().flatten() {
            if all.insert(below.clone()) {
                left.push(below.clone());
            }
        }
    }
    all
}

#[test]
fn some_rooms_never_stand_on_others() -> Result<()> {
    let arrows = arrows()?;
    let never: [(&str, &[&str]); 4] = [
        ("host", &["lab", "workload", "twin"]),
        (
            "job",
            &["energy", "nvme", "workload", "twin", "host", "lab"],
        ),
        ("twin", &["workload", "host", "lab"]),
        ("engine", &["job", "energy", "nvme"]),
    ];
    for (room, others) in never {
        let below = foundation(&arrows, room);
        assert!(!below.is_empty(), "{room} is not a room any more");
        let found: Vec<_> = others
            .iter()
            .filter(|name| below.contains(**name))
            .collect();
        assert!(found.is_empty(), "{room} on {found:?}");
    }
    Ok(())
}

/// Dependencies that a program gets neither with the driver nor with the trait of engines.
const HEAVY: [&str; 5] = [
    "comfy-table",
    "hdrhistogram",
    "schemars",
    "serde",
    "serde_json",
];

/// Returns a room's dependencies, of every target and without those of its tests.
fn dependencies(manifest: &toml::Table) -> Vec<(&String, &toml::Value)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let kinds =
        tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    let entries = kinds.flatten().filter_map(toml::Value::as_table);
    entries.flatten().collect()
}

/// Returns the strings of a list; none, if there is no list.
fn strings(list: Option<&toml::Value>) -> Vec<String> {
    let list = list.and_then(toml::Value::as_array);
    let strings = list.into_iter().flatten().filter_map(toml::Value::as_str);
    strings.map(String::from).collect()
}

/// Returns what a program gets that depends on a room as it is by default: pairs of a room and a dependency of its
/// own. A feature that one room switches on in another counts; features of other crates do not.
fn linked(room: &str) -> Result<BTreeSet<(String, String)>> {
    let mut linked = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut left = vec![(room.to_string(), "default".to_string())];
    while let Some((room, feature)) = left.pop() {
        if !seen.insert((room.clone(), feature.clone())) {
            continue;
        }
        let path = workspace().join("crates").join(&room).join("Cargo.toml");
        let manifest: toml::Table = fs::read_to_string(path)?.parse()?;
        let features = manifest.get("features");
        let mut needed = BTreeSet::new();
        for other in strings(features.and_then(|all| all.get(&feature))) {
            match (other.strip_prefix("dep:"), other.split_once('/')) {
                (Some(name), _) => {
                    needed.insert(name.to_string());
                }
                (None, Some((name, feature))) => {
                    let name = name.trim_end_matches('?');
                    needed.insert(name.to_string());
                    if let Some(below) = name.strip_prefix("joulio-") {
                        left.push((below.to_string(), feature.to_string()));
                    }
                }
                (None, None) => left.push((room.clone(), other)),
            }
        }
        for (name, value) in dependencies(&manifest) {
            let optional = value.get("optional").and_then(toml::Value::as_bool);
            if optional == Some(true) && !needed.contains(name) {
                continue;
            }
            linked.insert((room.clone(), name.clone()));
            let Some(below) = name.strip_prefix("joulio-") else {
                continue;
            };
            let features = strings(value.get("features"));
            left.extend(features.into_iter().map(|name| (below.to_string(), name)));
            left.push((below.to_string(), "default".to_string()));
        }
    }
    Ok(linked)
}

#[test]
fn a_program_that_links_the_driver_gets_neither_statistics_nor_serde() -> Result<()> {
    for room in ["nvme", "engine"] {
        let linked = linked(room)?;
        let has = |room: &str, name: &str| linked.contains(&(room.to_string(), name.to_string()));
        assert!(
            has("wait", "joulio-cpu") && has("cpu", "raw-cpuid"),
            "{linked:?}"
        );
        let heavy: Vec<_> = linked
            .iter()
            .filter(|(_, name)| HEAVY.contains(&name.as_str()))
            .collect();
        assert!(heavy.is_empty(), "{room}: {heavy:?}");
    }
    Ok(())
}

#[test]
fn what_a_feature_of_another_room_switches_on_is_found() -> Result<()> {
    let has = |room: &str, of: &str, name: &str| -> Result<bool> {
        Ok(linked(room)?.contains(&(of.to_string(), name.to_string())))
    };
    assert!(has("model", "units", "strsim")? && !has("nvme", "units", "strsim")?);
    assert!(has("job", "wait", "serde")? && has("job", "units", "serde")?);
    assert!(has("cli", "trace", "serde_json")? && !has("workload", "trace", "serde_json")?);
    Ok(())
}

/// Returns the files with an `unsafe` block, function or implementation, from the folder of their room on.
fn unsafe_files() -> Result<BTreeSet<PathBuf>> {
    let rooms = workspace().join("crates");
    let mut found = BTreeSet::new();
    for path in rust_files(&rooms)? {
        if is_unsafe(&fs::read_to_string(&path)?) {
            found.insert(path.strip_prefix(&rooms)?.to_path_buf());
        }
    }
    Ok(found)
}

fn is_unsafe(source: &str) -> bool {
    let code = source.lines().map(str::trim_start);
    let code = code.filter(|line| !line.starts_with("//"));
    code.into_iter().any(|line| {
        let mut behind = line.split("unsafe ").skip(1);
        behind.any(|rest| {
            ["{", "fn", "impl", "extern"]
                .iter()
                .any(|form| rest.starts_with(form))
        })
    })
}

/// Returns what stands between backquotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

/// Returns the rooms, and the other files, that ARCHITECTURE.md lists as those with unsafe code.
fn named_as_unsafe() -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let text = architecture()?;
    let paragraph = text.split("**Unsafe code**").nth(1);
    let paragraph = paragraph.and_then(|rest| rest.split("\n\n").next());
    let parts = paragraph.and_then(|paragraph| paragraph.split_once(';'));
    let (rooms, files) = parts.ok_or("no paragraph on unsafe code")?;
    Ok((quoted(rooms), quoted(files)))
}

#[test]
fn unsafe_code_is_in_the_rooms_and_files_that_are_named() -> Result<()> {
    let (rooms, mut files) = named_as_unsafe()?;
    assert!(
        files.remove("crates/cli/tests/rules/floors.rs"),
        "{files:?}"
    );

    let mut unsafe_rooms = BTreeSet::new();
    let mut elsewhere = BTreeSet::new();
    for path in unsafe_files()? {
        let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
        if names[1] == "src" {
            unsafe_rooms.insert(names[0].to_string());
        } else if !rooms.contains(&*names[0]) {
            elsewhere.insert(format!("crates/{}", names.join("/")));
        }
    }
    assert_eq!(unsafe_rooms, rooms);
    assert_eq!(elsewhere, files);
    Ok(())
}

#[test]
fn every_room_without_unsafe_code_forbids_it() -> Result<()> {
    let (named, _) = named_as_unsafe()?;
    for room in fs::read_dir(workspace().join("crates"))? {
        let room = room?;
        if named.contains(&*room.file_name().to_string_lossy()) {
            continue;
        }
        for root in ["src/lib.rs", "src/main.rs"] {
            let path = room.path().join(root);
            let forbids = !path.exists()
                || fs::read_to_string(&path)?.contains("\n#![forbid(unsafe_code)]\n");
            assert!(forbids, "{}", path.display());
        }
    }
    Ok(())
}

/// A file of tests that no program includes would never be run.
#[test]
fn every_file_of_tests_is_a_module_of_its_program() -> Result<()> {
    for room in fs::read_dir(workspace().join("crates"))? {
        let folder = room?.path().join("tests/all");
        let Ok(program) = fs::read_to_string(folder.join("main.rs")) else {
            continue;
        };
        for file in fs::read_dir(&folder)? {
            let path = file?.path();
            let name = path.file_stem().ok_or("a file without a name")?;
            let name = name.to_string_lossy();
            let module = program.lines().any(|line| line == format!("mod {name};"));
            assert!(module || name == "main", "{} never runs", path.display());
        }
    }
    Ok(())
}
