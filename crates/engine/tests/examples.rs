//! Runs the example to its end.

#[path = "../examples/null.rs"]
mod null;

#[test]
fn null() {
    null::main().unwrap();
}
