//! Runs the example to its end.

#[path = "../examples/waits.rs"]
mod waits;

#[test]
fn waits() {
    waits::main();
}
