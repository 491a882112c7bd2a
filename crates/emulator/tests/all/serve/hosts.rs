//! Hosts that come and go.

use crate::serve::client::{BASE, Client, Cut, options, serve, serve_with};
use joulio_device::SharedMemory;
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use joulio_emulator::serve::{ServeError, ServeOptions, Server};
use joulio_emulator::{NamespaceOptions, StoreOptions};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
use joulio_vfio_user_wire::{command, pci};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

const QUEUE: usize = 0x4000;
const BUFFER: usize = 0x10_0000;

fn transfer(opcode: NvmOpcode, slba: u64) -> Command {
    let mut command = Command::transfer(opcode, NamespaceId(1), slba, 8);
    command.prp1.set(BASE + BUFFER as u64);
    command
}

#[test]
fn a_host_that_dies_in_the_middle_of_io_leaves_a_controller_as_new() {
    for doorbells in [Mapped, Trapped] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let mut options = options();
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::File {
                path: path.clone(),
                bytes: Some(1 << 20),
                read_only: false,
            },
            block: Some(512),
        }];
        let limits = ServeOptions {
            doorbells,
            ..ServeOptions::default()
        };
        let server = serve_with(&options, &limits);
        for round in 1..=20u8 {
            let mut client = Client::enabled(&server.path);
            let events = client.wire(0, 2);
            let mut ring = client.pair(1, QUEUE, Some(1));
            client.memory.write(BUFFER, &[round; 4096]);
            client.submit(&mut ring, transfer(NvmOpcode::WRITE, 8), 1);
            assert!(client.reap(&mut ring).status().is_success());
            for cid in 0..15 {
                client.put(&mut ring, transfer(NvmOpcode::WRITE, 16), cid);
            }
            client.ring(1, 0, 0);
            // Neither orderly nor whole: half a message, and gone.
            client.send(&[1, 2, 3], &[]).unwrap();
            drop((client, events));
        }
        let mut client = Client::enabled(&server.path);
        client.pair(1, QUEUE, None);
        drop(client);
        let stats = server.end();
        assert!(stats.broken_connections >= 20);
        let disk = std::fs::read(path).unwrap();
        assert!(disk[4096..8192].iter().all(|&byte| byte == 20));
    }
}

#[test]
fn a_second_host_is_refused_because_the_controller_is_taken() {
    let server = serve(Trapped);
    let mut first = Client::settled(&server.path);
    for _ in 0..20 {
        let mut second = Client::connect(&server.path);
        match second.version(0, 1) {
            Ok(Err(Errno::BUSY)) => {}
            other => panic!("{other:?}"),
        }
    }
    // Those who say nothing are cut off when there are too many.
    let silent: Vec<Client> = (0..30).map(|_| Client::connect(&server.path)).collect();
    assert!(first.read(pci::CONFIG, 0, 4).is_ok());
    drop((first, silent));
    Client::settled(&server.path);
}

#[test]
fn who_says_nothing_keeps_nobody_out_and_is_cut_off() {
    let limits = ServeOptions {
        first_word: Duration::from_secs(1),
        ..ServeOptions::default()
    };
    let server = serve_with(&options(), &limits);
    let mut mute = Client::connect(&server.path);
    // Says something, and never the version.
    let mut strange = Client::connect(&server.path);
    let mut settled = Client::connect(&server.path);
    assert!(settled.version(0, 1).is_ok_and(|answer| answer.is_ok()));
    // Both at once end by the server's hand, while the settled one goes on.
    assert!(mute.reply().is_err());
    drop(settled);
    loop {
        // Until the place is free.
        match strange.call(command::DEVICE_RESET, &[], &[]) {
            Ok(Err(Errno::INVAL)) => break,
            _ => strange = Client::connect(&server.path),
        }
    }
    assert!(strange.reply().is_err());
    drop((Client::settled(&server.path), mute, strange));
    // The silent one, and the one that did not come to the point.
    assert!(server.end().broken_connections >= 2);
}

#[test]
fn the_socket_is_its_owners_unless_it_is_to_be_others_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    for mode in [0o600, 0o660, 0o666, 0o200] {
        let limits = ServeOptions {
            socket_mode: mode,
            ..ServeOptions::default()
        };
        let server = Server::bind(&path, &options(), &limits).unwrap();
        let found = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
        drop(server);
    }
    assert_eq!(ServeOptions::default().socket_mode, 0o600);
}

#[test]
fn the_page_of_an_earlier_host_rings_nothing() {
    let server = serve(Mapped);
    let mut first = Client::settled(&server.path);
    let (_, _, fds) = first.region(pci::BAR0, 256).unwrap();
    drop(first);
    let stale = SharedMemory::from_file(fds[0].as_fd(), 0x1000, 4096, true).unwrap();
    let mut second = Client::enabled(&server.path);
    stale.store_u32(0, 7);
    second.pair(1, QUEUE, None);
    assert!(!second.status().cfs());
}

#[test]
fn a_host_that_is_gone_is_out_of_reach() {
    let server = serve(Trapped);
    let client = Client::enabled(&server.path);
    let file = client.file.try_clone().unwrap();
    drop(client);
    let mut next = Client::settled(&server.path);
    assert!(!next.status().rdy());
    assert_eq!(next.register(0x28), 0, "ASQ");
    drop(file);
}

#[test]
fn memory_that_is_shrunk_while_it_is_mapped_harms_its_owner_alone() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut ring = client.pair(1, QUEUE, None);
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(1 << 20).unwrap();
    let sealed = std::mem::replace(&mut client.file, file.try_clone().unwrap().into());
    let other = 0x8000_0000;
    client.map(other, 0, 1 << 20, 3).unwrap();
    file.set_len(0).unwrap();
    for opcode in [NvmOpcode::WRITE, NvmOpcode::READ] {
        let mut command = transfer(opcode, 0);
        command.prp1.set(other);
        client.submit(&mut ring, command, 1);
        client.reap(&mut ring);
    }
    drop((client, sealed));
    Client::enabled(&server.path);
}

#[test]
fn memory_that_is_no_memory_is_refused_as_such() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    // Of sysfs, and as long as it says.
    let file = File::open("/sys/devices/system/cpu/online").unwrap();
    client.file = file.into();
    assert_eq!(client.map(BASE, 0, 4096, 1), Err(Errno::NOTSUP));
}

#[test]
fn a_socket_that_nobody_listens_at_is_replaced_and_no_other_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let bind = || Server::bind(&path, &options(), &ServeOptions::default());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = bind().unwrap();
    assert!(matches!(bind(), Err(ServeError::InUse { .. })));
    drop(server);
    assert!(!path.exists());
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(bind(), Err(ServeError::NotASocket { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn the_end_of_the_server_is_the_end_of_the_connection() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let path = server.path.clone();
    server.end();
    assert!(!path.exists());
    assert!(matches!(client.version(0, 1), Err(Cut)));
}
