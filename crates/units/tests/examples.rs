//! Runs the example to its end.

#[path = "../examples/sum.rs"]
mod sum;

#[test]
fn sum() {
    sum::main();
}
