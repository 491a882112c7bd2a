//! Queues, drivers and futures that move between threads.

use crate::common::{Queue, World, block_on};
use joulio_emulator::EmulatedDevice;
use joulio_nvme::DmaBuffer;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme_async::{Driver, Io};

#[test]
fn queues_drivers_and_futures_move_between_threads() {
    fn moves<T: Send>() {}
    fn shared<T: Sync>() {}
    moves::<Queue>();
    shared::<Queue>();
    moves::<Driver<EmulatedDevice>>();
    moves::<Io<'static, EmulatedDevice, DmaBuffer>>();
}

#[test]
fn several_threads_share_a_queue() {
    let world = World::spawned();
    let queue = world.queue(3);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let driver = queue.driver().unwrap();
    let driving = std::thread::spawn(move || driver.run());
    let buffers = world.controller.allocate_buffers(4, 512).unwrap();
    std::thread::scope(|scope| {
        for (number, mut buffer) in (1_u8..).zip(buffers) {
            let (queue, namespace) = (queue.clone(), world.namespace);
            scope.spawn(move || {
                let block = u64::from(number);
                for _ in 0..100 {
                    buffer.write(0, &[number; 512]);
                    buffer = block_on(queue.write(&namespace, block, 1, buffer)).unwrap();
                    buffer.write(0, &[0; 512]);
                    buffer = block_on(queue.read(&namespace, block, 1, buffer)).unwrap();
                    let mut bytes = [0; 512];
                    buffer.read(0, &mut bytes);
                    assert!(bytes.iter().all(|&byte| byte == number));
                }
            });
        }
    });
    drop(queue);
    driving.join().unwrap().unwrap();
}
