//! Sending the messages of a host.

use crate::host::{BASE, FREE, Host, MEMORY, PAGE, PAGES};
use crate::says::{Fds, Say};
use joulio_vfio_user_wire::{DmaUnmap, IrqSet, RegionAccess, RegionInfo, command, pci};
use rustix::fs::ftruncate;
use std::os::unix::fs::FileExt;
use zerocopy::IntoBytes;

impl Host {
    /// Sends a message.
    pub fn say(&mut self, say: &Say) {
        match *say {
            Say::Raw(ref bytes) => self.send(bytes, Fds::None),
            Say::Message {
                command,
                flags,
                ref body,
                fds,
            } => self.message(u16::from(command % 16), flags.into(), &[body], fds),
            Say::Map {
                page,
                pages,
                offset,
                flags,
                fds,
            } => self.map(
                BASE + (u64::from(page) << 12),
                u64::from(pages) << 12,
                u64::from(offset) << 12,
                flags.into(),
                fds,
            ),
            Say::Unmap { page, pages, flags } => {
                let unmap = DmaUnmap {
                    argsz: DmaUnmap::BYTES as u32,
                    flags: flags.into(),
                    address: BASE + (u64::from(page) << 12),
                    size: u64::from(pages) << 12,
                };
                self.message(command::DMA_UNMAP, 0, &[unmap.as_bytes()], Fds::None);
            }
            Say::Access {
                write,
                region,
                offset,
                ref data,
            } => {
                let region = u32::from(region % 10);
                if write {
                    self.write(region, offset.into(), data);
                } else {
                    let access = RegionAccess {
                        offset: offset.into(),
                        region,
                        count: data.len() as u32,
                    };
                    self.message(command::REGION_READ, 0, &[access.as_bytes()], Fds::None);
                }
            }
            Say::RegionInfo { region, room } => {
                let info = RegionInfo {
                    argsz: room,
                    index: region.into(),
                    ..RegionInfo::default()
                };
                let command = command::DEVICE_GET_REGION_INFO;
                self.message(command, 0, &[info.as_bytes()], Fds::None);
            }
            Say::Interrupts {
                flags,
                index,
                start,
                count,
                ref data,
                fds,
            } => {
                let set = IrqSet {
                    argsz: IrqSet::BYTES as u32,
                    flags: flags.into(),
                    index: u32::from(index % 6),
                    start: start.into(),
                    count: count.into(),
                };
                let parts = [set.as_bytes(), data];
                self.message(command::DEVICE_SET_IRQS, 0, &parts, fds);
            }
            Say::Word { offset, value } => {
                let offset = u64::from(offset) & 0x7ffc;
                self.write(pci::BAR0, offset, &value.to_le_bytes());
            }
            Say::Enable => self.enable(),
            Say::Queue { qid, entries } => self.queue(qid % 6, entries % 64),
            Say::Command {
                queue,
                small,
                opcode,
                nsid,
                prp1,
                prp2,
                words,
            } => {
                let mask = if small { 0xff } else { u32::MAX };
                let prps = (address(prp1), address(prp2));
                let words = words.map(|word| word & mask);
                let opcode = if small { opcode % 16 } else { opcode };
                self.command(queue % 6, opcode, nsid % 4, prps, words);
            }
            Say::Io {
                write,
                lba,
                blocks,
                page,
            } => {
                let page = BASE + (FREE + u64::from(page) % (PAGES - FREE - 1)) * PAGE;
                let opcode = if write { 1 } else { 2 };
                let words = [u32::from(lba) % 2048, 0, u32::from(blocks % 16), 0, 0, 0];
                self.command(1, opcode, 1, (page, page + PAGE), words);
            }
            Say::Memory { at, ref bytes } => {
                let at = u64::from(at) % MEMORY;
                let len = bytes.len().min((MEMORY - at) as usize);
                let _ = self.memory.write_all_at(&bytes[..len], at);
            }
            Say::Shrink => drop(ftruncate(&self.memory, 4096)),
        }
    }
}

/// Returns an address in the host's memory, or near it.
fn address(value: u32) -> u64 {
    BASE + u64::from(value) % (MEMORY + 4096)
}
