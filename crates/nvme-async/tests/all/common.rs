//! Controllers that are stepped by hand, and futures that are polled by hand.

use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, Stepper, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, Namespace};
use joulio_nvme_async::AsyncQueue;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

fn options() -> Options {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let store = StoreOptions::Ram {
        bytes: Some(1 << 20),
    };
    options.namespaces = vec![NamespaceOptions { store, block: None }];
    options
}

pub type Queue = AsyncQueue<EmulatedDevice>;

/// A controller with its namespace.
pub struct World {
    pub controller: Controller<EmulatedDevice>,
    pub namespace: Namespace,
}

impl World {
    fn of(device: EmulatedDevice, options: ControllerOptions) -> World {
        let controller = Controller::open(device, options).unwrap();
        let namespace = controller.namespace(1).unwrap();
        World {
            controller,
            namespace,
        }
    }

    /// Returns a controller that is stepped.
    pub fn stepped() -> (World, Stepper) {
        let (device, stepper) = EmulatedDevice::stepped(&options()).unwrap();
        (World::of(device, ControllerOptions::default()), stepper)
    }

    /// Returns a controller with a thread of its own.
    pub fn spawned() -> World {
        World::of(
            EmulatedDevice::spawn(&options()).unwrap(),
            ControllerOptions::default(),
        )
    }

    pub fn queue(&self, depth: usize) -> Queue {
        AsyncQueue::new(self.controller.create_queue_pair(depth).unwrap()).unwrap()
    }

    pub fn buffer(&self) -> joulio_nvme::DmaBuffer {
        self.controller.allocate_buffers(1, 4096).unwrap().remove(0)
    }
}

/// Waker that counts how often it is woken.
#[derive(Default)]
pub struct Woken(AtomicUsize);

impl Woken {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future once.
pub fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(woken));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: one future, and a thread that is parked between polls.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
