//! Interrupts: masked and unmasked, redirected to memory, coalesced.

use crate::common::{Host, Pair, bytes, options, slow_options, transfer};
use joulio_device::{Device, DeviceError, Vector};
use joulio_nvme_spec::feature::{FeatureId, InterruptCoalescing};
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{Command, NvmOpcode};

fn read(host: &Host, pair: &mut Pair, cid: u16) {
    let buffer = host.buffer(4096);
    pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    host.step(0);
}

fn vectors(host: &Host, count: u16) -> Vec<Vector> {
    let vectors = host.device.enable_vectors(count).unwrap();
    assert!(vectors.iter().zip(0..).all(|(v, i)| v.index() == i));
    vectors
}

#[test]
fn an_interrupt_signals_the_vector_of_its_queue() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 3);
    for vector in &vectors {
        vector.unmask().unwrap();
    }
    let mut first = host.pair(1, 8, Some(1));
    let mut second = host.pair(2, 8, Some(2));
    let mut silent = host.pair(3, 8, None);
    assert!(vectors[0].take() > 0, "the admin queue has vector 0");
    read(&host, &mut first, 1);
    read(&host, &mut silent, 1);
    assert_eq!((vectors[1].take(), vectors[2].take()), (1, 0));
    read(&host, &mut second, 1);
    assert_eq!((vectors[1].take(), vectors[2].take()), (0, 1));
    assert_eq!(vectors[0].take(), 0);
}

#[test]
fn completions_of_one_step_share_an_interrupt() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    let buffer = host.buffer(4096);
    for cid in 0..5 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    assert_eq!(host.step(0).posted, 5);
    assert_eq!(vectors[1].take(), 1);
}

#[test]
fn a_masked_interrupt_is_pending_and_unmasking_replays_exactly_one() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    let mut pair = host.pair(1, 8, Some(1));
    for cid in 0..3 {
        read(&host, &mut pair, cid);
    }
    assert_eq!(vectors[1].take(), 0);
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 1);
    vectors[1].mask().unwrap();
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 0);
    // One on the admin queue's vector, which stays masked, and one on this.
    assert_eq!(host.device.activity().interrupts_pended, 2);
}

#[test]
fn a_redirected_interrupt_writes_its_word_and_signals_nothing() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    let mut pair = host.pair(1, 8, Some(1));
    let words = host.buffer(4096);
    vectors[1]
        .redirect(words.iova().offset(64), 0xfeed_0001)
        .unwrap();
    read(&host, &mut pair, 1);
    assert_eq!(words.memory().load_u32(64), 0, "masked");
    vectors[1].unmask().unwrap();
    assert_eq!(words.memory().load_u32(64), 0xfeed_0001);
    assert_eq!(bytes(&words, 0, 64), [0; 64]);
    assert_eq!(vectors[1].take(), 0);

    vectors[1].restore().unwrap();
    read(&host, &mut pair, 2);
    assert_eq!(vectors[1].take(), 1);
}

#[test]
fn several_vectors_may_raise_one_word() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 3);
    let word = host.buffer(4096);
    let mut pairs = [host.pair(1, 8, Some(1)), host.pair(2, 8, Some(2))];
    for (vector, data) in [(1, 11), (2, 22)] {
        vectors[vector].redirect(word.iova(), data).unwrap();
        vectors[vector].unmask().unwrap();
    }
    read(&host, &mut pairs[1], 1);
    assert_eq!(word.memory().load_u32(0), 22);
    read(&host, &mut pairs[0], 1);
    assert_eq!(word.memory().load_u32(0), 11);
}

#[test]
fn the_completion_is_there_before_the_redirected_word() {
    let mut host = Host::spawned(&options());
    let vectors = vectors(&host, 2);
    let mut pair = host.pair(1, 8, Some(1));
    let word = host.buffer(4096);
    let buffer = host.buffer(4096);
    vectors[1].unmask().unwrap();
    for round in 1..2000u16 {
        vectors[1].redirect(word.iova(), round.into()).unwrap();
        pair.submit(round, transfer(NvmOpcode::READ, 0, 1, &buffer));
        while word.memory().load_u32(0) != u32::from(round) {
            std::thread::yield_now();
        }
        let completion = pair.reap().expect("written before the word");
        assert_eq!(completion.cid.get(), round);
    }
}

#[test]
fn an_interrupt_redirected_nowhere_is_lost_and_counted() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    let mut pair = host.pair(1, 8, Some(1));
    let word = host.buffer(4096);
    vectors[1].unmask().unwrap();
    for target in [word.iova().offset(2), joulio_device::Iova(1 << 44)] {
        vectors[1].redirect(target, 1).unwrap();
        read(&host, &mut pair, 1);
        assert!(pair.reap().is_some());
    }
    assert_eq!(host.device.activity().interrupts_lost, 2);
}

#[test]
fn a_vector_that_is_not_enabled_is_refused_and_silent() {
    let mut host = Host::stepped(&options());
    assert_eq!(host.device.max_vectors(), 65);
    let too_many = host.device.enable_vectors(66);
    assert!(matches!(
        too_many,
        Err(DeviceError::Vectors {
            wanted: 66,
            have: 65
        })
    ));
    let old = vectors(&host, 2);
    let new = vectors(&host, 1);
    assert!(matches!(
        old[1].unmask(),
        Err(DeviceError::VectorTable { .. })
    ));
    new[0].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    read(&host, &mut pair, 1);
    assert!(pair.reap().is_some());
    assert_eq!(old[1].take(), 0);
}

#[test]
fn a_reset_forgets_what_is_pending() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    let mut pair = host.pair(1, 8, Some(1));
    read(&host, &mut pair, 1);
    host.device.write32(CC, 0);
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 0);
}

#[test]
fn coalescing_waits_for_enough_completions_or_for_its_time() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 32, Some(1));
    let coalescing = InterruptCoalescing::new().with_thr(3).with_time(2);
    host.must(Command::set_features(
        FeatureId::INTERRUPT_COALESCING,
        coalescing.into(),
    ));
    for cid in 0..3 {
        read(&host, &mut pair, cid);
        assert_eq!(vectors[1].take(), 0);
    }
    read(&host, &mut pair, 3);
    assert_eq!(vectors[1].take(), 1);

    read(&host, &mut pair, 4);
    assert_eq!(host.step(0).next.unwrap().0, 200_000);
    host.step(199_999);
    assert_eq!(vectors[1].take(), 0);
    host.step(200_000);
    assert_eq!(vectors[1].take(), 1);
}

#[test]
fn coalescing_can_be_disabled_for_a_vector() {
    let mut host = Host::stepped(&options());
    let vectors = vectors(&host, 2);
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 32, Some(1));
    let set = Command::set_features;
    host.must(set(FeatureId::INTERRUPT_COALESCING, 0x0203));
    host.must(set(FeatureId::INTERRUPT_VECTOR_CONFIGURATION, 1 << 16 | 1));
    read(&host, &mut pair, 1);
    assert_eq!(vectors[1].take(), 1);
}

#[test]
fn interrupts_come_with_the_completion_and_not_before() {
    let mut host = Host::stepped(&slow_options());
    let vectors = vectors(&host, 2);
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    read(&host, &mut pair, 1);
    assert_eq!(vectors[1].take(), 0);
    host.step(10_000);
    assert_eq!(vectors[1].take(), 1);
}
