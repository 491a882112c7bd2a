//! A host that sends anything to a server. Whatever it sent, the next host is served: it reads back its own writes.
#![no_main]

mod host;
mod saying;
mod says;
mod servers;

use arbitrary::Arbitrary;
use host::Host;
use libfuzzer_sys::fuzz_target;
use says::Say;
use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Choice of one of two servers: seldom the one with mapped doorbells, which are polled at intervals.
    doorbells: u8,
    /// Whether the host begins as it should, with a write and a read before the rest.
    mannered: bool,
    says: Vec<Say>,
}

/// Connects, and reads the replies in another thread: unread replies would block the server, and then this side.
fn with_host(mapped: bool, speak: impl FnOnce(&mut Host)) {
    let mut host = Host::connect(mapped);
    let replies = host.stream.try_clone().expect("a descriptor");
    std::thread::scope(|scope| {
        scope.spawn(|| drain(&replies));
        speak(&mut host);
        // Nothing follows; the server has let go when the replies end.
        let _ = host.stream.shutdown(Shutdown::Write);
    });
}

fn drain(mut replies: &UnixStream) {
    let mut sink = [0; 4096];
    while replies.read(&mut sink).is_ok_and(|read| read > 0) {}
}

fuzz_target!(|input: Input| {
    let mapped = input.doorbells % 16 == 15;
    with_host(mapped, |host| {
        if input.mannered {
            host.begin();
        }
        for say in &input.says {
            host.say(say);
        }
        if input.mannered {
            // The device's thread gets time to execute what was rung for.
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    with_host(mapped, Host::begin);
});
