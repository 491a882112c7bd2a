//! Runs the example to its end.

#[path = "../../examples/service_times.rs"]
mod service_times;

#[test]
fn service_times() {
    service_times::main().unwrap();
}
