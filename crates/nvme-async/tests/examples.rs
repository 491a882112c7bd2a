//! Runs the examples to their ends.

#[path = "../examples/tokio.rs"]
mod tokio_example;

#[test]
fn tokio() {
    tokio_example::main().unwrap();
}
