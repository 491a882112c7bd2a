//! Commands to an NVMe namespace through its character device, which bypass the block layer
//! (drivers/nvme/host/ioctl.c, nvme_uring_cmd_io; since Linux 5.19).

use super::raw_ring::errno;
use super::requests::RawRing;
use super::requests::Requests;
use super::setup;
use crate::{
    DirectFile, Disk, FileKind, KernelEngineError, KernelRequestError, Missing, NoPassthrough,
    character_device_of, slots,
};
use io_uring::squeue::{Entry128, Flags};
use io_uring::types::Fd;
use io_uring::{cqueue, opcode};
use joulio_engine::Request;
use joulio_job::{CompletionMode, EngineName};
use joulio_units::Operation;
use rustix::fs::{Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// NVME_URING_CMD_IO (include/uapi/linux/nvme_ioctl.h): _IOWR('N', 0x80, struct nvme_uring_cmd).
const NVME_URING_CMD_IO: u32 = 3 << 30 | 72 << 16 | (b'N' as u32) << 8 | 0x80;

// Opcodes of the NVM Command Set Specification, figure 15 (revision 1.0c).
const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;

/// Largest number of blocks of a command: NLB has 16 bits and counts from 0.
const MAX_BLOCKS: u32 = 1 << 16;

/// Reads, writes and flushes of a whole namespace, as NVMe commands.
///
/// The block device stays open too, since it reports the sizes and excludes other writers.
#[derive(Clone, Debug)]
pub struct NvmeCommands {
    file: Arc<DirectFile>,
    device: Arc<OwnedFd>,
    nsid: u32,
    /// Base-2 logarithm of the bytes of a logical block.
    shift: u32,
    /// Longest transfer in bytes, since commands are not split.
    max_transfer: u32,
}

impl NvmeCommands {
    /// Opens the character device of the namespace of `file`.
    ///
    /// # Errors
    /// The file is not a whole NVMe namespace, or the namespace accepts no such commands; the error gives the reason.
    pub(super) fn open(
        file: Arc<DirectFile>,
        mode: CompletionMode,
    ) -> Result<NvmeCommands, KernelEngineError> {
        let missing = |missing| KernelEngineError::Missing {
            engine: EngineName::IoUringCmd,
            mode,
            missing,
        };
        let refused = |why| missing(Missing::Passthrough(why));
        let disk = whole_namespace(&file).ok_or_else(|| refused(NoPassthrough::NotNvme))?;
        // The kernel would complete the requests by interrupts, without reporting it.
        if mode.polls_device() && disk.queue.io_poll == Some(false) {
            return Err(missing(Missing::NoPollQueues));
        }
        let number = |name: &str| number(&Path::new("/sys/block").join(&disk.name).join(name));
        if number("metadata_bytes").is_some_and(|bytes| bytes > 0) {
            return Err(refused(NoPassthrough::Metadata));
        }
        let nsid = number("nsid").ok_or_else(|| refused(NoPassthrough::NotNvme))?;
        let block = file.logical_block();
        if !block.is_power_of_two() {
            return Err(refused(NoPassthrough::NotNvme));
        }
        let device = character_device(disk, file.may_write()).map_err(refused)?;
        Ok(NvmeCommands {
            device: Arc::new(device),
            nsid,
            shift: block.trailing_zeros(),
            max_transfer: disk.queue.max_transfer.unwrap_or(u32::MAX),
            file,
        })
    }
}

/// Returns the disk of `file`, if `file` is the whole disk and has the name of an NVMe namespace.
fn whole_namespace(file: &DirectFile) -> Option<&Disk> {
    let disk = file.disk()?;
    let (major, minor) = file.device();
    let number = fs::read_to_string(Path::new("/sys/block").join(&disk.name).join("dev")).ok()?;
    let whole = file.kind() == FileKind::Block && number.trim() == format!("{major}:{minor}");
    (whole && character_device_of(&disk.name).is_some()).then_some(disk)
}

/// Opens the character device of a namespace, which is found in /sys by the name of its `disk`.
fn character_device(disk: &Disk, may_write: bool) -> Result<OwnedFd, NoPassthrough> {
    let name = character_device_of(&disk.name).ok_or(NoPassthrough::NotNvme)?;
    let access = match may_write {
        true => OFlags::RDWR,
        false => OFlags::RDONLY,
    };
    let flags = access | OFlags::CLOEXEC;
    let device = open(Path::new("/dev").join(&name), flags, Mode::empty());
    let device = device.map_err(NoPassthrough::Device)?;
    let stat = fstat(&device).map_err(NoPassthrough::Device)?;
    let is = format!("{}:{}", major(stat.st_rdev), minor(stat.st_rdev));
    let known = fs::read_to_string(format!("/sys/class/nvme-generic/{name}/dev"));
    match known {
        Ok(known) if known.trim() == is => Ok(device),
        _ => Err(NoPassthrough::NotNvme),
    }
}

fn number(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl Requests for NvmeCommands {
    type Entry = Entry128;
    type End = cqueue::Entry32;
    const ENGINE: EngineName = EngineName::IoUringCmd;

    fn setup(entries: u32, flags: u32, cpu: u32, idle_ms: u32) -> Result<RawRing<Self>, Errno> {
        let mut ring = RawRing::<Self>::builder();
        let has = |flag| flags & flag == flag;
        if has(setup::IOPOLL) {
            ring.setup_iopoll();
        }
        if has(setup::SQPOLL) {
            ring.setup_sqpoll(idle_ms);
        }
        if has(setup::SQ_AFF) {
            ring.setup_sqpoll_cpu(cpu);
        }
        if has(setup::BY_ONE_THREAD) {
            ring.setup_coop_taskrun()
                .setup_taskrun_flag()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_r_disabled();
        }
        ring.build(entries).map_err(|error| errno(&error))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    #[inline]
    fn check(&self, request: &Request) -> Result<(), KernelEngineError> {
        let &Request { offset, len, .. } = request;
        let within = 1 << self.shift;
        let whole = offset.is_multiple_of(within) && u64::from(len).is_multiple_of(within);
        let fits = len > 0 && len <= self.max_transfer && len >> self.shift <= MAX_BLOCKS;
        let inside = offset
            .checked_add(len.into())
            .is_some_and(|end| end <= self.file.size());
        match request.operation {
            // The kernel would let a privileged process write even if the device is open for reading only.
            Operation::Write if !self.file.may_write() => Err(KernelEngineError::Call {
                call: "a write to what was opened to be read",
                source: Errno::BADF,
            }),
            Operation::Sync | Operation::DataSync => Ok(()),
            Operation::Read | Operation::Write if whole && fits && inside => Ok(()),
            _ => Err(KernelEngineError::NoCommand {
                offset,
                len,
                max: self.max_transfer,
            }),
        }
    }

    #[inline]
    fn entry(
        &self,
        request: &Request,
        (fd, flags): (Fd, Flags),
        address: *mut u8,
        fixed: Option<u16>,
    ) -> Entry128 {
        let data = (address as u64, request.len, request.offset >> self.shift);
        let (opcode, (address, len, slba)) = match request.operation {
            Operation::Read => (READ, data),
            Operation::Write => (WRITE, data),
            _ => (FLUSH, (0, 0, 0)),
        };
        let blocks = (len >> self.shift).saturating_sub(1);
        let command = Command {
            opcode,
            nsid: self.nsid,
            address,
            len,
            slba,
            blocks,
        };
        let entry = opcode::UringCmd80::new(fd, NVME_URING_CMD_IO).cmd(command.bytes());
        let entry = match request.operation.moves_data() {
            true => entry.buf_index(fixed),
            false => entry,
        };
        entry.build().flags(flags)
    }

    #[inline]
    fn outcome(result: i32, moved: u32) -> Result<(), KernelRequestError> {
        match result {
            0 => Ok(()),
            1.. => Err(KernelRequestError::Status(result as u16)),
            _ => slots::outcome(i64::from(result), moved),
        }
    }
}

/// The fields of a `struct nvme_uring_cmd` (include/uapi/linux/nvme_ioctl.h) that are not zero.
struct Command {
    opcode: u8,
    nsid: u32,
    address: u64,
    len: u32,
    slba: u64,
    /// Number of blocks less one (NLB).
    blocks: u32,
}

impl Command {
    /// Returns the structure, followed by the entry's eight bytes.
    #[inline]
    fn bytes(&self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[0] = self.opcode;
        bytes[4..8].copy_from_slice(&self.nsid.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.address.to_ne_bytes());
        bytes[36..40].copy_from_slice(&self.len.to_ne_bytes());
        // Command dwords 10, 11 and 12.
        bytes[40..44].copy_from_slice(&(self.slba as u32).to_ne_bytes());
        bytes[44..48].copy_from_slice(&((self.slba >> 32) as u32).to_ne_bytes());
        bytes[48..52].copy_from_slice(&self.blocks.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_fields_where_the_kernel_reads_them() {
        let command = Command {
            opcode: READ,
            nsid: 0x0403_0201,
            address: 0x1122_3344_5566_7788,
            len: 8192,
            slba: 0x0000_0009_8765_4321,
            blocks: 15,
        };
        let bytes = command.bytes();
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((bytes[0], word(4)), (READ, 0x0403_0201));
        assert_eq!(
            u64::from_ne_bytes(bytes[24..32].try_into().unwrap()),
            command.address
        );
        assert_eq!(word(36), 8192);
        assert_eq!((word(40), word(44), word(48)), (0x8765_4321, 9, 15));
        let set = [0..1, 4..8, 24..32, 36..52]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        assert!(
            (0..80)
                .filter(|at| !set.contains(at))
                .all(|at| bytes[at] == 0)
        );
        assert_eq!(NVME_URING_CMD_IO, 0xc048_4e80);
    }

    #[test]
    fn a_status_is_not_a_number_of_bytes() {
        assert_eq!(NvmeCommands::outcome(0, 4096), Ok(()));
        let status = NvmeCommands::outcome(0x281, 4096).unwrap_err();
        assert_eq!(status, KernelRequestError::Status(0x281));
        assert!(status.to_string().contains("type 2h, code 81h"), "{status}");
        let errno = KernelRequestError::Errno(rustix::io::Errno::INVAL);
        assert_eq!(NvmeCommands::outcome(-libc::EINVAL, 4096), Err(errno));
    }
}
