//! Namespaces in files on a disk whose syncs are slow.

use crate::common::{enabled, on_file};
use crate::serve::client::{Client, serve_with};
use joulio_emulator::SyncFile;
use joulio_emulator::serve::{DoorbellMode, ServeOptions};
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::register::{CC, Cc};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
use joulio_vfio_user_wire::pci;
use std::io;
use std::sync::{Condvar, Mutex};

const QUEUE: usize = 0x4000;

fn flush() -> Command {
    Command::nvm(NvmOpcode::FLUSH, NamespaceId(1))
}

fn configure(client: &mut Client, cc: Cc) {
    let cc = u32::from(cc).to_le_bytes();
    client.write(pci::BAR0, CC.into(), &cc).unwrap();
}

/// A disk whose syncs wait until a test ends them, one by one.
struct Disk {
    state: Mutex<(u32, u32)>,
    changed: Condvar,
}

impl Disk {
    const fn new() -> Disk {
        Disk {
            state: Mutex::new((0, 0)),
            changed: Condvar::new(),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        let number = state.0;
        self.changed.notify_all();
        let ended = self.changed.wait_while(state, |state| state.1 < number);
        drop(ended.unwrap());
        Ok(())
    }

    /// Waits until sync `number`, from 1, is under way.
    fn begun(&self, number: u32) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.0 < number));
    }

    /// Lets the syncs up to `number` end.
    fn end(&self, number: u32) {
        self.state.lock().unwrap().1 = number;
        self.changed.notify_all();
    }
}

/// Runs `test` with a served namespace on a slow disk, for each doorbell mode.
fn served(sync: SyncFile, test: impl Fn(&mut Client, u32)) {
    for (round, doorbells) in (0..).zip([DoorbellMode::Mapped, DoorbellMode::Trapped]) {
        let dir = tempfile::tempdir().unwrap();
        let limits = ServeOptions {
            doorbells,
            ..ServeOptions::default()
        };
        let mut options = on_file(&dir.path().join("disk"), false);
        options.sync = sync;
        let server = serve_with(&options, &limits);
        test(&mut Client::enabled(&server.path), round);
    }
}

#[test]
fn registers_are_answered_while_a_flush_waits_for_the_disk() {
    static DISK: Disk = Disk::new();
    served(
        |_| DISK.sync(),
        |client, round| {
            let mut ring = client.pair(1, QUEUE, None);
            client.submit(&mut ring, flush(), 7);
            DISK.begun(round + 1);
            assert!(client.status().rdy());
            assert!(client.peek(&mut ring).is_none());
            DISK.end(round + 1);
            assert!(client.reap(&mut ring).status().is_success());
        },
    );
}

#[test]
fn registers_are_answered_while_a_cache_is_turned_off() {
    static DISK: Disk = Disk::new();
    served(
        |_| DISK.sync(),
        |client, round| {
            let off = Command::set_features(FeatureId(0x06), 0);
            let completion = client.admin_meanwhile(off, |client| {
                DISK.begun(round + 1);
                assert!(client.status().rdy());
                DISK.end(round + 1);
            });
            assert!(completion.status().is_success());
            let read = Command::get_features(FeatureId(0x06));
            assert_eq!(client.admin(read).dw0.get(), 0);
        },
    );
}

#[test]
fn a_shutdown_is_occurring_while_it_waits_for_the_disk() {
    static DISK: Disk = Disk::new();
    served(
        |_| DISK.sync(),
        |client, round| {
            configure(client, enabled().with_shn(1));
            DISK.begun(round + 1);
            assert_eq!(client.status().shst(), 1);
            DISK.end(round + 1);
            while client.status().shst() != 2 {
                std::thread::yield_now();
            }
        },
    );
}

#[test]
fn what_waits_for_the_disk_ends_with_a_reset() {
    static DISK: Disk = Disk::new();
    served(
        |_| DISK.sync(),
        |client, round| {
            let (first, second) = (2 * round + 1, 2 * round + 2);
            let mut ring = client.pair(1, QUEUE, None);
            client.submit(&mut ring, flush(), 7);
            DISK.begun(first);
            configure(client, enabled().with_shn(1));
            configure(client, Cc::new());
            client.enable();
            DISK.end(first);
            // Neither the flush nor the shutdown of before is known any more.
            let mut ring = client.pair(1, QUEUE, None);
            client.submit(&mut ring, flush(), 8);
            DISK.begun(second);
            assert_eq!(client.status().shst(), 0);
            DISK.end(second);
            assert_eq!(client.reap(&mut ring).command_id().0, 8);
            assert!(client.peek(&mut ring).is_none());
        },
    );
}
