//! Sums of meters that stand side by side.

use super::of_meter::Of;
use joulio_energy::{Boundary, Energy, MeterResult, Place, SumError, Zone};
use joulio_job::Unmetered;

/// Returns the sum of a boundary's meters that stand side by side, as those of the packages do; none where there are
/// not several, or no baseline. A part of the machine must not stand for the whole: if a part has no figure, the
/// error gives the reason.
pub(super) fn sum(
    measured: &[MeterResult],
    boundary: Boundary,
    of: Of,
) -> Result<Option<Energy>, Unmetered> {
    let mut parts: Vec<&MeterResult> = Vec::new();
    for meter in measured
        .iter()
        .filter(|meter| meter.about.zone.boundary == boundary)
    {
        // Another reader of a part that is there already is no part.
        let zone = &meter.about.zone;
        if !parts.iter().any(|part| part.about.zone.same(zone)) {
            parts.push(meter);
        }
    }
    if parts.len() < 2 || parts.iter().all(|part| of(part).is_err()) {
        return Ok(None);
    }
    let lacking = parts.iter().find_map(|part| {
        let why = of(part).err()?;
        Some(format!("{} {why}", part.about.name))
    });
    let energies: Vec<_> = parts
        .iter()
        .filter_map(|part| of(part).ok())
        .cloned()
        .collect();
    let why = match (lacking, Energy::sum(&energies)) {
        (Some(why), _) => why,
        (None, Ok(sum)) => return Ok(Some(sum)),
        // One is an emulated device's, for example, and the other a real one's: they have no sum.
        (None, Err(SumError::Kinds { .. })) => return Ok(None),
        (None, Err(why)) => why.to_string(),
    };
    let places = parts.iter().map(|part| part.about.zone.place.clone());
    let zone = Zone {
        boundary,
        place: Place::Several(places.collect()),
    };
    let idle = energies.iter().any(|energy| energy.idle_subtracted);
    Err(Unmetered {
        meter: format!("{zone}{}", if idle { ", above idle" } else { "" }),
        why,
        too_short: false,
    })
}
