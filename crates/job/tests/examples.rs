//! Runs the example to its end.

#[path = "../examples/schedule.rs"]
mod schedule;

#[test]
fn schedule() {
    schedule::main().unwrap();
}
