//! Runs the example to its end.

#[path = "../examples/command.rs"]
mod command;

#[test]
fn command() {
    command::main();
}
