//! NVME_IOCTL_ADMIN_CMD (include/uapi/linux/nvme_ioctl.h).
//!
//! Sound because the only caller has checked that the data has the length that the command makes the controller
//! transfer, and the direction that the low bits of its opcode encode; the kernel copies no more than `data_len` bytes,
//! from or to memory that is borrowed for the call.

use super::CommandEnd;
use crate::AdminData;
use joulio_nvme_spec::{Command, Status};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Passthrough {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Passthrough>() == 72);
const _: () = assert!(std::mem::offset_of!(Passthrough, addr) == 24);
const _: () = assert!(std::mem::offset_of!(Passthrough, cdw10) == 40);

/// _IOWR('N', 0x41, struct nvme_passthru_cmd).
const ADMIN: libc::Ioctl =
    (3_u32 << 30 | (size_of::<Passthrough>() as u32) << 16 | (b'N' as u32) << 8 | 0x41)
        as libc::Ioctl;

/// Sends a command that was checked.
pub(super) fn admin(
    fd: BorrowedFd<'_>,
    command: &Command,
    data: AdminData<'_>,
) -> io::Result<CommandEnd> {
    let (addr, len) = match data {
        AdminData::None => (0, 0),
        AdminData::In(bytes) => (bytes.as_mut_ptr() as u64, bytes.len()),
        // Only commands whose opcode says "to the controller" get here with `Out` data: the kernel only reads it.
        AdminData::Out(bytes) => (bytes.as_ptr() as u64, bytes.len()),
    };
    let mut passed = Passthrough {
        opcode: command.dword0().opc(),
        nsid: command.nsid.get(),
        addr,
        // At most a page.
        data_len: len as u32,
        cdw10: command.cdw10.map(|dword| dword.get()),
        ..Passthrough::default()
    };
    // SAFETY: the request takes this structure, which is valid for the call; `addr` and `data_len` are those of a slice
    // that is borrowed for the call, mutably where the controller writes.
    let ended = unsafe { libc::ioctl(fd.as_raw_fd(), ADMIN, std::ptr::from_mut(&mut passed)) };
    if ended < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(CommandEnd {
        // A value above zero is the status field, phase tag shifted out.
        status: Status::from_field(ended as u16),
        dw0: passed.result,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_the_kernels() {
        // The number that nvme-cli passes: strace prints 0xc0484e41.
        assert_eq!(ADMIN, 0xc048_4e41);
    }
}
