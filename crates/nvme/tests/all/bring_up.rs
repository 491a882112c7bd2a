//! Controllers that do not come up, and queue pairs with extreme parameters.

use crate::common::Seen;
use joulio_device::{Device, DeviceError, DmaMemory, Vector};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::register::{CAP, CC, CRTO, CSTS, Cap, Cc, Crto};
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, NvmeError, PollGroup};
use joulio_units::Nanos;
use proptest::prelude::*;

/// An emulated controller with false values in some registers.
struct Lies {
    device: EmulatedDevice,
    cap: Option<u64>,
    csts: Option<u32>,
    crto: u32,
}

impl Device for Lies {
    type Doorbell = EmulatedDoorbell;

    fn name(&self) -> &str {
        "lies"
    }
    fn read32(&self, offset: u32) -> u32 {
        match (offset, self.csts) {
            (CSTS, Some(csts)) => csts,
            (CRTO, _) => self.crto,
            _ => self.device.read32(offset),
        }
    }
    fn read64(&self, offset: u32) -> u64 {
        match (offset, self.cap) {
            (CAP, Some(cap)) => cap,
            _ => self.device.read64(offset),
        }
    }
    fn write32(&self, offset: u32, value: u32) {
        self.device.write32(offset, value);
    }
    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
    }
    fn doorbell(&self, offset: u32) -> Result<EmulatedDoorbell, DeviceError> {
        self.device.doorbell(offset)
    }
    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        self.device.allocate(len)
    }
    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }
    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        self.device.enable_vectors(count)
    }
}

fn two_namespaces() -> EmulatedDevice {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    options.namespaces = [512, 4096]
        .map(|block| NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(1 << 20),
            },
            block: Some(block),
        })
        .into();
    EmulatedDevice::spawn(&options).unwrap()
}

fn open(cap: Option<u64>, csts: Option<u32>) -> Result<Controller<Lies>, NvmeError> {
    let lies = Lies {
        device: two_namespaces(),
        cap,
        csts,
        crto: Crto::new().with_crwmt(2).with_crimt(9).into(),
    };
    Controller::open(lies, ControllerOptions::default())
}

fn error(cap: Option<u64>, csts: Option<u32>) -> NvmeError {
    open(cap, csts).map(|_| ()).unwrap_err()
}

fn cap() -> Cap {
    Cap::from(two_namespaces().read64(CAP))
}

#[test]
fn a_device_that_reads_as_all_ones_is_gone() {
    assert!(matches!(
        error(Some(u64::MAX), None),
        NvmeError::Removed { .. }
    ));
    assert!(matches!(
        error(None, Some(u32::MAX)),
        NvmeError::Removed { .. }
    ));
}

#[test]
fn a_controller_that_never_gets_ready_is_given_up_after_cap_to() {
    // TO = 1: half a second.
    let impatient = Some(u64::from(cap().with_to(1)));
    let error = error(impatient, Some(0));
    assert!(
        matches!(
            error,
            NvmeError::NotReady {
                enabled: true,
                milliseconds: 500,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_controller_of_nvme_2_has_the_time_of_crto_where_that_is_longer() {
    // CRTO.CRWMT = 2: a second.
    let to = |to, crms| Some(u64::from(cap().with_to(to).with_crms(crms)));
    for (cap, expected) in [(to(1, 1), 1000), (to(1, 2), 500), (to(3, 1), 1500)] {
        let error = error(cap, Some(0));
        let NvmeError::NotReady { milliseconds, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(milliseconds, expected);
    }
}

#[test]
fn an_mqes_of_0_is_a_queue_of_two_entries() {
    let controller = open(Some(u64::from(cap().with_mqes(0))), None).unwrap();
    assert_eq!(controller.max_depth(), 1);
    let queue = controller.create_queue_pair(1).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    for tag in 0..3 {
        let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
        group.queues()[0]
            .read(&namespace, 0, 1, buffer, tag)
            .unwrap();
        group.queues()[0].ring();
        let reaped = group.reap(1, None, |_, done| assert_eq!(done.tag, tag));
        assert_eq!(reaped.unwrap(), 1);
    }
}

#[test]
fn a_controller_that_never_lets_go_is_given_up_too() {
    let impatient = Some(u64::from(cap().with_to(1)));
    let error = error(impatient, Some(1));
    assert!(
        matches!(error, NvmeError::NotReady { enabled: false, .. }),
        "{error}"
    );
}

#[test]
fn a_controller_without_what_the_driver_needs_is_refused() {
    let no_nvm = Some(u64::from(cap().with_css(0x80)));
    assert!(matches!(error(no_nvm, None), NvmeError::Unsupported { .. }));
    let large_pages = Some(u64::from(cap().with_mpsmin(4)));
    assert!(matches!(
        error(large_pages, None),
        NvmeError::Unsupported { .. }
    ));
}

#[test]
fn all_command_sets_are_chosen_where_the_controller_has_them() {
    let (nvm, all) = (Cap::NVM_COMMAND_SET, Cap::ALL_COMMAND_SETS);
    let chosen = |css| {
        let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
        options.command_sets = true;
        let device = EmulatedDevice::spawn(&options).unwrap();
        let cap = Cap::from(device.read64(CAP)).with_css(css);
        let lies = Lies {
            device,
            cap: Some(cap.into()),
            csts: None,
            crto: 0,
        };
        let controller = Controller::open(lies, ControllerOptions::default()).unwrap();
        assert_eq!(controller.active_namespaces().unwrap(), [1]);
        assert!(controller.create_queue_pair(1).is_ok());
        Cc::from(controller.device().read32(CC)).css()
    };
    let (one, every) = (Cc::NVM_COMMAND_SET, Cc::ALL_COMMAND_SETS);
    // The bit of no I/O command set (7) changes nothing.
    let cases = [nvm, nvm | 1 << 7, nvm | all, all];
    assert_eq!(cases.map(chosen), [one, one, every, every]);
}

#[test]
fn doorbells_that_cannot_be_reached_cost_no_queue() {
    // The largest stride: the doorbells of queue 1 are beyond the emulator's registers.
    let strided = Some(u64::from(cap().with_dstrd(15)));
    let refused = open(strided, None);
    // Even the admin queue's completion doorbell is out of reach.
    assert!(matches!(
        refused,
        Err(NvmeError::Device(DeviceError::Doorbell { .. }))
    ));
}

#[test]
fn each_namespace_has_its_own_blocks() {
    let controller = open(None, None).unwrap();
    assert_eq!(controller.active_namespaces().unwrap(), [1, 2]);
    let small = controller.namespace(1).unwrap();
    let large = controller.namespace(2).unwrap();
    assert_eq!((small.block_size(), large.block_size()), (512, 4096));
    let error = controller.namespace(3).unwrap_err();
    assert!(error.to_string().contains("it has: 1, 2"), "{error}");
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    let mut buffers = controller.allocate_buffers(2, 4096).unwrap();
    for (namespace, byte) in [(&small, 0x11), (&large, 0x22)] {
        let mut buffer = buffers.pop().unwrap();
        buffer.write(0, &[byte; 4096]);
        let blocks = 4096 / namespace.block_size();
        group.queues()[0]
            .write(namespace, 0, blocks, buffer, 0)
            .unwrap();
    }
    group.queues()[0].ring();
    group
        .reap(2, None, |_, done| buffers.extend(done.buffer))
        .unwrap();
    for (namespace, byte) in [(&small, 0x11), (&large, 0x22)] {
        let blocks = 4096 / namespace.block_size();
        let buffer = buffers.pop().unwrap();
        group.queues()[0]
            .read(namespace, 0, blocks, buffer, 0)
            .unwrap();
        group.queues()[0].ring();
        let mut data = [0; 4096];
        group
            .reap(1, None, |_, done| {
                let buffer = done.buffer.unwrap();
                buffer.read(0, &mut data);
                buffers.push(buffer);
            })
            .unwrap();
        assert_eq!(data, [byte; 4096]);
    }
}

#[test]
fn a_system_with_fewer_vectors_gives_the_first_queues_theirs_and_says_so_to_the_others() {
    let options = ControllerOptions {
        queues: 4,
        ..ControllerOptions::default()
    };
    let (controller, _stepper, _) = crate::common::open_stepped(Seen::with_vectors(2), options);
    assert_eq!((controller.max_queues(), controller.vectors()), (4, 2));
    let mut first = controller.create_queue_pair(4).unwrap();
    let mut second = controller.create_queue_pair(4).unwrap();
    first.set_policy(AnyPolicy::INTERRUPT).unwrap();
    second.set_policy(AnyPolicy::POLL).unwrap();
    let refused = second.set_policy(AnyPolicy::INTERRUPT).unwrap_err();
    let why = refused.to_string();
    assert!(why.contains("gave 2 of the 5 vectors"), "{why}");
}

#[test]
fn depth_is_bounded_by_mqes_and_the_identifier() {
    let controller = open(Some(u64::from(cap().with_mqes(9))), None).unwrap();
    assert_eq!(controller.max_depth(), 9);
    assert!(matches!(
        controller.create_queue_pair(10),
        Err(NvmeError::Depth { max: 9, .. })
    ));
    assert!(controller.create_queue_pair(9).is_ok());
    let controller = open(Some(u64::from(cap().with_mqes(u16::MAX))), None).unwrap();
    assert_eq!(controller.max_depth(), 4095);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn queues_of_any_depth_go_around_with_any_batches(
        depth in 1usize..20,
        batches in proptest::collection::vec((0usize..24, 0usize..24), 1..60),
    ) {
        let (controller, stepper, _) = crate::common::open();
        let namespace = controller.namespace(1).unwrap();
        let mut queue = controller.create_queue_pair(depth).unwrap();
        let mut buffers = controller.allocate_buffers(depth, 512).unwrap();
        let (mut next, mut expected) = (0u64, 0u64);
        for (submit, reap) in batches {
            for _ in 0..submit.min(buffers.len()) {
                let buffer = buffers.pop().unwrap();
                queue.read(&namespace, next % 100, 1, buffer, next).unwrap();
                next += 1;
            }
            queue.ring();
            stepper.step(Nanos::ZERO);
            // An instant device completes its commands in order.
            let mut in_order = true;
            let reaped = queue.reap(reap, |done| {
                in_order &= done.tag == expected && done.status.is_success();
                expected += 1;
                buffers.extend(done.buffer);
            });
            prop_assert!(in_order && reaped.unwrap() <= reap);
            prop_assert_eq!(queue.outstanding() as u64, next - expected);
        }
    }
}
