//! Prints this machine's settings that change the cost of an I/O. Changes none.

use joulio_host::knobs::list;
use std::path::Path;

fn main() {
    let disk = std::env::args().nth(1);
    for knob in list(Path::new("/"), disk.as_deref()) {
        match knob.found {
            Ok((value, _)) => println!("{:18} {value}", knob.name),
            Err(why) => println!("{:18} - {why}", knob.name),
        }
    }
}
