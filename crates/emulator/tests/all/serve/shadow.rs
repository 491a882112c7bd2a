//! Doorbell Buffer Config (Base 5.8): a host that rings through its own memory.

use crate::serve::client::{BASE, Client, Ring, serve};
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use joulio_nvme_spec::{AdminOpcode, Command, NamespaceId, NvmOpcode, Status};
use std::sync::atomic::{Ordering, fence};

const QUEUE: usize = 0x4000;
const SHADOW: usize = 0x8000;
const EVENTS: usize = 0x9000;
const BUFFER: usize = 0x10_0000;

fn configure(doorbells: u64, events: u64) -> Command {
    let mut command = Command::admin(AdminOpcode::DOORBELL_BUFFER_CONFIG);
    command.prp1.set(doorbells);
    command.prp2.set(events);
    command
}

fn read() -> Command {
    let mut command = Command::transfer(NvmOpcode::READ, NamespaceId(1), 0, 8);
    command.prp1.set(BASE + BUFFER as u64);
    command
}

/// Rings as Base 5.8 requires of a host; returns whether that took a message.
fn ring(client: &mut Client, qid: u16, side: u16, value: u32) -> bool {
    let at = usize::from(qid) * 8 + usize::from(side) * 4;
    let old = client.memory.load_u32(SHADOW + at) as u16;
    client.memory.store_u32(SHADOW + at, value);
    fence(Ordering::SeqCst);
    let event = client.memory.load_u32(EVENTS + at) as u16;
    let new = value as u16;
    let passed = new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
    if passed {
        client.ring(qid, side, value);
    }
    passed
}

fn shadowed(client: &mut Client) -> Ring {
    client.must(configure(BASE + SHADOW as u64, BASE + EVENTS as u64));
    client.pair(1, QUEUE, None)
}

#[test]
fn no_ring_is_lost_and_not_each_takes_a_message() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut pair = shadowed(&mut client);
    let rounds = match std::env::var_os("JOULIO_THOROUGH") {
        Some(_) => 20_000,
        None => 2_000,
    };
    let mut messages = 0;
    for round in 0..rounds {
        client.put(&mut pair, read(), round as u16);
        let tail = (round + 1) % 16;
        messages += u32::from(ring(&mut client, 1, 0, tail));
        // Hangs here, should a ring be lost.
        while client.peek(&mut pair).is_none() {
            std::hint::spin_loop();
        }
        messages += u32::from(ring(&mut client, 1, 1, tail));
    }
    assert!(messages < 2 * rounds, "{messages}");
    assert!(messages >= 1, "the first, at least, wakes it");
    drop(client);
    assert_eq!(server.end().reads, u64::from(rounds));
}

#[test]
fn a_sleeping_controller_is_woken_by_a_message_and_polls_nothing_before() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut pair = shadowed(&mut client);
    for round in 0..20 {
        // Asleep by then, mostly; whether it is, the claim holds.
        std::thread::sleep(std::time::Duration::from_millis(2));
        client.put(&mut pair, read(), round as u16);
        ring(&mut client, 1, 0, (round + 1) % 16);
        while client.peek(&mut pair).is_none() {
            std::thread::yield_now();
        }
        ring(&mut client, 1, 1, (round + 1) % 16);
    }
    drop(client);
    assert_eq!(server.end().reads, 20);
}

#[test]
fn a_full_completion_queue_learns_of_room_from_its_shadow() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut pair = shadowed(&mut client);
    // 15 fill the completion queue; more are held until there is room.
    let mut tail = 0;
    let mut seen = 0;
    for round in 0..10 {
        for _ in 0..15 {
            client.put(&mut pair, read(), round);
            tail = (tail + 1) % 16;
        }
        ring(&mut client, 1, 0, tail);
        let mut head = seen % 16;
        for _ in 0..15 {
            while client.peek(&mut pair).is_none() {
                std::thread::yield_now();
            }
            seen += 1;
            head = (head + 1) % 16;
            ring(&mut client, 1, 1, head);
        }
    }
    assert_eq!(seen, 150);
}

#[test]
fn a_value_that_cannot_be_is_ignored_in_the_shadow_too() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut pair = shadowed(&mut client);
    for value in [16, 0xffff, u32::MAX] {
        client.memory.store_u32(SHADOW + 8, value);
        client.ring(1, 0, value);
    }
    client.put(&mut pair, read(), 1);
    client.memory.store_u32(SHADOW + 8, 1);
    client.ring(1, 0, 1);
    assert!(client.reap(&mut pair).status().is_success());
}

#[test]
fn pages_that_are_not_there_are_refused_and_taking_them_away_is_fatal() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    for (doorbells, events) in [
        (BASE + 4, BASE + EVENTS as u64),
        (BASE + SHADOW as u64, 0),
        (u64::MAX, u64::MAX),
    ] {
        let refused = client.admin(configure(doorbells, events)).status();
        assert_eq!(refused.kind(), Status::INVALID_FIELD);
    }
    let other = 0x8000_0000;
    client.map(other, 0x10_0000, 8192, 3).unwrap();
    client.must(configure(other, other + 4096));
    client.unmap(other, 8192).unwrap();
    assert!(client.status().cfs());
}

#[test]
fn mapped_doorbells_have_no_shadow() {
    let server = serve(Mapped);
    let mut client = Client::enabled(&server.path);
    let pages = configure(BASE + SHADOW as u64, BASE + EVENTS as u64);
    let refused = client.admin(pages).status();
    assert_eq!(refused.kind(), Status::INVALID_OPCODE);
}
