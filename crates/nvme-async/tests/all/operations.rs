//! Each command as a future, on an executor that knows nothing of descriptors.

use crate::common::{World, block_on};
use joulio_nvme::spec::{Command, NvmOpcode, Status};
use joulio_nvme::{BufferList, SubmitError, TrustedBuffer};
use joulio_nvme_async::IoFailure;

#[test]
fn what_is_written_is_read_without_a_driver() {
    let world = World::spawned();
    let (queue, namespace) = (world.queue(4), world.namespace);
    let blocks = 4096 / namespace.block_size();
    block_on(async {
        let mut buffer = world
            .controller
            .allocate_trusted(1, 4096)
            .unwrap()
            .remove(0);
        buffer.fill(7);
        let buffer = queue.write(&namespace, 0, blocks, buffer).await.unwrap();
        queue.flush(&namespace).await.unwrap();
        let mut buffer = TrustedBuffer::try_from(buffer).unwrap();
        buffer.fill(0);
        let buffer = queue.read(&namespace, 0, blocks, buffer).await.unwrap();
        assert!(buffer.as_slice().unwrap().iter().all(|&byte| byte == 7));
        // With a list, at an offset, and with FUA.
        let mut list = BufferList::new();
        list.push_part(world.buffer(), 512..1024);
        list.push_part(world.buffer(), 0..512);
        let two = 1024 / namespace.block_size();
        let list = queue.readv(&namespace, 0, two, list).await.unwrap();
        let mut bytes = [0; 1024];
        let first = list.iter().next().unwrap();
        first.read(0, &mut bytes);
        assert!(bytes[..512].iter().all(|&byte| byte == 0));
        assert!(bytes[512..].iter().all(|&byte| byte == 7));
        let list: BufferList = list.into_iter().collect();
        queue.writev(&namespace, 8, 2, list).await.unwrap();
        let buffer = queue.write_through(&namespace, 0, blocks, buffer).await;
        queue
            .read_at(&namespace, 0, 1, buffer.unwrap(), 1024)
            .await
            .unwrap();
    });
    assert_eq!(queue.outstanding(), 0);
}

#[test]
fn any_command_has_all_of_its_completion() {
    let world = World::spawned();
    let (queue, namespace) = (world.queue(1), world.namespace);
    block_on(async {
        let read = Command::transfer(NvmOpcode::READ, namespace.id(), 0, 1).with_fua();
        let list = [world.buffer()].into_iter().collect();
        let done = queue.command(&namespace, read, list).await.unwrap();
        assert!(done.status.is_success() && done.buffer.is_some());
        let flush = Command::nvm(NvmOpcode::FLUSH, namespace.id());
        let done = queue.command(&namespace, flush, BufferList::new()).await;
        assert!(done.unwrap().buffer.is_none());
        // A status other than success is an error, which has the buffer.
        let append = Command::transfer(NvmOpcode::ZONE_APPEND, namespace.id(), 0, 1);
        let list = [world.buffer()].into_iter().collect();
        let error = queue.command(&namespace, append, list).await.err().unwrap();
        let IoFailure::Status(status) = error.reason else {
            panic!("{error}");
        };
        assert_eq!(status, Status::INVALID_OPCODE.do_not_retry());
        assert_eq!(error.buffers.into_iter().count(), 1);
    });
}

#[test]
fn a_refused_command_gives_its_buffer_back() {
    let world = World::spawned();
    let (queue, namespace) = (world.queue(1), world.namespace);
    let past = block_on(queue.read(&namespace, namespace.blocks(), 1, world.buffer()));
    let error = past.err().unwrap();
    assert!(matches!(
        error.reason,
        IoFailure::Submit(SubmitError::Range { .. })
    ));
    assert_eq!(error.buffers.into_iter().count(), 1);
    // The slot is free again.
    block_on(queue.read(&namespace, 0, 1, world.buffer())).unwrap();
}
