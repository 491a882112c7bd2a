//! Runs the example to its end.

#[path = "../examples/timeline.rs"]
mod timeline;

#[test]
fn timeline() {
    timeline::main();
}
