//! LOOP_GET_STATUS64 (loop(4)): the backing of a loop device, as the kernel reports it.
//!
//! Why this is sound: the call writes one `struct loop_info64`, whose type here is [`LoopInfo`] and has only
//! integers; the descriptor is open during the call.
#![allow(unsafe_code)]

use super::Backing;
use rustix::fs::{Mode, OFlags, major, minor, open};
use rustix::ioctl::{Getter, Opcode, ioctl};
use std::path::Path;

/// include/uapi/linux/loop.h
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt: [u32; 2],
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo>() == 232);

/// Returns the file or device on which the loop device `node` is set up; `None` if the node cannot be opened, or
/// the device is not set up.
pub(super) fn backing(node: &Path) -> Option<Backing> {
    let fd = open(node, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // SAFETY: LOOP_GET_STATUS64 writes one `struct loop_info64`; other devices refuse the call.
    let info = unsafe { ioctl(&fd, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }.ok()?;
    Some(match info.rdevice {
        0 => Backing::File(info.device, info.inode),
        number => Backing::Block(major(number), minor(number)),
    })
}
