//! The client with a peer that breaks the protocol: a clear error, and no endless wait.

use super::peer::{Answer, Inside, Peer};
use crate::Device;
use crate::vfio_user::link::{Link, Request};
use crate::vfio_user::{VfioUserDevice, VfioUserError};
use joulio_vfio_user_wire::{Header, command, flags};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ALL: [u16; 7] = [
    command::VERSION,
    command::DEVICE_GET_INFO,
    command::DEVICE_GET_REGION_INFO,
    command::DEVICE_GET_IRQ_INFO,
    command::REGION_READ,
    command::REGION_WRITE,
    command::DEVICE_RESET,
];

fn is_malformed(error: &VfioUserError) {
    let text = error.to_string();
    assert!(
        matches!(error, VfioUserError::Malformed { .. }) && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn another_version_is_named() {
    let error = Peer::twisted(command::VERSION, |answer| answer.body[0] = 3);
    assert!(error.to_string().contains("vfio-user 3.1"), "{error}");
    let error = Peer::twisted(command::VERSION, |answer| answer.body[2] = 2);
    assert!(matches!(error, VfioUserError::Version { minor: 2, .. }));
}

#[test]
fn capabilities_that_are_not_json_are_an_error() {
    is_malformed(&Peer::twisted(command::VERSION, |answer| {
        answer.body[4] = b'x';
    }));
}

#[test]
fn an_answer_to_another_message_is_an_error() {
    for command in ALL {
        is_malformed(&Peer::twisted(command, |answer| answer.header.id ^= 1));
        is_malformed(&Peer::twisted(command, |answer| {
            answer.header.command ^= 0x80
        }));
    }
}

#[test]
fn a_command_from_the_peer_is_an_error() {
    for command in ALL {
        is_malformed(&Peer::twisted(command, |answer| answer.header.flags = 0));
    }
}

#[test]
fn a_size_that_is_wrong_is_an_error() {
    for command in ALL {
        for size in [0, 15, 0x7fff_ffff, u32::MAX] {
            is_malformed(&Peer::twisted(command, move |answer| {
                answer.header.size = size;
            }));
        }
        is_malformed(&Peer::twisted(command, |answer| {
            answer.body.resize(8192, 0);
            answer.header.size = (Header::BYTES + 8192) as u32;
        }));
        // More than its header says.
        is_malformed(&Peer::twisted(command, |answer| {
            answer.header.size = Header::BYTES as u32;
            answer.body.resize(4, 0);
            answer.header.flags |= flags::REPLY;
        }));
    }
}

#[test]
fn an_answer_cut_short_is_a_closed_connection() {
    for command in ALL {
        for cut in [0, 3, 15] {
            let error = Peer::twisted(command, move |answer| answer.cut = Some(cut));
            assert!(matches!(error, VfioUserError::Closed { .. }), "{error}");
        }
    }
}

#[test]
fn an_answer_without_its_body_is_an_error() {
    for command in [
        command::VERSION,
        command::DEVICE_GET_INFO,
        command::DEVICE_GET_REGION_INFO,
        command::DEVICE_GET_IRQ_INFO,
        command::REGION_READ,
    ] {
        is_malformed(&Peer::twisted(command, |answer| {
            answer.body.clear();
            answer.header.size = Header::BYTES as u32;
        }));
    }
}

#[test]
fn a_write_that_was_not_done_as_a_whole_is_an_error() {
    for short in [0u32, 1] {
        is_malformed(&Peer::twisted(command::REGION_WRITE, move |answer| {
            // Offset, region, count.
            let access = [[0; 12].as_slice(), &short.to_le_bytes()].concat();
            answer.header.size = (Header::BYTES + access.len()) as u32;
            answer.body = access;
        }));
    }
}

#[test]
fn a_refusal_names_the_command_and_the_reason() {
    for command in ALL {
        let error = Peer::twisted(command, |answer| {
            answer.body.clear();
            answer.header.size = Header::BYTES as u32;
            answer.header.flags |= flags::ERROR;
            answer.header.error = libc::EPERM as u32;
        });
        let text = error.to_string();
        assert!(
            text.contains("refuses") && text.contains("not permitted"),
            "{text}"
        );
    }
    let error = Peer::twisted(command::VERSION, |answer| {
        answer.header.flags |= flags::ERROR;
        answer.header.error = u32::MAX;
    });
    assert!(error.to_string().contains("does not say why"));
}

#[test]
fn a_peer_that_closes_is_named_with_the_command() {
    for command in ALL {
        let error = Peer::twisted(command, |answer| answer.close = true);
        assert!(matches!(error, VfioUserError::Closed { .. }), "{error}");
    }
}

#[test]
fn silence_and_dripping_end_in_time() {
    let begin = Instant::now();
    let timeout = Duration::from_millis(300);
    let silent = |answer: &mut Answer| answer.silent = true;
    let error = Peer::twisted_within(timeout, command::REGION_READ, silent);
    assert!(matches!(error, VfioUserError::Silent { .. }), "{error}");
    let error = Peer::twisted_within(timeout, command::REGION_READ, |answer| {
        answer.drip = Some(Duration::from_millis(100));
    });
    assert!(matches!(error, VfioUserError::Silent { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn too_many_descriptors_are_an_error() {
    for command in [command::VERSION, command::DEVICE_GET_REGION_INFO] {
        is_malformed(&Peer::twisted(command, |answer| {
            for _ in 0..40 {
                answer.fds.push(crate::Vector::eventfd().unwrap());
            }
        }));
    }
}

#[test]
fn only_a_region_brings_descriptors_along() {
    for command in ALL {
        let with_fd = |answer: &mut Answer| answer.fds.push(crate::Vector::eventfd().unwrap());
        if command != command::DEVICE_GET_REGION_INFO {
            is_malformed(&Peer::twisted(command, with_fd));
        }
    }
}

#[test]
fn a_region_whose_file_is_not_memory_is_accessed_by_messages() {
    let (_peer, device) = Peer::open(Inside::new(true), |answer| {
        if answer.header.command == command::DEVICE_GET_REGION_INFO {
            answer.fds.insert(0, crate::Vector::eventfd().unwrap());
        }
    });
    assert!(!device.unwrap().doorbells_mapped());
}

#[test]
fn areas_that_cannot_be_mapped_are_an_error() {
    type Change = fn(&mut Vec<u8>);
    let changes: [Change; 10] = [
        // An area beyond the region, and beyond everything.
        |body| body[48..56].copy_from_slice(&0x10_0000u64.to_ne_bytes()),
        |body| body[48..56].copy_from_slice(&(u64::MAX - 0xfff).to_ne_bytes()),
        |body| body[56..64].copy_from_slice(&u64::MAX.to_ne_bytes()),
        // Half a page.
        |body| body[48..56].copy_from_slice(&0x1800u64.to_ne_bytes()),
        // Aligned to a page of the file, and not of the region.
        |body| {
            body[24..32].copy_from_slice(&0xfffu64.to_ne_bytes());
            body[48..56].copy_from_slice(&1u64.to_ne_bytes());
        },
        // Beyond the file, and beyond every file.
        |body| body[24..32].copy_from_slice(&0x10_0000u64.to_ne_bytes()),
        |body| body[24..32].copy_from_slice(&(u64::MAX - 0xfff).to_ne_bytes()),
        // More areas than there is room for, a capability outside, a chain with a loop.
        |body| body[40..44].copy_from_slice(&1000u32.to_ne_bytes()),
        |body| body[12..16].copy_from_slice(&60u32.to_ne_bytes()),
        |body| {
            body[32..34].copy_from_slice(&9u16.to_ne_bytes());
            body[36..40].copy_from_slice(&32u32.to_ne_bytes());
        },
    ];
    for change in changes {
        is_malformed(&Peer::twisted(
            command::DEVICE_GET_REGION_INFO,
            move |answer| change(&mut answer.body),
        ));
    }
}

#[test]
fn a_file_of_huge_pages_which_the_peer_could_cut_short_is_not_mapped() {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    let Ok(file) = memfd_create("bar", flags | MemfdFlags::HUGE_2MB) else {
        // A kernel without huge pages.
        return;
    };
    ftruncate(&file, 2 << 20).unwrap();
    let mut inside = Inside::new(true);
    inside.page.as_mut().unwrap().1 = file;
    let (_peer, device) = Peer::open(inside, |_| {});
    assert!(!device.unwrap().doorbells_mapped());
}

#[test]
fn what_is_no_nvme_controller_is_named_by_its_class() {
    let mut inside = Inside::new(true);
    inside.config[0x09..0x0c].copy_from_slice(&[0, 0, 2]);
    let (_peer, device) = Peer::open(inside, |_| {});
    let text = device.err().unwrap().to_string();
    assert!(
        text.contains("not an NVMe controller") && text.contains("020000"),
        "{text}"
    );
}

#[test]
fn a_table_outside_of_its_bar_is_an_error() {
    let mut inside = Inside::new(true);
    inside.config[0x44..0x48].copy_from_slice(&0x2fe0u32.to_le_bytes());
    let (_peer, device) = Peer::open(inside, |_| {});
    assert!(device.err().unwrap().to_string().contains("MSI-X table"));
}

#[test]
fn a_peer_that_is_gone_reads_as_all_ones_and_at_once() {
    let mut left = 40;
    let (_peer, device) = Peer::open(Inside::new(true), move |answer| {
        left -= 1;
        answer.close = left == 0;
    });
    let device = device.unwrap();
    let memory = device.allocate(4096).unwrap();
    let mut reads = 0;
    while device.read32(0x1c) != u32::MAX {
        reads += 1;
        assert!(reads < 50);
    }
    let begin = Instant::now();
    for _ in 0..1000 {
        assert_eq!(device.read64(0), u64::MAX);
        device.write32(0x14, 0);
    }
    drop(memory);
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert!(device.allocate(4096).is_err());
}

#[test]
fn kinds_of_files_at_the_path_are_distinguished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nvme.sock");
    let error = || VfioUserDevice::connect(&path).err().unwrap().to_string();
    assert!(error().contains("no such socket"), "{}", error());
    drop(UnixListener::bind(&path).unwrap());
    assert!(UnixStream::connect(&path).is_err());
    assert!(error().contains("no server listens"), "{}", error());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "no socket").unwrap();
    assert!(error().contains("no server listens"), "{}", error());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(!error().contains('\n'));
}

#[test]
fn nobody_who_was_cancelled_waits_for_a_mute_peer() {
    let (ours, _mute) = UnixStream::pair().unwrap();
    let link = Link::over("vfio-user:mute", ours, Duration::from_secs(600)).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    link.cancel_on(&flag);
    let request = Request {
        command: command::DEVICE_RESET,
        body: &[],
        data: &[],
        fds: &[],
    };
    ends_when_cancelled(&flag, || link.request(&request, &mut []).err());
}

/// Sets `flag` while another thread is in `wait`, whose patience is ten minutes: it ends at once, as with a silent peer.
fn ends_when_cancelled(flag: &AtomicBool, wait: impl FnOnce() -> Option<VfioUserError> + Send) {
    let begin = Instant::now();
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(wait);
        flag.store(true, Ordering::Relaxed);
        waiting.join().unwrap()
    });
    assert!(
        matches!(error, Some(VfioUserError::Silent { .. })),
        "{error:?}"
    );
    assert!(begin.elapsed() < Duration::from_secs(300));
}

/// Returns a server that accepts nobody, as libvfio-user's does while it serves a client, and the only client whose
/// connection it has room for.
fn busy(path: &Path) -> (OwnedFd, UnixStream) {
    let server = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&server, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&server, 0).unwrap();
    (server, UnixStream::connect(path).unwrap())
}

#[test]
fn a_server_that_accepts_nobody_is_silent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nvme.sock");
    let _busy = busy(&path);
    let patience = Duration::from_millis(300);
    let error = Link::connect_within("vfio-user:busy", &path, None, patience).err();
    assert!(
        matches!(error, Some(VfioUserError::Silent { .. })),
        "{error:?}"
    );
}

#[test]
fn nobody_who_was_cancelled_waits_to_be_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nvme.sock");
    let _busy = busy(&path);
    let flag = Arc::new(AtomicBool::new(false));
    let patience = Duration::from_secs(600);
    let connect = || Link::connect_within("vfio-user:busy", &path, Some(&flag), patience);
    ends_when_cancelled(&flag, || connect().err());
}
