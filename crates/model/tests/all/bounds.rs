//! Every figure of every profile has bounds, and the message that refuses it gives the field and the range.

use joulio_model::{DeviceProfile, MachineProfile, ProfileError};
use toml::Value;

/// A step of a path in a profile's TOML.
#[derive(Clone)]
enum Step {
    Key(String),
    Row(usize),
}

/// Collects the paths of all figures below `value`: tables with a value and a kind.
fn figures(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match value {
        Value::Table(table) if table.contains_key("value") && table.contains_key("kind") => {
            found.push(path.clone());
        }
        Value::Table(table) => {
            for (key, below) in table {
                path.push(Step::Key(key.clone()));
                figures(below, path, found);
                path.pop();
            }
        }
        Value::Array(rows) => {
            for (row, below) in rows.iter().enumerate() {
                path.push(Step::Row(row));
                figures(below, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns the path of a field in the form of error messages.
fn field(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Row(row) => text += &format!("[{row}]"),
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text += &format!(".{key}"),
        }
    }
    text
}

/// Returns `profile` with `value` at `path`, and without a band there.
fn with(profile: &Value, path: &[Step], value: f64) -> String {
    let mut profile = profile.clone();
    let mut at = &mut profile;
    for step in path {
        at = match step {
            Step::Key(key) => &mut at[key.as_str()],
            Step::Row(row) => &mut at[*row],
        };
    }
    let figure = at.as_table_mut().expect("a figure");
    figure.insert("value".into(), Value::Float(value));
    figure.remove("band");
    toml::to_string(&profile).expect("TOML")
}

fn folder(kind: &str) -> Vec<(String, Value)> {
    let folder = format!("{}/../../profiles/{kind}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("profiles");
    let files = files.map(|file| file.expect("a file").path());
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("text");
        let name = path.display().to_string();
        (name, toml::from_str(&text).expect("TOML"))
    };
    files.map(read).collect()
}

/// Checks that no figure of any profile accepts `value`; the message is one line with the field and, for a number,
/// the range.
#[track_caller]
fn nowhere(value: f64) {
    let parse = |kind: &str, text: &str| -> Result<(), ProfileError> {
        match kind {
            "devices" => DeviceProfile::parse(text, "x.toml").map(drop),
            _ => MachineProfile::parse(text, "x.toml").map(drop),
        }
    };
    for kind in ["devices", "machines"] {
        let profiles = folder(kind);
        assert!(profiles.len() >= 5, "{kind}");
        for (name, profile) in profiles {
            let mut found = Vec::new();
            figures(&profile, &mut Vec::new(), &mut found);
            assert!(found.len() >= 10, "{name}");
            for path in found {
                let field = field(&path);
                let Err(error) = parse(kind, &with(&profile, &path, value)) else {
                    panic!("{name}: {field} takes {value}");
                };
                let said = error.to_string();
                assert!(
                    said.starts_with(&format!("x.toml: {field} must be ")),
                    "{said}"
                );
                let range = said.contains(" from ") && said.contains(" to ");
                assert!(range || !value.is_finite(), "{field}: {said}");
                assert_eq!(said.lines().count(), 1, "{said}");
            }
        }
    }
}

#[test]
fn no_figure_is_beyond_all_bounds() {
    nowhere(1e308);
}

#[test]
fn no_figure_is_negative() {
    nowhere(-1.0);
}

#[test]
fn no_figure_is_a_number_that_is_none() {
    nowhere(f64::NAN);
    nowhere(f64::INFINITY);
}

/// Returns the error message for `value` in the figure `key` of `table`.
fn device_says(table: &str, key: &str, value: f64) -> String {
    let text = include_str!("../../../../profiles/devices/optane-900p.toml");
    let profile: Value = toml::from_str(text).expect("TOML");
    let path = [Step::Key(table.into()), Step::Key(key.into())];
    let error = DeviceProfile::parse(&with(&profile, &path, value), "x.toml");
    error.expect_err("it is refused").to_string()
}

#[test]
fn a_bandwidth_that_no_device_has_is_refused_and_zero_is_no_limit() {
    for key in ["read_bandwidth", "write_bandwidth"] {
        for value in [5e-324, 1.0, 99e3, 1e15] {
            assert_eq!(
                device_says("service", key, value),
                format!(
                    "x.toml: service.{key} must be 0 (no limit) or from 100000 to 10000000000000 \
                     bytes per second, is {value}"
                )
            );
        }
    }
    let text = include_str!("../../../../profiles/devices/optane-900p.toml");
    let profile: Value = toml::from_str(text).expect("TOML");
    let path = [
        Step::Key("service".into()),
        Step::Key("read_bandwidth".into()),
    ];
    for value in [0.0, 1e5, 1e13] {
        DeviceProfile::parse(&with(&profile, &path, value), "x.toml").expect("a bandwidth");
    }
}

#[test]
fn watts_that_no_device_draws_are_refused() {
    assert_eq!(
        device_says("power", "read_active_watts", 1e4),
        "x.toml: power.read_active_watts must be from 0 to 1000 watts, is 10000"
    );
}

#[test]
fn a_machine_draws_more_than_the_least_number_there_is() {
    let text = include_str!("../../../../profiles/machines/xeon-e3-1230v5.toml");
    let profile: Value = toml::from_str(text).expect("TOML");
    for (path, range) in [
        (vec!["base_watts"], "from 0.001 to 100000 watts"),
        (vec!["core_watts", "spin"], "from 0.000001 to 1000 watts"),
        (
            vec!["frequency", "reference_hertz"],
            "from 1000000 to 100000000000 hertz",
        ),
    ] {
        let steps: Vec<_> = path.iter().map(|key| Step::Key((*key).into())).collect();
        let error = MachineProfile::parse(&with(&profile, &steps, 5e-324), "x.toml");
        let said = error.expect_err("it is refused").to_string();
        assert!(
            said.contains(&format!("{} must be {range}, is ", field(&steps))),
            "{said}"
        );
    }
}
