//! A server that has nothing to do.

use crate::serve::client::{Client, serve};
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use std::time::{Duration, Instant};

const WHILE: Duration = Duration::from_millis(100);

#[test]
fn an_idle_server_of_trapped_doorbells_polls_nothing() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    client.pair(1, 0x4000, None);
    let mut before = server.polls.count();
    // Ends when it has parked, however late that is.
    loop {
        std::thread::sleep(WHILE);
        let now = server.polls.count();
        if now == before {
            break;
        }
        before = now;
    }
    std::thread::sleep(WHILE);
    assert_eq!(server.polls.count(), before);
}

#[test]
fn an_idle_server_of_mapped_doorbells_polls_at_most_a_thousand_times_a_second() {
    let server = serve(Mapped);
    let mut client = Client::enabled(&server.path);
    client.pair(1, 0x4000, None);
    loop {
        let (start, before) = (Instant::now(), server.polls.count());
        std::thread::sleep(WHILE);
        let polls = server.polls.count() - before;
        // One may fall between the two.
        if polls > 0 && u128::from(polls - 1) <= start.elapsed().as_millis() {
            break;
        }
    }
    let (start, before) = (Instant::now(), server.polls.count());
    std::thread::sleep(WHILE);
    let polls = server.polls.count() - before;
    assert!(u128::from(polls.saturating_sub(1)) <= start.elapsed().as_millis());
}

#[test]
fn without_a_host_there_is_nothing_to_poll() {
    let server = serve(Mapped);
    drop(Client::enabled(&server.path));
    let mut before = server.polls.count();
    loop {
        std::thread::sleep(WHILE);
        let now = server.polls.count();
        if now == before {
            break;
        }
        before = now;
    }
}
