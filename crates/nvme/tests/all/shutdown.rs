//! The driver waits for a shutdown as long as the controller says it takes (RTD3E), and no longer.

use crate::common::{Seen, open_stepped, watched};
use joulio_nvme::ControllerOptions;
use std::time::Duration;

#[test]
fn a_controller_that_says_it_takes_longer_is_waited_for_longer() {
    watched(|| {
        let seen = Seen::shutting_down(20_000_000, Duration::from_millis(5_500));
        let (controller, _stepper, seen) = open_stepped(seen, ControllerOptions::default());
        drop(controller);
        assert_eq!(seen.hasty(), 0, "it was reset before it had shut down");
    });
}

#[test]
fn a_controller_that_says_nothing_is_not_waited_for_ever() {
    watched(|| {
        let seen = Seen::shutting_down(0, Duration::MAX);
        let (controller, _stepper, seen) = open_stepped(seen, ControllerOptions::default());
        drop(controller);
        assert_eq!(seen.hasty(), 1);
    });
}
