//! Tests of `joulio profiles`.

use crate::common::joulio;
use joulio_model::AnyProfile;
use predicates::prelude::*;
use serde_json::Value;

#[test]
fn the_list_has_every_profile_and_counts_what_is_guessed() {
    let done = joulio("profiles -o json").assert().success();
    let list: Vec<Value> = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let text = joulio("profiles").assert().success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    let all = AnyProfile::builtin().unwrap();
    assert_eq!(list.len(), all.len());
    for (listed, (profile, _)) in list.iter().zip(&all) {
        let name = profile.name();
        assert_eq!(
            (&listed["name"], &listed["what"]),
            (&name.into(), &profile.what().into())
        );
        assert_eq!(listed["figures"]["guess"], profile.census().guess);
        assert!(text.contains(&format!("\n {name} ")), "{name}");
    }
}

#[test]
fn a_profile_is_printed_as_it_is_and_is_one_in_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    for (profile, text) in AnyProfile::builtin().unwrap() {
        let line = format!("profiles {}", profile.name());
        joulio(&line).assert().success().stdout(text);
        std::fs::write(&file, text).unwrap();
        let mut check = joulio("profiles");
        check.arg(&file).assert().success().stdout(
            predicate::str::contains(format!("a {}'s profile", profile.what()))
                .and(predicate::str::contains(format!("'{}'", profile.name()))),
        );
    }
}

#[test]
fn what_is_no_profile_is_refused_with_the_line_or_the_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, "name = \"x\"\n[service]\nparallelism = 0\n").unwrap();
    let refused = |argument: &str| joulio("profiles").arg(argument).assert().code(2).stdout("");
    refused(file.to_str().unwrap()).stderr(predicate::str::contains("bad.toml:3: "));
    refused("optan").stderr(predicate::str::contains("known are generic-server"));
    refused("/nonexistent.toml").stderr(predicate::str::contains("cannot read profile"));
}

#[test]
fn figures_beyond_what_is_built_are_refused_by_field_and_range() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let device = include_str!("../../../../profiles/devices/optane-900p.toml");
    let machine = include_str!("../../../../profiles/machines/generic-server.toml");
    for (text, figure, value, command, hints) in [
        (
            device,
            "read_bandwidth = { value = 2.395e9",
            "read_bandwidth = { value = 5e-324",
            "bench --device emulated:x.toml",
            ["service.read_bandwidth", "from 100000 to"],
        ),
        (
            device,
            "read_bandwidth = { value = 2.395e9",
            "read_bandwidth = { value = 1",
            "bench --twin --device emulated:x.toml",
            ["service.read_bandwidth", "bytes per second, is 1"],
        ),
        (
            machine,
            "base_watts = { value = 105.0",
            "base_watts = { value = 1e308",
            "bench --machine x.toml",
            ["base_watts", "from 0.001 to 100000 watts"],
        ),
    ] {
        assert!(text.contains(figure), "{figure}");
        let start = text.find(figure).expect("there");
        let end = start + text[start..].find('\n').expect("a line ends");
        let line = format!("{value}, kind = \"guess\", source = \"a test\" }}");
        let text = format!("{}{line}{}", &text[..start], &text[end..]);
        std::fs::write(room.path().join("x.toml"), text).expect("written");
        let said = crate::common::refused(room.path(), command);
        let check = crate::common::failed(room.path(), "profiles x.toml", 2);
        for said in [said, check] {
            assert!(hints.iter().all(|hint| said.contains(hint)), "{said}");
        }
    }
}
