//! Ending a run by a signal.

use crate::failure::Failure;
use joulio_nvme::Cancel;
use joulio_workload::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::{Arc, LazyLock};

/// What signals stop in this process, once [`stop_on_signals`] was called; before, they end it.
fn stop() -> &'static Stop {
    static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);
    &STOP
}

/// What ends waiting for a controller: the same signals.
pub fn cancel() -> Cancel {
    Cancel::on(Arc::clone(stop().flag()))
}

/// What SIGINT and SIGTERM stop.
pub fn stop_on_signals() -> Result<Stop, Failure> {
    let stop = stop().clone();
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the process, should the first not.
        register_conditional_shutdown(signal, 130, Arc::clone(stop.flag()))
            .and_then(|_| register(signal, Arc::clone(stop.flag())))
            .map_err(Failure::run)?;
    }
    Ok(stop)
}
