//! Runs the example to its end.

#[path = "../examples/controllers.rs"]
mod controllers;

#[test]
fn controllers() {
    controllers::main().unwrap();
}
