//! `joulio selftest ... --device`: the test with completions of a real device. Each read has to complete once, with the
//! right data, after the requested kind of wait. The device is only read.

mod judge;
mod reads;

use super::error::SelftestError;
use super::latency::Latency;
use super::report::{Parts, Tested};
use super::waits::MeasuredWait;
use super::{Selftest, SelftestOptions};
use crate::device_name::{DeviceKind, DeviceName};
use crate::emulated::EmulatedUse;
use crate::error::OpenError;
use joulio_device::Device;
use joulio_host::controller::{OwnAddress, open_pcie, open_vfio_user};
use joulio_nvme::{Controller, ControllerOptions};
use joulio_wait::{Tpause, UintrBlock};
use joulio_workload::CompletionMode;
use judge::judge;
use reads::VerifiedReads;
use std::cell::RefCell;
use std::rc::Rc;

/// Numbers of reads in flight.
const DEPTHS: [usize; 2] = [1, 32];

/// Tests the completion mode on the calling thread's CPU, with the device `name`.
pub fn test(name: &DeviceName, options: &SelftestOptions) -> Result<Tested, SelftestError> {
    let how = ControllerOptions {
        queues: 1,
        ..ControllerOptions::default()
    };
    match &name.kind {
        DeviceKind::Own(OwnAddress::Pcie(address)) => {
            let controller = open_pcie(*address, how).map_err(OpenError::from)?;
            on(name, controller, options)
        }
        DeviceKind::Own(OwnAddress::VfioUser(path)) => {
            let controller = open_vfio_user(path, how).map_err(OpenError::from)?;
            on(name, controller, options)
        }
        DeviceKind::Emulated(emulated) => {
            let controller = emulated.open(&name.text, how, EmulatedUse::of_seed(1))?;
            on(name, controller, options)
        }
    }
}

/// Returns the completion modes of a test.
fn modes(test: Selftest) -> Vec<CompletionMode> {
    match test {
        Selftest::Tpause => vec![
            CompletionMode::Tpause(Tpause::PAUSE),
            CompletionMode::HybridTpause,
        ],
        Selftest::Umwait => vec![CompletionMode::Umwait],
        Selftest::Uintr => vec![
            CompletionMode::Uintr,
            CompletionMode::UintrBlock(UintrBlock::STAY),
        ],
    }
}

fn on<D: Device + 'static>(
    name: &DeviceName,
    controller: Controller<D>,
    options: &SelftestOptions,
) -> Result<Tested, SelftestError> {
    let namespace = controller.namespace(name.nsid).map_err(OpenError::from)?;
    let max_depth = controller.max_depth();
    let mut reads = VerifiedReads::new(controller, namespace)?;
    let modes = modes(options.test);
    // Unavailable modes are reported before any test begins.
    for &mode in &modes {
        reads.wait_by(mode)?;
    }
    reads.learn()?;
    let mut parts = Parts::default();
    for &mode in &modes {
        for depth in DEPTHS.into_iter().filter(|&depth| depth <= max_depth) {
            let done = reads.read(mode, depth, options.rounds.into())?;
            parts.checks.push(judge(mode, depth, &done));
            let what = format!(
                "{mode}, {depth} outstanding: a read, from its submission to its completion"
            );
            parts.latency.push(Latency::of(what, done.took));
        }
    }
    let waits = std::iter::once(CompletionMode::Poll).chain(modes);
    let reads = Rc::new(RefCell::new(reads));
    Ok(Tested {
        parts,
        waits: waits.map(|mode| measured(mode, &reads)).collect(),
    })
}

/// Returns a wait that reads once with `mode`, to measure residency and power over many of them.
fn measured<D: Device + 'static>(
    mode: CompletionMode,
    reads: &Rc<RefCell<VerifiedReads<D>>>,
) -> MeasuredWait {
    let reads = Rc::clone(reads);
    let mut begun = false;
    MeasuredWait {
        name: format!("{mode}, reads"),
        // The device decides how long a read takes, so the core need not reach the sleep state.
        depth: None,
        wait: Box::new(move || {
            let mut reads = reads.borrow_mut();
            if !begun {
                reads.wait_by(mode)?;
                begun = true;
            }
            reads.one()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;

    #[test]
    fn every_test_has_the_modes_that_its_mechanism_serves() {
        for test in [Selftest::Tpause, Selftest::Umwait, Selftest::Uintr] {
            let modes = modes(test);
            assert!(!modes.is_empty());
            assert!(modes.iter().all(|mode| mode.policy().is_some()));
        }
    }

    #[test]
    fn a_device_without_an_interrupt_of_its_own_is_refused_before_it_is_read() {
        let name: DeviceName = "emulated:instant,size=1M".parse().unwrap();
        let options = SelftestOptions {
            test: Selftest::Uintr,
            rounds: 10,
            cpu: None,
            store_cpu: None,
            window: Nanos::from_millis(1_000),
            device: Some(name.clone()),
        };
        let refused = test(&name, &options).err().expect("no user interrupts");
        assert!(refused.is_refusal(), "{refused}");
        assert!(refused.to_string().starts_with("uintr: "), "{refused}");
    }
}
