//! Hostile hosts: whatever the descriptors are, the controller survives, and accesses no memory that they do not name.

use super::{command, data, put, status};
use crate::common::{Host, PAGE, bytes, options};
use joulio_nvme_spec::{NvmOpcode, SglDescriptor};
use proptest::prelude::*;

/// The addresses that a hostile host puts into a descriptor.
#[derive(Clone, Copy, Debug)]
enum Address {
    Inside(u16),
    Any(u64),
}

fn hostile_descriptor() -> impl Strategy<Value = (Address, u32, u8)> {
    let address = prop_oneof![
        4 => (0u16..16).prop_map(|page| Address::Inside(page * PAGE as u16)),
        3 => any::<u16>().prop_map(|at| Address::Inside(at & !7)),
        1 => any::<u16>().prop_map(Address::Inside),
        1 => any::<u64>().prop_map(Address::Any),
    ];
    let len = prop_oneof![
        6 => (0u32..3).prop_map(|units| units * 512),
        3 => (1u32..5).prop_map(|count| count * 16),
        1 => any::<u32>(),
    ];
    let identifier = prop_oneof![
        5 => Just(0x00u8),
        2 => Just(0x20),
        2 => Just(0x30),
        1 => any::<u8>(),
    ];
    (address, len, identifier)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn hostile_lists_touch_nothing_that_they_do_not_name(
        list in prop::collection::vec(hostile_descriptor(), 1..64),
        opcode in prop::sample::select(vec![NvmOpcode::READ, NvmOpcode::WRITE, NvmOpcode::COMPARE]),
        blocks in 1u32..5,
    ) {
        let mut host = Host::stepped(&options());
        let mut pair = host.pair(1, 8, None);
        // What the list may name, between pages that it names by going too far only.
        let memory = host.buffer(18 * PAGE);
        let base = memory.iova().0 + PAGE as u64;
        // The namespace holds 9s; so a byte that is read shows.
        memory.write(0, &[9; PAGE]);
        let fill = command(NvmOpcode::WRITE, 0, 8, data(&memory, 0, PAGE));
        prop_assert!(status(&host, &mut pair, fill).is_success());
        memory.write(0, &[0; PAGE]);
        let descriptors: Vec<SglDescriptor> = list
            .iter()
            .map(|&(address, len, identifier)| SglDescriptor {
                identifier,
                ..SglDescriptor::data_block(
                    match address {
                        Address::Inside(at) => base + u64::from(at),
                        Address::Any(address) => address,
                    },
                    len,
                )
            })
            .collect();
        // The same list at the head of every page, for segments to find.
        for page in 1..17 {
            put(&memory, page * PAGE, &descriptors);
        }
        let was = bytes(&memory, 0, 18 * PAGE);
        let requested = command(opcode, 0, blocks, descriptors[0]);
        let ended = status(&host, &mut pair, requested);
        let is = bytes(&memory, 0, 18 * PAGE);
        let changed: Vec<usize> = (0..is.len()).filter(|&at| is[at] != was[at]).collect();
        if ended.is_success() && opcode == NvmOpcode::READ {
            prop_assert!(changed.len() <= blocks as usize * 512);
            let named = |at: usize| {
                descriptors.iter().any(|each| {
                    let at = memory.iova().0 + at as u64;
                    let room = u64::from(each.length.get());
                    each.identifier == 0
                        && at.checked_sub(each.address.get()).is_some_and(|by| by < room)
                })
            };
            prop_assert!(changed.into_iter().all(named));
        } else {
            prop_assert!(changed.is_empty());
        }
        // The controller goes on.
        let read = command(NvmOpcode::READ, 0, 8, data(&memory, 0, PAGE));
        prop_assert!(status(&host, &mut pair, read).is_success());
    }
}
