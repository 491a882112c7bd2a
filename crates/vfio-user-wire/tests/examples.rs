//! Runs the example to its end.

#[path = "../examples/message.rs"]
mod message;

#[test]
fn message() {
    message::main();
}
