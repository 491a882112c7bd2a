//! Runs the example to its end.

#[path = "../examples/reads.rs"]
mod reads;

#[test]
fn reads() {
    reads::main().unwrap();
}
