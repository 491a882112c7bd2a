//! The figures of one meter.

use joulio_energy::{Energy, MeterFigure, MeterResult};

/// Function that selects one of a meter's figures, or returns why it has none.
pub(super) type Of = fn(&MeterResult) -> Result<&Energy, &'static str>;

pub(super) fn total(meter: &MeterResult) -> Result<&Energy, &'static str> {
    let figure = meter.figure.as_ref();
    figure.map_or(Err("has no figure"), |figure| Ok(&figure.total))
}

pub(super) fn above_idle(meter: &MeterResult) -> Result<&Energy, &'static str> {
    match &meter.figure {
        Ok(MeterFigure { above_idle, .. }) => {
            above_idle.as_ref().ok_or("is not in the idle baseline")
        }
        Err(_) => Err("has no figure"),
    }
}
