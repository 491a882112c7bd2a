//! A hostile host: whatever it sends, the server survives.

use crate::serve::client::{Client, quiet, serve};
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
use joulio_vfio_user_wire::{Header, IrqSet, command, flags, pci};
use proptest::prelude::*;
use rustix::fs::{
    FlockOperation, MemfdFlags, OFlags, fcntl_getfl, fcntl_lock, fcntl_setfl, memfd_create,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use zerocopy::IntoBytes;

#[test]
fn a_length_that_cannot_be_ends_the_connection() {
    let server = serve(Trapped);
    for size in [0, 15, (1 << 20) + 33, u32::MAX] {
        let mut client = Client::settled(&server.path);
        let header = Header {
            size,
            ..client.header(command::DEVICE_RESET, &[])
        };
        client.send(header.as_bytes(), &[]).unwrap();
        assert!(client.reply().is_err(), "{size}");
    }
}

#[test]
fn truncated_bodies_are_refused_one_by_one() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    for number in 2..=10 {
        for len in 0..4 {
            let refused = client.ask(number, &vec![0xff; len], &[]);
            assert!(refused.is_err(), "{number} {len}");
        }
    }
    for number in [0, 6, 11, 12, 14, 15, 0xffff] {
        let refused = client.ask(number, &[0; 64], &[]);
        assert_eq!(refused, Err(Errno::NOTSUP), "{number}");
    }
    assert!(client.read(pci::CONFIG, 0, 4).is_ok());
}

#[test]
fn replies_that_nobody_requested_are_refused() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    for bits in [flags::REPLY, flags::ERROR, !flags::NO_REPLY] {
        let header = Header {
            flags: bits,
            ..client.header(command::DEVICE_RESET, &[])
        };
        client.send(header.as_bytes(), &[]).unwrap();
        assert!(client.reply().unwrap().0.is_error());
    }
}

#[test]
fn more_descriptors_than_a_message_has_end_the_connection() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let file = client.file.try_clone().unwrap();
    let fds: Vec<BorrowedFd<'_>> = (0..40).map(|_| file.as_fd()).collect();
    let header = client.header(command::DEVICE_RESET, &[]);
    client.send(header.as_bytes(), &fds).unwrap();
    assert!(client.reply().is_err());
    Client::settled(&server.path);
}

#[test]
fn an_event_that_is_full_and_blocks_is_waited_for_by_nobody() {
    for doorbells in [Mapped, Trapped] {
        let server = serve(doorbells);
        let mut client = Client::enabled(&server.path);
        // A server that waits is an error of this test, and not its end.
        let limit = Some(Duration::from_secs(20));
        client.stream.set_read_timeout(limit).unwrap();
        let mut ring = client.pair(1, 0x10000, Some(0));
        let events = client.wire(0, 1);
        // The flag and the count are shared: it is the host's word that counts.
        let flags = fcntl_getfl(&events[0]).unwrap();
        fcntl_setfl(&events[0], flags & !OFlags::NONBLOCK).unwrap();
        rustix::io::write(&events[0], &(u64::MAX - 1).to_ne_bytes()).unwrap();
        // The device's thread raises it.
        let flush = Command::nvm(NvmOpcode::FLUSH, NamespaceId(1));
        client.submit(&mut ring, flush, 1);
        client.reap(&mut ring);
        assert!(client.read(pci::CONFIG, 0, 4).is_ok());
        // The message's thread raises it.
        let trigger = IrqSet::DATA_NONE | IrqSet::TRIGGER;
        client.set_irqs(trigger, 0, 1, &[]).unwrap();
        assert!(client.read(pci::CONFIG, 0, 4).is_ok());
        drop(client);
        // The next host finds the controller, and the server ends.
        drop(Client::enabled(&server.path));
        assert_eq!(server.end().clients, 2);
    }
}

#[test]
fn a_host_that_reads_no_replies_waits_for_nobody_but_itself() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    client.stream.set_nonblocking(true).unwrap();
    // Reads of all of the configuration space, until nothing more goes in.
    let body = [0u64.to_le_bytes(), ((4096u64 << 32) | 7).to_le_bytes()].concat();
    let message = [client.header(command::REGION_READ, &body).as_bytes(), &body].concat();
    while client.send(&message, &[]).is_ok() {}
    let mut second = Client::connect(&server.path);
    assert_eq!(second.version(0, 1).unwrap().err(), Some(Errno::BUSY));
}

#[test]
fn a_command_that_wants_no_reply_has_none() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let header = quiet(client.header(command::DEVICE_RESET, &[]));
    client.send(header.as_bytes(), &[]).unwrap();
    // The next reply is that of the next command.
    assert!(client.read(pci::CONFIG, 0, 4).is_ok());
}

/// Generates a message: mostly of a command that exists, sometimes with a valid body.
fn message() -> impl Strategy<Value = (u16, u32, Vec<u8>, usize)> {
    let word = prop_oneof![
        Just(0u32),
        Just(1),
        Just(7),
        Just(32),
        Just(0x1000),
        Just(0x4000_0000),
        Just(u32::MAX),
        0..0x4000u32,
        any::<u32>()
    ];
    let body = prop::collection::vec(word, 0..16)
        .prop_map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect());
    let flags = prop_oneof![8 => Just(0u32), 1 => Just(16), 1 => any::<u32>()];
    let number = prop_oneof![9 => 0..16u16, 1 => any::<u16>()];
    (number, flags, body, 0..3usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_messages_end_the_server(messages in prop::collection::vec(message(), 1..40), mapped: bool) {
        let server = serve(if mapped { Mapped } else { Trapped });
        let mut client = Client::enabled(&server.path);
        let file = client.file.try_clone().unwrap();
        let fds = [file.as_fd(), file.as_fd()];
        for (number, flags, body, count) in messages {
            let header = Header { flags, ..client.header(number, &body) };
            if client.send(&[header.as_bytes(), &body].concat(), &fds[..count]).is_err() {
                break;
            }
        }
        drop(client);
        Client::enabled(&server.path);
    }

    #[test]
    fn no_bytes_end_the_server(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let server = serve(Trapped);
        let mut client = Client::settled(&server.path);
        let _ = client.send(&bytes, &[]);
        drop(client);
        Client::enabled(&server.path);
    }
}

/// Returns whether this process has the lock of `file`, which it loses when it closes any descriptor of it.
fn is_locked(file: &File) -> bool {
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let mut locks = locks.lines();
    locks.any(|lock| lock.contains("POSIX") && lock.contains(&inode))
}

/// A descriptor is not accepted from a sender that does not have the controller: the server would close it, and if it
/// is of the sender's own file system wait for the sender.
#[test]
fn a_descriptor_is_not_taken_before_the_controller_is_the_senders() {
    let file = File::from(memfd_create("locked", MemfdFlags::CLOEXEC).unwrap());
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(is_locked(&file));
    let server = serve(Trapped);
    let mut host = Client::settled(&server.path);
    for _ in 0..10 {
        let mut other = Client::connect(&server.path);
        let header = other.header(command::VERSION, &[0; 4]);
        let message = [header.as_bytes(), &[0; 4]].concat();
        other.send(&message, &[file.as_fd()]).unwrap();
        let (refusal, ..) = other.reply().unwrap();
        assert!(refusal.is_error());
    }
    host.map_memory().unwrap();
    drop(host);
    assert_eq!(server.end().turned_away, 10);
    assert!(is_locked(&file));
}
