//! Runs the example to its end, on a captured machine.

#[path = "../../examples/meters.rs"]
mod meters;

use crate::common::server;

#[test]
fn meters() {
    meters::run(&server().root()).unwrap();
}
