//! Weighted round robin with an urgent priority class.

use crate::common::{Host, PAGE, Pair, enabled, options, slow_options, transfer};
use joulio_emulator::Options;
use joulio_nvme_spec::command::QueuePriority;
use joulio_nvme_spec::feature::{Arbitration, FeatureId};
use joulio_nvme_spec::register::{CAP, CC, Cap, Cc};
use joulio_nvme_spec::{Command, NvmOpcode, QueueId};

use joulio_device::Device;

/// Makes a controller that fetches by weight, high to low, and takes `2^ab` commands of a queue at a time.
fn weighted(mut options: Options, weights: [u8; 3], ab: u8) -> Host {
    options.weighted_round_robin = true;
    let mut host = Host::stepped(&options);
    host.device.write32(CC, 0);
    host.enable_as(enabled().with_ams(Cc::WEIGHTED));
    let [hpw, mpw, lpw] = weights;
    let arbitration = Arbitration::new().with_ab(ab);
    let arbitration = arbitration.with_hpw(hpw).with_mpw(mpw).with_lpw(lpw);
    host.must(Command::set_features(
        FeatureId::ARBITRATION,
        arbitration.into(),
    ));
    host
}

/// Makes submission queues of these classes, from identifier 1 on, that all complete to the first one's completion
/// queue.
fn queues(host: &mut Host, classes: &[QueuePriority]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (class, qid) in classes.iter().zip(1..) {
        let pair = Pair::new(&host.device, qid, 64);
        if qid == 1 {
            let mut create = Command::create_completion_queue(QueueId(1), 64, None);
            create.prp1.set(pair.completion.iova().0);
            host.must(create);
        }
        let create = Command::create_submission_queue(QueueId(qid), 64, QueueId(1));
        let mut create = create.with_priority(*class);
        create.prp1.set(pair.submission.iova().0);
        host.must(create);
        pairs.push(pair);
    }
    pairs
}

/// Returns the queues in the order of their completions, one letter each: `a` is the first queue.
fn order(pairs: &mut [Pair]) -> String {
    let first = &mut pairs[0];
    let done = std::iter::from_fn(|| first.reap());
    done.map(|completion| char::from(b'a' + (completion.queue_id().0 - 1) as u8))
        .collect()
}

/// Submits `count` reads to each queue, and rings all.
fn submit(host: &Host, pairs: &mut [Pair], count: u16) {
    let buffer = host.buffer(PAGE);
    for pair in pairs.iter_mut() {
        for cid in 0..count {
            pair.write(cid, transfer(NvmOpcode::READ, 0, 8, &buffer));
        }
    }
    for pair in pairs.iter() {
        pair.ring();
    }
}

#[test]
fn classes_share_by_their_weights_and_urgent_comes_first() {
    use QueuePriority as Class;
    let mut host = weighted(options(), [3, 1, 0], 7);
    let classes = [Class::LOW, Class::HIGH, Class::URGENT, Class::MEDIUM];
    let mut pairs = queues(&mut host, &classes);
    submit(&host, &mut pairs, 6);
    host.step(0);
    // Four of high, two of medium, one of low priority in a round, as long as each has some.
    let order = order(&mut pairs);
    assert_eq!(order.len(), 24, "{order}");
    let (urgent, rest) = order.split_at(6);
    assert_eq!(urgent, "cccccc");
    // The round may begin anywhere.
    let round = rest.find("bbbbdda").or_else(|| rest.find("ddabbbb"));
    assert!(round.is_some_and(|at| at < 7), "{order}");
    assert!(rest.ends_with("aaaa"), "{order}");
}

#[test]
fn queues_of_one_class_take_turns_of_a_burst() {
    let mut host = weighted(options(), [7, 7, 7], 1);
    let mut pairs = queues(&mut host, &[QueuePriority::MEDIUM; 3]);
    submit(&host, &mut pairs, 4);
    host.step(0);
    assert_eq!(order(&mut pairs), "aabbccaabbcc");
}

#[test]
fn what_the_model_cannot_begin_stays_in_its_queue_and_goes_by_weight_all_the_same() {
    let mut host = weighted(slow_options(), [2, 0, 0], 0);
    let classes = [QueuePriority::HIGH, QueuePriority::LOW];
    let mut pairs = queues(&mut host, &classes);
    submit(&host, &mut pairs, 30);
    let mut all = String::new();
    let mut now = 0;
    for _ in 0..16 {
        // Two at a time.
        assert!(host.step(now).fetched <= 2);
        now += 10_000;
        host.step(now);
        all += &order(&mut pairs);
    }
    // Three to one, wherever the round began.
    let high = all.matches('a').count();
    assert!((all.len() * 3 / 4).abs_diff(high) <= 3, "{all}");
    assert!(all.len() >= 30, "{all}");
}

#[test]
fn a_controller_without_it_does_not_become_ready_by_it() {
    let mut host = Host::stepped(&options());
    assert_eq!(Cap::from(host.device.read64(CAP)).ams(), 0);
    host.device.write32(CC, 0);
    host.device
        .write32(CC, enabled().with_ams(Cc::WEIGHTED).into());
    assert!(!host.status().rdy() && host.status().cfs());
    // Round robin takes no notice of a priority.
    host.device.write32(CC, 0);
    host.enable();
    let classes = [QueuePriority::LOW, QueuePriority::URGENT];
    let mut pairs = queues(&mut host, &classes);
    submit(&host, &mut pairs, 3);
    host.step(0);
    assert_eq!(order(&mut pairs), "aaabbb");
}
