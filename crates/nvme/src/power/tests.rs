//! On the emulated 960 EVO in a time made up here, and on devices that have less.

use super::*;
use crate::{Controller, ControllerOptions};
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, Stepper, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::AdminOpcode;
use joulio_nvme_spec::feature::ApstEntry;
use joulio_nvme_spec::identify::Ctratt;
use joulio_units::Nanos;
use std::cell::Cell;

fn evo() -> (Controller<EmulatedDevice>, Stepper) {
    let mut options = Options::new(DeviceProfile::builtin("samsung-960-evo").unwrap());
    let store = StoreOptions::Ram {
        bytes: Some(1 << 20),
    };
    options.namespaces = vec![NamespaceOptions { store, block: None }];
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    (controller, stepper)
}

fn step(stepper: &Stepper, milliseconds: u64) {
    stepper.step(Nanos::from_millis(milliseconds));
}

#[test]
fn a_power_state_is_set_and_one_that_is_not_there_refused() {
    let (controller, stepper) = evo();
    assert_eq!(controller.power_state().unwrap(), 0);
    let hint = PowerManagement::new().with_wh(1);
    controller.set_power_management(hint).unwrap();
    controller.set_power_state(2).unwrap();
    assert_eq!(controller.power_management().unwrap(), hint.with_ps(2));
    for ps in [5, 32, 255] {
        let refused = controller.set_power_state(ps).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("no power state {ps}: it has 0 to 4")),
            "{refused}"
        );
    }
    step(&stepper, 1);
    assert_eq!(controller.power_state().unwrap(), 2);
}

#[test]
fn a_table_of_transitions_goes_there_and_back_and_works() {
    let (controller, stepper) = evo();
    let mut table = ApstTable::new_zeroed();
    let entry = ApstEntry::new().with_itps(4).with_itpt(100);
    table.entries[0].set(entry.into());
    controller.set_apst(true, &table).unwrap();
    let (enabled, found) = controller.apst().unwrap();
    assert!(enabled);
    assert_eq!(found.as_bytes(), table.as_bytes());
    step(&stepper, 200);
    assert_eq!(controller.power_state().unwrap(), 4);
    controller.set_apst(false, &table).unwrap();
    assert!(!controller.apst().unwrap().0);
}

#[test]
fn coalescing_is_set_and_put_back() {
    let (controller, _stepper) = evo();
    let before = controller.interrupt_coalescing().unwrap();
    assert_eq!(before, InterruptCoalescing::new());
    let value = InterruptCoalescing::new().with_thr(7).with_time(2);
    controller.set_interrupt_coalescing(value).unwrap();
    assert_eq!(controller.interrupt_coalescing().unwrap(), value);
    controller.set_interrupt_coalescing(before).unwrap();
    assert_eq!(controller.interrupt_coalescing().unwrap(), before);
}

#[test]
fn what_the_device_measures_is_what_its_profile_says() {
    let (controller, stepper) = evo();
    assert!(controller.measures_power());
    assert_eq!(controller.interval_power().unwrap(), None);
    controller.set_power_state(3).unwrap();
    step(&stepper, 1_000);
    controller.start_power_measurement(0).unwrap();
    step(&stepper, 4_000);
    controller.stop_power_measurement().unwrap();
    step(&stepper, 9_000);
    let log = controller.power_measurement().unwrap();
    assert_eq!((log.generation, log.count.get()), (1, 3));
    assert_eq!(log.average().microwatts(), Some(40_000));
    assert_eq!(log.maximum().microwatts(), Some(40_000));
    assert!(log.attributes().estimated() && !log.attributes().enabled());
    assert_eq!(log.percent_error(), None);
    assert_eq!(controller.interval_power().unwrap(), Some(40_000));
}

/// A device that fails each command with a status, and counts them.
struct Lacking {
    identity: Box<IdentifyController>,
    status: Status,
    commands: Cell<u32>,
}

impl Lacking {
    fn new(status: Status) -> Lacking {
        Lacking {
            identity: Box::new(IdentifyController::new_zeroed()),
            status,
            commands: Cell::new(0),
        }
    }
}

impl PowerControl for Lacking {
    fn device_name(&self) -> &str {
        "it"
    }

    fn identify_controller(&self) -> &IdentifyController {
        &self.identity
    }

    fn admin(&self, name: &'static str, _: Command, _: AdminData<'_>) -> Result<u32, NvmeError> {
        self.commands.set(self.commands.get() + 1);
        Err(NvmeError::Admin {
            device: "it".into(),
            command: name,
            status: self.status,
        })
    }
}

fn is_not_supported<T>(result: Result<T, NvmeError>) -> bool {
    let Err(error) = result else { return false };
    let reported = error.to_string().ends_with("not supported by this device");
    reported && matches!(error, NvmeError::NotSupported { .. })
}

#[test]
fn an_emulated_controller_says_that_it_is_one() {
    assert!(evo().0.is_emulated());
    assert!(!Lacking::new(Status::INVALID_FIELD).is_emulated());
}

#[test]
fn what_identify_does_not_have_is_not_requested() {
    let device = Lacking::new(Status::INVALID_FIELD);
    assert!(is_not_supported(device.power_measurement()));
    assert!(is_not_supported(device.start_power_measurement(0)));
    assert!(is_not_supported(device.stop_power_measurement()));
    assert!(is_not_supported(device.apst()));
    assert!(is_not_supported(
        device.set_apst(true, &ApstTable::new_zeroed())
    ));
    assert_eq!(device.commands.get(), 0);
}

#[test]
fn a_device_without_coalescing_says_so() {
    let mut device = Lacking::new(Status::INVALID_FIELD.do_not_retry());
    assert!(is_not_supported(device.interrupt_coalescing()));
    device.status = Status::INTERNAL_ERROR;
    let failed = device.interrupt_coalescing();
    assert!(matches!(failed, Err(NvmeError::Admin { .. })));
}

#[test]
fn a_log_that_was_promised_and_is_not_there_is_not_supported_either() {
    let mut device = Lacking::new(Status::INVALID_LOG_PAGE.do_not_retry());
    device
        .identity
        .ctratt
        .set(Ctratt::new().with_pms(true).into());
    assert!(is_not_supported(device.power_measurement()));
    assert_eq!(device.commands.get(), 1);
    device.status = Status::INTERNAL_ERROR;
    assert!(matches!(
        device.power_measurement(),
        Err(NvmeError::Admin { .. })
    ));
}

#[test]
fn data_longer_than_a_page_is_refused_and_the_queue_goes_on() {
    let (controller, _stepper) = evo();
    let mut bytes = vec![0; 4100];
    let command = Command::admin(AdminOpcode::IDENTIFY);
    let refused = controller.admin("Identify", command, AdminData::In(&mut bytes));
    assert!(matches!(refused, Err(NvmeError::Unsupported { .. })));
    assert_eq!(controller.power_state().unwrap(), 0);
}
