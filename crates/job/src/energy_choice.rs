//! Choice of one energy figure among several: never that of a part if there is one of the whole.

use crate::{Counts, EnergyResult};
use joulio_units::Boundary;

impl EnergyResult {
    /// Returns the rank among figures of different boundaries: the lower it is, the better the figure shows the
    /// power of the machine. Measured figures that include the processor's packages come first, the wider before
    /// the narrower; then the model's, then the other meters'. The sum of several packages comes before each of
    /// them.
    pub fn rank(&self) -> (u8, usize, bool) {
        let boundary = Boundary::ALL.iter().position(|b| *b == self.boundary);
        let wide = matches!(
            self.boundary,
            Boundary::Wall | Boundary::Psys | Boundary::Package
        );
        let kind = match (self.modelled, wide, self.is_model()) {
            (false, true, _) => 0,
            (_, _, true) => 1,
            (false, false, _) => 2,
            (true, ..) => 3,
        };
        (
            kind,
            boundary.unwrap_or(usize::MAX),
            !self.zone.contains('+'),
        )
    }

    /// True for one of several figures of separate parts that have a sum in one of `runs`, or a reason why there is
    /// none.
    pub fn is_part_in(&self, runs: &[&Counts]) -> bool {
        let sums = runs.iter().flat_map(|counts| {
            let had = counts.energy.iter().map(|figure| &figure.zone);
            had.chain(counts.unmetered.iter().map(|meter| &meter.meter))
        });
        let mut sums = sums.map(|sum| sum.split(" + ").collect::<Vec<_>>());
        sums.any(|parts| parts.len() > 1 && parts.contains(&self.zone.as_str()))
    }
}

impl Counts {
    /// Returns the figure at `boundary`, measured before modelled; without a boundary the one that shows the
    /// machine's power best, by [`EnergyResult::rank`]. Never a figure above idle, and never one package of several.
    pub fn energy_at(&self, boundary: Option<Boundary>) -> Option<&EnergyResult> {
        let there = self.energy.iter().filter(|figure| {
            let at = boundary.is_none_or(|boundary| figure.boundary == boundary);
            at && !figure.idle_subtracted && !figure.is_part_in(&[self])
        });
        match boundary {
            None => there.min_by_key(|figure| figure.rank()),
            // If both a meter of an emulated device and the model have one, the meter's comes first.
            Some(_) => {
                there.min_by_key(|figure| (figure.modelled, figure.is_model(), figure.rank().2))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(boundary: Boundary, zone: &str, modelled: bool) -> EnergyResult {
        EnergyResult {
            boundary,
            zone: zone.into(),
            source: zone.into(),
            modelled,
            idle_subtracted: false,
            joules: 1.0,
            error_joules: None,
            band_joules: modelled.then_some((1.0, 1.0)),
            window_seconds: 1.0,
            watts: 1.0,
            joules_per_io: None,
            ios_per_joule: None,
            bytes_per_joule: None,
            note: None,
        }
    }

    fn chosen(energy: Vec<EnergyResult>, boundary: Option<Boundary>) -> Option<String> {
        let counts = Counts {
            energy,
            ..Counts::default()
        };
        counts.energy_at(boundary).map(|figure| figure.zone.clone())
    }

    #[test]
    fn a_meter_comes_before_the_model_and_a_sum_before_its_parts() {
        let zones = ["package-0", "package-1", "package-0 + package-1"];
        let mut energy = vec![figure(Boundary::Wall, "wall", true)];
        energy.extend(zones.map(|zone| figure(Boundary::Package, zone, false)));
        let sum = Some(zones[2].to_owned());
        assert_eq!(chosen(energy.clone(), None), sum);
        assert_eq!(chosen(energy.clone(), Some(Boundary::Package)), sum);
        assert_eq!(
            chosen(energy.clone(), Some(Boundary::Wall)),
            Some("wall".into())
        );
        assert_eq!(chosen(energy, Some(Boundary::Dram)), None);
    }

    #[test]
    fn what_is_above_idle_is_never_chosen() {
        let mut above = figure(Boundary::Package, "package-0", false);
        above.idle_subtracted = true;
        assert_eq!(chosen(vec![above], None), None);
    }
}
