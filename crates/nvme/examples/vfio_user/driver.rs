//! The driver, polling, as any program uses it.

use crate::{BYTES, Loop, Outcome, Random};
use joulio_device::vfio_user::VfioUserDevice;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, Namespace, PollGroup};
use std::path::Path;

pub struct Driver {
    group: PollGroup<VfioUserDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    blocks: u32,
    places: u64,
    random: Random,
    good: usize,
    _controller: Controller<VfioUserDevice>,
}

impl Driver {
    pub fn open(path: &Path, depth: usize) -> Outcome<Driver> {
        let options = ControllerOptions {
            queues: 1,
            ..ControllerOptions::default()
        };
        let controller = Controller::open(VfioUserDevice::connect(path)?, options)?;
        let namespace = controller.namespace(1)?;
        let queue = controller.create_queue_pair(depth)?;
        let blocks = BYTES as u32 / namespace.block_size();
        Ok(Driver {
            group: PollGroup::new(vec![queue]),
            buffers: controller.allocate_buffers(depth, BYTES)?,
            places: namespace.blocks() / u64::from(blocks),
            namespace,
            blocks,
            random: Random(1),
            good: 0,
            _controller: controller,
        })
    }

    #[inline(never)]
    fn driver_submit(&mut self) {
        let queue = &mut self.group.queues()[0];
        while let Some(buffer) = self.buffers.pop() {
            let lba = self.random.below(self.places) * u64::from(self.blocks);
            let sent = queue.read(&self.namespace, lba, self.blocks, buffer, lba);
            assert!(sent.is_ok(), "as many buffers as slots");
        }
        queue.ring();
    }

    #[inline(never)]
    fn driver_reap(&mut self) -> usize {
        let (buffers, good) = (&mut self.buffers, &mut self.good);
        let reaped = self.group.reap(1, None, |_, done| {
            *good += usize::from(done.status.is_success());
            buffers.extend(done.buffer);
        });
        reaped.expect("the controller is there")
    }
}

impl Loop for Driver {
    fn start(&mut self) {
        self.driver_submit();
    }

    fn turn(&mut self) -> usize {
        let came = self.driver_reap();
        self.driver_submit();
        came
    }

    fn finish(&mut self) {
        while self.group.outstanding() > 0 {
            self.driver_reap();
        }
    }
}
