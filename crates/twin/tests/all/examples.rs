//! Runs the example to its end.

#[path = "../../examples/speed.rs"]
mod speed;

#[test]
fn speed() {
    speed::run_all(1_000).unwrap();
}
