//! The end of a controller: who is notified, and which memory is freed.

use joulio_device::{Device, DeviceError, DmaMemory, Doorbell, SharedMemory, Vector};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell, Fault, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::Status;
use joulio_nvme::spec::register::{CSTS, Csts};
use joulio_nvme::{Controller, ControllerOptions, NvmeError, PollGroup};
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// An emulated device that is about to be removed.
struct Leaving {
    device: EmulatedDevice,
    levers: Arc<Levers>,
}

#[derive(Default)]
struct Levers {
    /// All memory that the driver was given and that still exists.
    memory: Mutex<Vec<Weak<SharedMemory>>>,
    /// True if doorbells are ignored.
    unresponsive: AtomicBool,
    /// Number of reads of the controller's status.
    status_reads: AtomicU64,
    /// True if the system requests the device's removal, and then removes it at once.
    removal_requested: AtomicBool,
}

impl Levers {
    fn pieces_of_memory(&self) -> usize {
        let memory = self.memory.lock().unwrap();
        memory.iter().filter(|it| it.strong_count() > 0).count()
    }
}

struct Bell(EmulatedDoorbell, Arc<Levers>);

impl Doorbell for Bell {
    fn ring(&self, value: u32) {
        if !self.1.unresponsive.load(Ordering::Relaxed) {
            self.0.ring(value);
        }
    }
}

impl Device for Leaving {
    type Doorbell = Bell;

    fn name(&self) -> &str {
        "leaving"
    }
    fn read32(&self, offset: u32) -> u32 {
        let of_status = u64::from(offset == CSTS);
        self.levers
            .status_reads
            .fetch_add(of_status, Ordering::Relaxed);
        self.device.read32(offset)
    }
    fn read64(&self, offset: u32) -> u64 {
        self.device.read64(offset)
    }
    fn write32(&self, offset: u32, value: u32) {
        self.device.write32(offset, value);
    }
    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
    }
    fn doorbell(&self, offset: u32) -> Result<Bell, DeviceError> {
        let doorbell = self.device.doorbell(offset)?;
        Ok(Bell(doorbell, Arc::clone(&self.levers)))
    }
    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        let memory = self.device.allocate(len)?;
        let seen = Arc::downgrade(&memory.share());
        self.levers.memory.lock().unwrap().push(seen);
        Ok(memory)
    }
    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }
    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        self.device.enable_vectors(count)
    }
    fn is_removal_requested(&self) -> bool {
        let wanted = self.levers.removal_requested.load(Ordering::Relaxed);
        if wanted {
            self.device.inject(Fault::Removed);
        }
        wanted
    }
}

/// Time limit of an I/O; a check is made after each eighth of it.
const IO_TIMEOUT: Duration = Duration::from_millis(400);

fn open() -> (Controller<Leaving>, Stepper, Arc<Levers>) {
    let options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let levers = Arc::<Levers>::default();
    let device = Leaving {
        device,
        levers: Arc::clone(&levers),
    };
    let how = ControllerOptions {
        queues: 2,
        admin_timeout: Nanos::from_millis(20),
        io_timeout: Nanos(IO_TIMEOUT.as_nanos() as u64),
        ..ControllerOptions::default()
    };
    (Controller::open(device, how).unwrap(), stepper, levers)
}

#[test]
fn the_status_of_a_controller_is_read_when_it_completes_nothing() {
    let (controller, stepper, levers) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    let mut buffers = controller.allocate_buffers(2, 512).unwrap();
    let send = |group: &mut PollGroup<Leaving>, buffer| {
        let queue = &mut group.queues()[0];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
    };
    send(&mut group, buffers.remove(0));
    let reads = || levers.status_reads.load(Ordering::Relaxed);
    // The first check has seen no completion before it. After that, one command is always in flight, and one
    // completes between any two checks.
    let (mut before, mut checks) = (None, 0);
    let mut next = Instant::now() + IO_TIMEOUT / 4;
    while checks < 8 {
        stepper.step(joulio_wait::now());
        send(&mut group, buffers.remove(0));
        group
            .reap(1, None, |_, done| buffers.extend(done.into_buffers()))
            .unwrap();
        if Instant::now() >= next {
            before.get_or_insert_with(reads);
            checks += 1;
            next = Instant::now() + IO_TIMEOUT / 4;
        }
    }
    assert_eq!(Some(reads()), before);
    // Once nothing completes any more, the status is read.
    while Some(reads()) == before {
        group.reap(0, None, |_, _| {}).unwrap();
    }
}

#[test]
fn a_controller_that_completes_commands_is_given_back_when_it_is_to_be_removed() {
    let (controller, stepper, levers) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    let mut buffers = controller.allocate_buffers(2, 512).unwrap();
    levers.removal_requested.store(true, Ordering::Relaxed);
    let error = loop {
        while let Some(buffer) = buffers.pop() {
            let queue = &mut group.queues()[0];
            queue.read(&namespace, 0, 1, buffer, 0).unwrap();
            queue.ring();
        }
        stepper.step(joulio_wait::now());
        let reaped = group.reap(1, None, |_, done| buffers.extend(done.into_buffers()));
        if let Err(error) = reaped {
            break error;
        }
    };
    assert!(
        matches!(error, NvmeError::RemovalRequested { .. }),
        "{error}"
    );
}

#[test]
fn one_error_ends_the_commands_of_all_queues_of_a_device_that_is_gone() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let queues = (0..2).map(|_| controller.create_queue_pair(4).unwrap());
    let mut group = PollGroup::new(queues.collect());
    for (tag, queue) in (0..).zip(group.queues()) {
        let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
        queue.read(&namespace, 0, 1, buffer, tag).unwrap();
        queue.ring();
    }
    stepper.inject(Fault::Removed);
    let mut ended = Vec::new();
    let result = group.reap(1, None, |queue, done| {
        assert_eq!(done.status, Status::ABORTED_BY_HOST);
        ended.push((queue, done.tag, done.buffer.is_some()));
    });
    assert!(matches!(result, Err(NvmeError::Removed { .. })));
    assert_eq!(ended, [(0, 0, true), (1, 1, true)]);
}

#[test]
fn a_device_that_is_pulled_out_while_it_is_handed_back_leaves_no_memory_behind() {
    let (controller, _stepper, levers) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(4).unwrap();
    queue.flush(&namespace, 1).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    levers.removal_requested.store(true, Ordering::Relaxed);
    let result = group.reap(1, None, |_, _| {});
    assert!(matches!(result, Err(NvmeError::RemovalRequested { .. })));
    assert!(levers.pieces_of_memory() > 0);
    drop((group, controller));
    assert_eq!(levers.pieces_of_memory(), 0);
}

#[test]
fn a_controller_that_a_reset_did_not_help_is_disabled_before_its_memory_goes() {
    let (controller, _stepper, levers) = open();
    let device = controller.device().device.clone();
    // The controller comes up again, but executes no admin command.
    levers.unresponsive.store(true, Ordering::Relaxed);
    let reset = controller.reset();
    assert!(matches!(reset, Err(NvmeError::ResetFailed { .. })));
    drop(controller);
    assert_eq!(levers.pieces_of_memory(), 0);
    assert!(!Csts::from(device.read32(CSTS)).rdy());
}
