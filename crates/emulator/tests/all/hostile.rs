//! A hostile host: whatever it writes, the controller stays consistent.

use crate::common::{Host, Pair, options, ram, slow_options, transfer};
use joulio_device::{Device, Doorbell};
use joulio_emulator::{EmulatedDevice, EmulatorError, Options};
use joulio_nvme_spec::register::{ACQ, AQA, ASQ, CC};
use joulio_nvme_spec::{Command, NvmOpcode};
use proptest::prelude::*;
use zerocopy::FromBytes;

#[test]
fn doorbell_values_that_cannot_be_are_ignored_and_counted() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    for (round, value) in [8, 9, 0xffff, 0x1_0000, u32::MAX].into_iter().enumerate() {
        pair.tail.ring(value);
        assert_eq!(host.step(0).fetched, 0);
        pair.head.ring(value);
        host.step(0);
        let counted = host.device.activity().invalid_doorbells;
        assert_eq!(counted, 2 * (round as u64 + 1), "{value:#x}");
    }
    pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    host.step(0);
    assert!(pair.reap().unwrap().status().is_success());
}

#[test]
fn a_head_beyond_the_tail_is_ignored() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    pair.head.ring(5);
    host.step(0);
    assert_eq!(host.device.activity().invalid_doorbells, 1);
    for cid in 0..20 {
        pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
        host.step(0);
        assert!(pair.reap().is_some());
    }
}

#[test]
fn a_thread_reports_doorbells_of_queues_that_do_not_exist() {
    let host = Host::spawned(&options());
    host.device.doorbell(0x1000 + 8 * 9).unwrap().ring(3);
    host.device.doorbell(0x1000 + 8 * 9 + 4).unwrap().ring(3);
    // A head wakes nobody; it is found with the next tail.
    while host.device.activity().invalid_doorbells < 2 {
        host.device.doorbell(0x1000 + 8 * 8).unwrap().ring(1);
        std::thread::yield_now();
    }
}

#[test]
fn options_that_make_no_controller_are_refused() {
    let refuse = |change: fn(&mut Options)| {
        let mut options = options();
        change(&mut options);
        EmulatedDevice::stepped(&options).map(|_| ()).unwrap_err()
    };
    assert!(matches!(
        refuse(|o| o.namespaces.clear()),
        EmulatorError::Namespaces { requested: 0, .. }
    ));
    assert!(matches!(
        refuse(|o| o.queue_pairs = 257),
        EmulatorError::QueuePairs { requested: 257, .. }
    ));
    assert!(matches!(
        refuse(|o| o.queue_pairs = 0),
        EmulatorError::QueuePairs { .. }
    ));
    assert!(matches!(
        refuse(|o| o.vectors = 2049),
        EmulatorError::Vectors { .. }
    ));
    assert!(matches!(
        refuse(|o| o.namespaces[0] = ram(1024)),
        EmulatorError::BlockSize { bytes: 1024 }
    ));
}

/// An action of a hostile host.
#[derive(Clone, Debug)]
enum Act {
    Admin(Vec<u8>),
    Io(usize, Vec<u8>),
    Doorbell(u32, u32),
    Register(u32, u64),
    Enable,
    Step(u64),
    Mask(u16, bool),
    Redirect(u16, u64),
}

/// Generates bytes of a command whose fields are often nearly valid: small opcodes, identifiers and lengths, addresses
/// in and about mapped memory.
fn command(admin: bool) -> impl Strategy<Value = Vec<u8>> {
    let opcode = if admin {
        prop_oneof![(0u32..0x10).boxed(), (0u32..0x400).boxed()].boxed()
    } else {
        prop_oneof![(0u32..4).boxed(), any::<u32>().boxed()].boxed()
    };
    let word = || {
        prop_oneof![
            Just(0u32),
            0u32..4,
            Just(u32::MAX),
            any::<u32>(),
            Just(0x7_0001)
        ]
    };
    let address = || {
        prop_oneof![
            4 => (0u64..0x40).prop_map(|page| page * 4096),
            2 => 0u64..0x40_000,
            1 => any::<u64>(),
            1 => Just(u64::MAX - 4095),
        ]
    };
    let words = proptest::collection::vec(word(), 6);
    (opcode, any::<u16>(), word(), address(), address(), words).prop_map(
        |(opcode, cid, nsid, prp1, prp2, words)| {
            let mut bytes = Vec::new();
            bytes.extend((opcode | u32::from(cid) << 16).to_le_bytes());
            bytes.extend(nsid.to_le_bytes());
            bytes.extend([0; 16]);
            bytes.extend(prp1.to_le_bytes());
            bytes.extend(prp2.to_le_bytes());
            bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
            bytes
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let doorbell = (0u32..10).prop_map(|index| 0x1000 + index * 4);
    let value = prop_oneof![4 => 0u32..20, 1 => any::<u32>()];
    let register = prop_oneof![
        Just(CC),
        Just(AQA),
        Just(ASQ),
        Just(ACQ),
        0u32..0x60,
        any::<u32>()
    ];
    prop_oneof![
        4 => command(true).prop_map(Act::Admin),
        4 => (0usize..2, command(false)).prop_map(|(pair, bytes)| Act::Io(pair, bytes)),
        2 => (doorbell, value).prop_map(|(at, value)| Act::Doorbell(at, value)),
        1 => (register, any::<u64>()).prop_map(|(at, value)| Act::Register(at, value)),
        1 => Just(Act::Enable),
        4 => (0u64..1_000_000).prop_map(Act::Step),
        1 => (0u16..4, any::<bool>()).prop_map(|(vector, masked)| Act::Mask(vector, masked)),
        1 => (0u16..4, any::<u64>()).prop_map(|(vector, at)| Act::Redirect(vector, at)),
    ]
}

fn perform(host: &mut Host, pairs: &mut [Pair], vectors: &[joulio_device::Vector], act: Act) {
    match act {
        Act::Admin(bytes) => {
            let command = Command::read_from_bytes(&bytes).unwrap();
            host.admin.submit(bytes[2].into(), command);
            while host.admin.reap().is_some() {}
        }
        Act::Io(pair, bytes) => {
            let command = Command::read_from_bytes(&bytes).unwrap();
            pairs[pair].submit(bytes[2].into(), command);
        }
        Act::Doorbell(at, value) => host.device.doorbell(at).unwrap().ring(value),
        Act::Register(at, value) => host.device.write64(at, value),
        Act::Enable => {
            host.device.write32(CC, 0);
            host.enable();
            pairs[0] = host.pair(1, 8, Some(1));
            pairs[1] = host.pair(2, 16, Some(0));
        }
        Act::Step(now) => {
            host.step(now);
        }
        Act::Mask(vector, masked) => {
            let Some(vector) = vectors.get(usize::from(vector)) else {
                return;
            };
            let _ = if masked {
                vector.mask()
            } else {
                vector.unmask()
            };
        }
        Act::Redirect(vector, at) => {
            if let Some(vector) = vectors.get(usize::from(vector)) {
                let _ = vector.redirect(joulio_device::Iova(at), 7);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_that_a_host_writes_breaks_the_controller(
        acts in proptest::collection::vec(act(), 1..80),
        slow in any::<bool>(),
    ) {
        let mut options = if slow { slow_options() } else { options() };
        options.queue_pairs = 4;
        options.vectors = 3;
        let mut host = Host::stepped(&options);
        let vectors = host.device.enable_vectors(2).unwrap();
        let mut pairs = vec![host.pair(1, 8, Some(1)), host.pair(2, 16, Some(0))];
        for act in acts {
            perform(&mut host, &mut pairs, &vectors, act);
        }
        // Whatever happened, a reset makes the controller work.
        host.device.write32(CC, 0);
        host.enable();
        let mut pair = host.pair(1, 8, None);
        let buffer = host.buffer(4096);
        pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
        // Servers may be busy for as long as the acts have made them.
        host.step(1 << 60);
        host.step(1 << 61);
        prop_assert!(pair.reap().unwrap().status().is_success());
    }
}
