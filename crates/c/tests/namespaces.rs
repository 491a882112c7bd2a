//! Namespaces of one controller over joulio.h's functions.

use joulio::*;
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use rustix::io::Errno;

#[test]
fn each_namespace_of_a_controller_has_queues_of_its_own() {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let ram = |bytes| NamespaceOptions {
        store: StoreOptions::Ram { bytes: Some(bytes) },
        block: None,
    };
    options.namespaces = vec![ram(1 << 20), ram(2 << 20)];
    let device = EmulatedDevice::spawn(&options).unwrap();
    let how = ControllerOptions {
        queues: 2,
        ..ControllerOptions::default()
    };
    let first = controller_of(Controller::open(device, how).unwrap());
    let blocks = |controller: *mut joulio_controller| {
        let mut namespace = joulio_namespace {
            nsid: 0,
            block_size: 0,
            blocks: 0,
            max_transfer: 0,
        };
        // SAFETY: a controller, and room for a description.
        let described = unsafe { joulio_namespace_info(controller, &mut namespace) };
        assert_eq!(described, 0);
        (namespace.nsid, namespace.blocks)
    };
    // SAFETY: handles that are live, of one thread, and room for one completion.
    unsafe {
        let second = joulio_namespace_open(first, 2);
        let ((nsid, end), (other, end_of_second)) = (blocks(first), blocks(second));
        assert_eq!((nsid, other, end_of_second), (1, 2, 2 * end));
        // A buffer of one is a buffer of both.
        let buffer = joulio_buffer_alloc(first, 4096);
        let of_first = joulio_queue_create(first, 1, c"poll".as_ptr());
        let of_second = joulio_queue_create(second, 1, c"poll".as_ptr());
        let beyond = joulio_read(of_first, end, 1, buffer, 7);
        assert_eq!(beyond, -Errno::INVAL.raw_os_error());
        assert_eq!(joulio_read(of_second, end, 1, buffer, 7), 0);
        assert_eq!(joulio_ring(of_second), 0);
        let mut done: joulio_completion = std::mem::zeroed();
        assert_eq!(joulio_reap(of_second, 1, 1, -1, &mut done), 1);
        assert_eq!((done.tag, done.buffer, done.status), (7, buffer, 0));
        assert_eq!(joulio_close(first), 0);
        // The other handle has the controller.
        assert_eq!(joulio_read(of_second, 0, 1, buffer, 8), 0);
        assert_eq!(joulio_ring(of_second), 0);
        assert_eq!(joulio_reap(of_second, 1, 1, -1, &mut done), 1);
        assert_eq!((done.tag, done.status), (8, 0));
        for queue in [of_first, of_second] {
            assert_eq!(joulio_queue_destroy(queue), 0);
        }
        assert_eq!(joulio_buffer_free(buffer), 0);
        assert_eq!(joulio_close(second), 0);
    }
}
