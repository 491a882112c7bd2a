//! Faults of a served controller.

use crate::serve::client::{BASE, Client, options, serve_with};
use joulio_emulator::Fault;
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use joulio_emulator::serve::ServeOptions;
use joulio_nvme_spec::register::{CAP, CC, CSTS};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use joulio_vfio_user_wire::pci;

const QUEUE: usize = 0x4000;
const BUFFER: usize = 0x10_0000;

fn read() -> Command {
    let mut command = Command::transfer(NvmOpcode::READ, NamespaceId(1), 0, 8);
    command.prp1.set(BASE + BUFFER as u64);
    command
}

#[test]
fn a_host_meets_the_faults_that_were_planned_and_those_injected() {
    for doorbells in [Mapped, Trapped] {
        let mut options = options();
        options.faults = "status=2/81@#1".parse().unwrap();
        let limits = ServeOptions {
            doorbells,
            ..ServeOptions::default()
        };
        let server = serve_with(&options, &limits);
        let mut client = Client::enabled(&server.path);
        let mut ring = client.pair(1, QUEUE, None);
        client.submit(&mut ring, read(), 1);
        assert_eq!(client.reap(&mut ring).status(), Status::UNRECOVERED_READ);
        server.injector.inject(Fault::Double);
        client.submit(&mut ring, read(), 2);
        for _ in 0..2 {
            let completion = client.reap(&mut ring);
            assert_eq!(completion.command_id().0, 2);
        }
    }
}

#[test]
fn a_stuck_function_is_stuck_by_configuration_space_too() {
    let server = serve_with(&options(), &ServeOptions::default());
    let mut client = Client::enabled(&server.path);
    server.injector.inject(Fault::StuckFlr);
    // Device Control: Initiate Function Level Reset.
    client.write(pci::CONFIG, 0x68, &[0, 0x80]).unwrap();
    assert!(client.status().rdy());
    assert!(client.register(CC) & 1 != 0);
}

#[test]
fn a_controller_that_is_gone_is_gone_for_the_next_host_too() {
    let server = serve_with(&options(), &ServeOptions::default());
    let mut client = Client::enabled(&server.path);
    server.injector.inject(Fault::Removed);
    for _ in 0..2 {
        for register in [CAP, CC, CSTS] {
            assert_eq!(client.register(register), u32::MAX);
        }
        for region in [pci::CONFIG, pci::BAR0] {
            assert_eq!(client.read(region, 0, 8).unwrap(), [0xff; 8]);
        }
        // The table of vectors, and a doorbell.
        for at in [0x1000, 0x2000] {
            assert_eq!(client.read(pci::BAR0, at, 4).unwrap(), [0xff; 4]);
        }
        client.ring(0, 0, 1);
        client
            .write(pci::BAR0, u64::from(CC), &1u32.to_le_bytes())
            .unwrap();
        drop(client);
        client = Client::settled(&server.path);
        client.map_memory().unwrap();
    }
    drop(client);
    server.end();
}
