//! Runs the example to its end.

#[path = "../examples/settings.rs"]
mod settings;

#[test]
fn settings() {
    settings::run(None);
}

#[test]
fn settings_of_a_disk_that_does_not_exist() {
    settings::run(Some("no-such-disk"));
}
