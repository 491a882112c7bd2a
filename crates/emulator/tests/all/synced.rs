//! Syncs of a namespace's file: their order with reads and writes, and the effect of one that fails.

use crate::common::{Host, bytes, enabled, on_file, slow_options, transfer};
use joulio_device::Device;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::register::{CC, Cc};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_sync_that_fails_is_a_write_fault_of_what_needed_it_and_of_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = on_file(&dir.path().join("disk"), false);
    options.sync = |_: &File| Err(io::Error::from_raw_os_error(5));
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    let mut done = |command: Command| {
        pair.submit(1, command);
        host.step(0);
        let completion = pair.reap().expect("it has completed");
        assert!(pair.reap().is_none());
        completion.status().kind()
    };
    let plain = |opcode| transfer(opcode, 0, 8, &buffer);
    buffer.write(0, &[0x5a; 4096]);
    assert_eq!(
        done(plain(NvmOpcode::WRITE).with_fua()),
        Status::WRITE_FAULT
    );
    buffer.write(0, &[0; 4096]);
    assert_eq!(done(plain(NvmOpcode::READ).with_fua()), Status::WRITE_FAULT);
    assert_eq!(bytes(&buffer, 0, 4096), [0; 4096], "it has read");
    assert_eq!(
        done(Command::nvm(NvmOpcode::FLUSH, NamespaceId(1))),
        Status::WRITE_FAULT
    );
    assert_eq!(done(plain(NvmOpcode::READ)), Status::SUCCESS);
    assert_eq!(bytes(&buffer, 0, 4096), [0x5a; 4096]);
    // A cache that cannot be emptied stays on.
    let cache = FeatureId(0x06);
    let off = host.admin(Command::set_features(cache, 0)).status().kind();
    assert_eq!(off, Status::WRITE_FAULT);
    assert_eq!(host.must(Command::get_features(cache)).dw0.get(), 1);
    host.device.write32(CC, enabled().with_shn(1).into());
    assert!(host.status().cfs() && host.status().shst() == 2);
}

/// Linux reports to one sync only that data could not be written, and drops it.
#[test]
fn after_a_sync_that_failed_nothing_is_said_to_be_durable() {
    static SYNCS: AtomicU32 = AtomicU32::new(0);
    static REPORTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let dir = tempfile::tempdir().unwrap();
    let mut options = on_file(&dir.path().join("disk"), false);
    options.sync = |_: &File| match SYNCS.fetch_add(1, Ordering::Relaxed) {
        1 => Err(io::Error::from_raw_os_error(5)),
        _ => Ok(()),
    };
    options.sync_failed = |path, error| {
        let told = format!("{}: {error}", path.file_name().unwrap().display());
        REPORTED.lock().unwrap().push(told);
    };
    let mut host = Host::stepped(&options);
    let mut flushed = |count: usize| -> Vec<Status> {
        let mut pair = host.pair(1, 16, None);
        let flush = |_| {
            pair.submit(1, Command::nvm(NvmOpcode::FLUSH, NamespaceId(1)));
            host.step(0);
            pair.reap().expect("it has completed").status().kind()
        };
        let all = (0..count).map(flush).collect();
        host.device.write32(CC, Cc::new().into());
        host.enable();
        all
    };
    let failed = Status::WRITE_FAULT;
    assert_eq!(flushed(3), [Status::SUCCESS, failed, failed]);
    assert_eq!(flushed(1), [failed], "a reset brings nothing back");
    let told = REPORTED.lock().unwrap();
    assert_eq!(*told, ["disk: Input/output error (os error 5)"], "once");
}

/// Returns the last byte of the file's first 4096.
fn last_byte(file: &File) -> io::Result<u8> {
    let mut byte = [0];
    file.read_exact_at(&mut byte, 4095)?;
    Ok(byte[0])
}

/// The content of the file when it was synced.
#[test]
fn what_forced_unit_access_writes_is_in_the_file_before_the_sync() {
    static SYNCED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let dir = tempfile::tempdir().unwrap();
    let mut options = on_file(&dir.path().join("disk"), false);
    options.sync = |file: &File| {
        SYNCED.lock().unwrap().push(last_byte(file)?);
        Ok(())
    };
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    for value in 1..4 {
        buffer.write(0, &[value; 4096]);
        let write = transfer(NvmOpcode::WRITE, 0, 8, &buffer);
        pair.submit(1, if value == 2 { write } else { write.with_fua() });
        host.step(0);
        assert!(pair.reap().unwrap().status().is_success());
    }
    assert_eq!(*SYNCED.lock().unwrap(), [1, 3]);
}

#[test]
fn a_write_that_is_in_service_when_the_cache_is_turned_off_is_in_the_file_before_it_completes() {
    static SYNCED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let dir = tempfile::tempdir().unwrap();
    let mut options = on_file(&dir.path().join("disk"), false);
    options.profile = slow_options().profile;
    options.sync = |file: &File| {
        SYNCED.lock().unwrap().push(last_byte(file)?);
        Ok(())
    };
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    buffer.write(0, &[7; 4096]);
    pair.submit(1, transfer(NvmOpcode::WRITE, 0, 8, &buffer));
    host.step(0);
    host.must(Command::set_features(FeatureId(0x06), 0));
    assert!(pair.reap().is_none());
    assert_eq!(*SYNCED.lock().unwrap(), [0]);
    host.step(10_000);
    assert!(pair.reap().unwrap().status().is_success());
    assert_eq!(*SYNCED.lock().unwrap(), [0, 7]);
}
