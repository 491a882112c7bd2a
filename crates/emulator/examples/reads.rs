//! Reads 4 KiB at a time from a stepped controller, so that instructions per read can be counted.
//!
//! `valgrind --tool=callgrind target/release/examples/reads 20000`

#[path = "../tests/all/common/mod.rs"]
mod common;

use common::{Host, options, transfer};
use joulio_nvme_spec::NvmOpcode;

/// Reads `count` times, one read after the other, and prints what the controller did.
pub fn run(count: u32) {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 64, None);
    let buffer = host.buffer(4096);
    let command = transfer(NvmOpcode::READ, 0, 8, &buffer);
    for cid in 0..count {
        pair.submit(cid as u16, command);
        host.step(0);
        assert!(pair.reap().is_some());
    }
    println!("{:?}", host.device.activity());
}

#[allow(dead_code, reason = "a test runs this file too, by `run`")]
fn main() {
    run(std::env::args().nth(1).map_or(10_000, |count| {
        count.parse::<u32>().expect("a number of reads")
    }));
}
