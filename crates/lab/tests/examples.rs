//! Runs the example to its end.

#[path = "../examples/summary.rs"]
mod summary;

#[test]
fn summary() {
    summary::main();
}
