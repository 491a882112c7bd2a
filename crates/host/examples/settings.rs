//! Prints this machine's settings that change the cost of an I/O. Changes none.

use joulio_host::knobs::list;
use std::path::Path;

/// Prints a line for each setting: of the machine, and of `disk` if there is one.
pub fn run(disk: Option<&str>) {
    for knob in list(Path::new("/"), disk) {
        match knob.found {
            Ok((value, _)) => println!("{:18} {value}", knob.name),
            Err(why) => println!("{:18} - {why}", knob.name),
        }
    }
}

#[allow(dead_code, reason = "a test runs this file too, by `run`")]
fn main() {
    run(std::env::args().nth(1).as_deref());
}
