//! NVMe over the socket.

use crate::serve::client::{BASE, Client, serve};
use joulio_emulator::serve::DoorbellMode::{self, Mapped, Trapped};
use joulio_nvme_spec::identify::Cns;
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use joulio_vfio_user_wire::{DmaMap, IrqSet, command, pci};

const QUEUE: usize = 0x4000;
const BUFFER: usize = 0x10_0000;

fn transfer(opcode: NvmOpcode, slba: u64, at: usize) -> Command {
    let mut command = Command::transfer(opcode, NamespaceId(1), slba, 8);
    command.prp1.set(BASE + at as u64);
    command
}

fn both(test: impl Fn(DoorbellMode)) {
    test(Mapped);
    test(Trapped);
}

#[test]
fn a_host_identifies_the_controller() {
    both(|doorbells| {
        let server = serve(doorbells);
        let mut client = Client::enabled(&server.path);
        let mut identify = Command::identify(Cns::CONTROLLER, NamespaceId(0));
        identify.prp1.set(BASE + BUFFER as u64);
        client.must(identify);
        let mut page = [0; 4096];
        client.memory.read(BUFFER, &mut page);
        assert_eq!(page[0..2], client.read(pci::CONFIG, 0, 2).unwrap());
        assert!(page[4..].starts_with(b"JOULIO"));
        // Doorbell Buffer Config is for hosts whose doorbells are messages.
        assert_eq!(page[257] & 1 != 0, doorbells == Trapped);
    });
}

#[test]
fn what_is_written_is_read_back_with_an_interrupt_each() {
    both(|doorbells| {
        let server = serve(doorbells);
        let mut client = Client::enabled(&server.path);
        let events = client.wire(0, 3);
        let mut ring = client.pair(1, QUEUE, Some(2));
        client.memory.write(BUFFER, &[0xa5; 4096]);
        let steps = [(NvmOpcode::WRITE, BUFFER), (NvmOpcode::READ, BUFFER + 4096)];
        for (cid, (opcode, at)) in (0..).zip(steps) {
            client.submit(&mut ring, transfer(opcode, 64, at), cid);
            // Blocks until the interrupt comes.
            wait(&events[2]);
            assert!(client.reap(&mut ring).status().is_success());
        }
        let mut back = [0; 4096];
        client.memory.read(BUFFER + 4096, &mut back);
        assert_eq!(back, [0xa5; 4096]);
    });
}

fn wait(event: &std::os::fd::OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    poll(&mut [PollFd::new(event, PollFlags::IN)], None).unwrap();
    rustix::io::read(event, &mut [0; 8]).unwrap();
}

#[test]
fn a_masked_vector_keeps_its_interrupt_until_it_is_unmasked_or_there_is_no_news() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let events = client.wire(0, 2);
    let mut ring = client.pair(1, QUEUE, Some(1));
    let table = 0x2000 + 16;
    // By the table, and by a message.
    for by_table in [true, false] {
        let mask = |client: &mut Client, masked: bool| {
            let action = if masked { IrqSet::MASK } else { IrqSet::UNMASK };
            if by_table {
                let word = u32::from(masked).to_le_bytes();
                client.write(pci::BAR0, table + 12, &word).unwrap();
            } else {
                let flags = IrqSet::DATA_NONE | action;
                client.set_irqs(flags, 1, 1, &[]).unwrap();
            }
        };
        mask(&mut client, true);
        let pending = |client: &mut Client| client.read(pci::BAR0, 0x3000, 1).unwrap()[0] & 2 != 0;
        client.submit(&mut ring, transfer(NvmOpcode::READ, 0, BUFFER), 1);
        while !pending(&mut client) {}
        assert!(rustix::io::read(&events[1], &mut [0; 8]).is_err());
        mask(&mut client, false);
        wait(&events[1]);
        client.reap(&mut ring);
        // A completion that the host has taken before needs no interrupt any more.
        mask(&mut client, true);
        client.submit(&mut ring, transfer(NvmOpcode::READ, 0, BUFFER), 2);
        while !pending(&mut client) {}
        client.reap(&mut ring);
        mask(&mut client, false);
        assert!(!pending(&mut client));
        assert!(rustix::io::read(&events[1], &mut [0; 8]).is_err());
    }
}

#[test]
fn memory_that_may_only_be_read_is_not_written() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    let mut ring = client.pair(1, QUEUE, None);
    let read_only = 0x8000_0000;
    client
        .map(read_only, BUFFER as u64, 4096, DmaMap::READ)
        .unwrap();
    client.memory.write(BUFFER, &[9; 4096]);
    let mut read = transfer(NvmOpcode::READ, 0, 0);
    read.prp1.set(read_only);
    client.submit(&mut ring, read, 1);
    let status = client.reap(&mut ring).status();
    assert_eq!(status.kind(), Status::DATA_TRANSFER_ERROR);
    let mut write = transfer(NvmOpcode::WRITE, 0, 0);
    write.prp1.set(read_only);
    client.submit(&mut ring, write, 2);
    assert!(client.reap(&mut ring).status().is_success());
    let mut back = [0; 4096];
    client.memory.read(BUFFER, &mut back);
    assert_eq!(back, [9; 4096]);
}

#[test]
fn memory_unmapped_under_an_io_fails_it_and_no_more() {
    both(|doorbells| {
        let server = serve(doorbells);
        let mut client = Client::enabled(&server.path);
        let mut ring = client.pair(1, QUEUE, None);
        let other = 0x8000_0000;
        for round in 0..50 {
            client.map(other, BUFFER as u64, 4096, 3).unwrap();
            let mut read = transfer(NvmOpcode::READ, 0, 0);
            read.prp1.set(other);
            client.submit(&mut ring, read, round);
            client.unmap(other, 4096).unwrap();
            // Whatever was in time: after the reply nothing is written any more.
            client.memory.write(BUFFER, &[7; 4096]);
            let status = client.reap(&mut ring).status();
            assert!(status.is_success() || status.kind() == Status::DATA_TRANSFER_ERROR);
            let mut back = [0; 4096];
            client.memory.read(BUFFER, &mut back);
            assert_eq!(back, [7; 4096]);
        }
        client.submit(&mut ring, transfer(NvmOpcode::READ, 0, BUFFER), 99);
        assert!(client.reap(&mut ring).status().is_success());
    });
}

#[test]
fn a_queue_whose_memory_is_gone_is_a_fatal_status_that_a_reset_heals() {
    let server = serve(Trapped);
    let mut client = Client::enabled(&server.path);
    client.unmap(BASE, client.memory.len() as u64).unwrap();
    client.ring(0, 0, 1);
    while !client.status().cfs() {}
    client.map_memory().unwrap();
    client.ask(command::DEVICE_RESET, &[], &[]).unwrap();
    assert!(!client.status().cfs() && !client.status().rdy());
    client.enable();
    client.pair(1, QUEUE, None);
}

#[test]
fn each_kind_of_reset_stops_the_controller() {
    both(|doorbells| {
        let server = serve(doorbells);
        let mut client = Client::enabled(&server.path);
        let function_level = |client: &mut Client| {
            client.write(pci::CONFIG, 0x60 + 8, &[0, 0x80]).unwrap();
        };
        let message = |client: &mut Client| {
            client.ask(command::DEVICE_RESET, &[], &[]).unwrap();
        };
        let controller = |client: &mut Client| {
            client.write(pci::BAR0, 0x14, &[0; 4]).unwrap();
        };
        for reset in [
            &function_level as &dyn Fn(&mut Client),
            &message,
            &controller,
        ] {
            client.pair(1, QUEUE, None);
            reset(&mut client);
            assert!(!client.status().rdy());
            client.enable();
        }
    });
}
