//! Sums over meters of separate parts.

use super::of_meter::Of;
use joulio_energy::{Boundary, Energy, MeterResult, Place, Source, SumError, Zone};
use joulio_job::Unmetered;

/// Returns the sum over the meters of one boundary that measure separate parts, such as packages; `None` if there
/// are not several, or no baseline. If one part has no figure, the result is an error with the reason, so that a
/// part of the machine is never reported as the whole.
pub(super) fn sum(
    measured: &[MeterResult],
    boundary: Boundary,
    of: Of,
) -> Result<Option<Energy>, Unmetered> {
    let mut parts: Vec<&MeterResult> = Vec::new();
    let here = measured
        .iter()
        .filter(|meter| meter.about.zone.boundary == boundary);
    // A sensor beside a drive that has a meter of its own may measure the same drive.
    let is_own = |meter: &&MeterResult| meter.about.source == Source::Nvme;
    let own_alone = boundary == Boundary::Device && here.clone().any(|meter| is_own(&meter));
    for meter in here.filter(|meter| !own_alone || is_own(meter)) {
        // A second meter of the same part is not another part.
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
        // For example, one part is an emulated device and the other a real one: they have no sum.
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
