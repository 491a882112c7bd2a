//! The client with a peer that follows the protocol.

use super::peer::{ENTRIES, Inside, Peer, TABLE};
use crate::{Device, Doorbell, Iova, SharedMemory};
use joulio_vfio_user_wire::command;
use std::os::fd::AsFd;

#[test]
fn a_register_is_a_message_and_says_what_the_peer_holds() {
    let (peer, device) = Peer::honest(true);
    device.write64(0x28, 0x1122_3344_5566_7788);
    assert_eq!(device.read64(0x28), 0x1122_3344_5566_7788);
    assert_eq!(device.read32(0x2c), 0x1122_3344);
    assert_eq!(peer.inside.lock().unwrap().bar0[0x28], 0x88);
}

#[test]
fn opening_resets_the_device_and_lets_it_master_the_bus() {
    let (peer, _device) = Peer::honest(true);
    let inside = peer.inside.lock().unwrap();
    assert!(inside.seen.contains(&command::DEVICE_RESET));
    assert_eq!(inside.config[4] & 6, 6);
}

#[test]
fn a_mapped_doorbell_is_a_store_and_no_message() {
    let (peer, device) = Peer::honest(true);
    assert!(device.doorbells_mapped());
    let doorbell = device.doorbell(0x1008).unwrap();
    let before = peer.inside.lock().unwrap().seen.len();
    doorbell.ring(7);
    let inside = peer.inside.lock().unwrap();
    assert_eq!(inside.seen.len(), before);
    // The sparse area's offset in the file is its offset in the region.
    assert_eq!(inside.page.as_ref().unwrap().0.load_u32(0x1008), 7);
}

#[test]
fn without_a_mapping_a_doorbell_is_a_message() {
    let (peer, device) = Peer::honest(false);
    assert!(!device.doorbells_mapped());
    device.doorbell(0x100c).unwrap().ring(9);
    assert_eq!(peer.inside.lock().unwrap().bar0[0x100c], 9);
}

#[test]
fn a_doorbell_outside_of_the_bar_is_refused() {
    let (_peer, device) = Peer::honest(true);
    assert!(device.doorbell(0x3000).is_err());
    assert!(device.doorbell(0x1002).is_err());
}

#[test]
fn both_sides_see_the_same_memory_until_it_is_dropped() {
    let (peer, device) = Peer::honest(true);
    let pieces: Vec<_> = [4096, 100, 3 << 20]
        .map(|len| device.allocate(len).unwrap())
        .into();
    for (index, piece) in pieces.iter().enumerate() {
        piece.write(8, &[index as u8 + 1; 4]);
        let inside = peer.inside.lock().unwrap();
        let (map, file) = &inside.maps[&piece.iova().0];
        let theirs =
            SharedMemory::from_file(file.as_fd(), map.offset, map.size as usize, true).unwrap();
        assert_eq!(theirs.load_u32(8), u32::from_le_bytes([index as u8 + 1; 4]));
        theirs.store_u32(12, 77);
        assert_eq!(piece.memory().load_u32(12), 77);
    }
    drop(pieces);
    assert!(peer.inside.lock().unwrap().maps.is_empty());
}

#[test]
fn memory_that_is_used_again_is_zero_again() {
    let (_peer, device) = Peer::honest(true);
    let piece = device.allocate(8192).unwrap();
    let at = piece.iova();
    piece.write(0, &[9; 8192]);
    drop(piece);
    let piece = device.allocate(8192).unwrap();
    assert_eq!(piece.iova(), at);
    let mut bytes = [1; 8192];
    piece.read(0, &mut bytes);
    assert!(bytes.iter().all(|&byte| byte == 0));
}

#[test]
fn memory_that_is_shared_is_not_used_again_before_it_is_dropped() {
    let (peer, device) = Peer::honest(true);
    let piece = device.allocate(4096).unwrap();
    let at = piece.iova();
    piece.memory().store_u32(0, 9);
    let shared = piece.share();
    drop(piece);
    assert!(peer.inside.lock().unwrap().maps.is_empty());
    let other = device.allocate(4096).unwrap();
    assert_ne!(other.iova(), at);
    assert_eq!(shared.load_u32(0), 9);
    shared.store_u32(0, 7);
    assert_eq!(other.memory().load_u32(0), 0);
    assert!(!shared.is_private());
    drop((shared, other));
    assert_eq!(device.allocate(4096).unwrap().iova(), at);
}

#[test]
fn a_peer_cannot_shrink_our_memory() {
    let (peer, device) = Peer::honest(true);
    let piece = device.allocate(4096).unwrap();
    let inside = peer.inside.lock().unwrap();
    let (_, file) = &inside.maps[&piece.iova().0];
    assert!(rustix::fs::ftruncate(file, 0).is_err());
}

#[test]
fn each_vector_has_its_event_in_messages_as_large_as_the_peer_takes() {
    let (peer, device) = Peer::honest(true);
    assert_eq!(device.max_vectors(), ENTRIES);
    let vectors = device.enable_vectors(ENTRIES).unwrap();
    let inside = peer.inside.lock().unwrap();
    // The peer's version allows two.
    assert_eq!(inside.max_fds, 2);
    assert_eq!(inside.events.len(), usize::from(ENTRIES));
    for vector in &vectors {
        let event = &inside.events[&vector.index().into()];
        rustix::io::write(event, &1u64.to_ne_bytes()).unwrap();
        assert_eq!(vector.take(), 1);
    }
    drop(inside);
    assert!(device.enable_vectors(ENTRIES + 1).is_err());
}

#[test]
fn masking_is_the_bit_in_the_table() {
    let (peer, device) = Peer::honest(true);
    let vectors = device.enable_vectors(2).unwrap();
    let bit = |vector| peer.inside.lock().unwrap().table(vector, 3);
    assert_eq!((bit(0), bit(1)), (1, 1));
    vectors[1].unmask().unwrap();
    assert_eq!((bit(0), bit(1)), (1, 0));
    // Message Control of the capability: enabled.
    assert_eq!(peer.inside.lock().unwrap().config[0x43] & 0xc0, 0x80);
}

#[test]
fn opening_disables_intx_and_what_an_earlier_client_left_enabled() {
    let mut inside = Inside::like_spdk();
    inside.config[0x43] = 0xc0;
    let (peer, device) = Peer::open(inside, |_| {});
    let device = device.unwrap();
    assert_eq!(peer.inside.lock().unwrap().config[0x04..0x06], [0x06, 0x04]);
    assert!(!peer.inside.lock().unwrap().interrupts());
    // CC.EN: from now on completions raise interrupts, and there are no events yet.
    device.write32(0x14, 1);
    assert_eq!(device.read32(0x14), 1);
    assert!(!peer.inside.lock().unwrap().fatal);
}

#[test]
fn without_a_table_no_interrupt_is_raised_that_nobody_can_take() {
    let mut inside = Inside::like_spdk();
    inside.raising = vec![0, 1, 2];
    let (peer, device) = Peer::open(inside, |_| {});
    let device = device.unwrap();
    device.write32(0x14, 1);
    let vectors = device.enable_vectors(3).unwrap();
    // Changes to every completion mode, and back, with completions after every message.
    for vector in &vectors {
        vector.unmask().unwrap();
        vector.mask().unwrap();
    }
    for vector in &vectors {
        vector.unmask().unwrap();
    }
    for vector in &vectors {
        vector.mask().unwrap();
    }
    drop(vectors);
    let vectors = device.enable_vectors(3).unwrap();
    vectors[1].unmask().unwrap();
    drop((vectors, device));
    let inside = peer.inside.lock().unwrap();
    assert!(!inside.fatal);
    assert!(inside.events.is_empty() && !inside.interrupts());
}

#[test]
fn without_a_table_a_masked_vector_costs_the_peer_no_interrupts() {
    let (peer, device) = Peer::open(Inside::like_spdk(), |_| {});
    let device = device.unwrap();
    let vectors = device.enable_vectors(2).unwrap();
    let interrupts = || peer.inside.lock().unwrap().interrupts();
    assert!(!interrupts());
    vectors[1].unmask().unwrap();
    assert!(interrupts());
    vectors[0].unmask().unwrap();
    vectors[1].mask().unwrap();
    assert!(interrupts());
    vectors[0].mask().unwrap();
    assert!(!interrupts());
    assert!(vectors[1].redirect(Iova(0x1000), 1).is_err());
}

#[test]
fn without_a_table_what_was_raised_behind_the_mask_is_no_interrupt() {
    let mut inside = Inside::like_spdk();
    inside.raising = vec![0, 1];
    let (peer, device) = Peer::open(inside, |_| {});
    let device = device.unwrap();
    let vectors = device.enable_vectors(2).unwrap();
    device.write32(0x14, 1);
    vectors[0].unmask().unwrap();
    for _ in 0..10 {
        peer.inside.lock().unwrap().complete();
    }
    assert!(vectors[0].take() >= 10);
    device.write32(0x14, 0);
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 0);
    peer.inside.lock().unwrap().bar0[0x14] = 1;
    peer.inside.lock().unwrap().complete();
    assert_eq!(vectors[1].take(), 1);
}

#[test]
fn redirecting_writes_the_entry_and_restoring_puts_it_back() {
    let (peer, device) = Peer::honest(true);
    peer.inside.lock().unwrap().bar0[TABLE] = 0x40;
    let vectors = device.enable_vectors(1).unwrap();
    let entry = || {
        let inside = peer.inside.lock().unwrap();
        [0, 1, 2].map(|word| inside.table(0, word))
    };
    vectors[0].redirect(Iova(0x7_1234_5000), 42).unwrap();
    assert_eq!(entry(), [0x1234_5000, 7, 42]);
    vectors[0].restore().unwrap();
    assert_eq!(entry(), [0x40, 0, 0]);
}

#[test]
fn a_device_without_msix_has_no_vectors() {
    let mut inside = Inside::new(true);
    inside.config[0x34] = 0;
    let (_peer, device) = Peer::open(inside, |_| {});
    assert_eq!(device.unwrap().max_vectors(), 0);
}

#[test]
fn without_a_table_a_posted_mask_is_no_store() {
    let (peer, device) = Peer::open(Inside::like_spdk(), |_| {});
    let vectors = device.unwrap().enable_vectors(1).unwrap();
    let interrupts = || peer.inside.lock().unwrap().interrupts();
    vectors[0].post_unmask().unwrap();
    assert!(interrupts());
    vectors[0].post_mask().unwrap();
    assert!(!interrupts());
}
