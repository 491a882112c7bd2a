//! Every byte arrives, wherever its list has it.

use super::{SIZE, command, data, last_segment, put, segment, status};
use crate::common::{CAPACITY, Host, PAGE, bytes, options};
use joulio_device::DmaMemory;
use joulio_nvme_spec::{NvmOpcode, SglDescriptor, Status};
use proptest::prelude::*;

const BLOCKS: u64 = CAPACITY / 512;

/// A buffer in pieces, and the list that describes them in order.
struct Scattered {
    buffer: DmaMemory,
    /// Length of the buffer.
    len: usize,
    lists: DmaMemory,
    /// Offset in the buffer and length of each piece; lengths may be 0.
    pieces: Vec<(usize, usize)>,
}

impl Scattered {
    /// Makes a buffer of `len` bytes, cut after every one of `cuts` dwords, with `gap` dwords between the pieces, from
    /// the last to the first when `backwards`.
    fn new(host: &Host, len: usize, cuts: &[usize], gap: usize, backwards: bool) -> Scattered {
        let mut lens = Vec::new();
        let mut rest = len;
        for &cut in cuts {
            let piece = (cut * 4).min(rest);
            lens.push(piece);
            rest -= piece;
        }
        lens.push(rest);
        let mut at = 4 * gap;
        let mut place = |&len: &usize| {
            let piece = (at, len);
            at += len + 4 * gap;
            piece
        };
        let mut pieces: Vec<(usize, usize)> = if backwards {
            lens.iter().rev().map(&mut place).collect()
        } else {
            lens.iter().map(&mut place).collect()
        };
        if backwards {
            pieces.reverse();
        }
        Scattered {
            buffer: host.buffer(at + PAGE),
            len: at + PAGE,
            lists: host.buffer(4 * PAGE),
            pieces,
        }
    }

    /// Writes the list in segments of at most `room` descriptors, which begin at `start` quad words; returns the first
    /// descriptor.
    fn describe(&self, room: usize, start: usize) -> SglDescriptor {
        let blocks: Vec<SglDescriptor> = self
            .pieces
            .iter()
            .map(|&(offset, len)| data(&self.buffer, offset, len))
            .collect();
        let mut offset = start * 8;
        let mut first = None;
        // Where the descriptor of the next segment goes.
        let mut hook: Option<usize> = None;
        let mut rest = &blocks[..];
        while !rest.is_empty() {
            let last = rest.len() <= room;
            let (here, after) = rest.split_at(if last { rest.len() } else { room - 1 });
            let descriptor = if last {
                last_segment(&self.lists, offset, here.len())
            } else {
                segment(&self.lists, offset, here.len() + 1)
            };
            match hook {
                Some(at) => put(&self.lists, at, &[descriptor]),
                None => first = Some(descriptor),
            }
            put(&self.lists, offset, here);
            hook = Some(offset + here.len() * SIZE);
            offset += (here.len() + 1) * SIZE + 8;
            rest = after;
        }
        first.expect("at least one piece")
    }

    fn write(&self, data: &[u8]) {
        let mut done = 0;
        for &(offset, len) in &self.pieces {
            self.buffer.write(offset, &data[done..done + len]);
            done += len;
        }
    }

    fn read(&self) -> Vec<u8> {
        let pieces = self.pieces.iter();
        pieces
            .flat_map(|&(offset, len)| bytes(&self.buffer, offset, len))
            .collect()
    }

    /// Whether the bytes between the pieces are still zero.
    fn clean(&self) -> bool {
        let mut all = bytes(&self.buffer, 0, self.len);
        for &(offset, len) in &self.pieces {
            all[offset..offset + len].fill(0);
        }
        all.iter().all(|&byte| byte == 0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_arrives_however_the_list_is_laid_out(
        blocks in 1u32..=64,
        slba in 0u64..BLOCKS - 64,
        cuts in prop::collection::vec(0usize..2000, 1..60),
        (gap, backwards) in (0usize..300, any::<bool>()),
        room in 2usize..40,
        start in 0usize..256,
    ) {
        let mut host = Host::stepped(&options());
        let mut pair = host.pair(1, 8, None);
        let len = blocks as usize * 512;
        let payload: Vec<u8> = (0..len).map(|at| 1 + ((at * 31) >> 3) as u8 % 255).collect();
        let from = Scattered::new(&host, len, &cuts, gap, backwards);
        from.write(&payload);
        let write = command(NvmOpcode::WRITE, slba, blocks, from.describe(room, start));
        prop_assert_eq!(status(&host, &mut pair, write), Status::SUCCESS);

        let to = Scattered::new(&host, len, &cuts, 300 - gap, !backwards);
        let read = command(NvmOpcode::READ, slba, blocks, to.describe(42 - room, 256 - start));
        prop_assert_eq!(status(&host, &mut pair, read), Status::SUCCESS);
        prop_assert!(to.read() == payload);
        prop_assert!(to.clean());
    }
}
