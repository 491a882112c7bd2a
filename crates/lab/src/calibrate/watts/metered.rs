//! Meters of this machine as the source of watts.

use super::bench::{JouleMeter, MeanPower};
use super::error::WattsError;
use crate::pause::pause;
use joulio_energy::{Boundary, Discovery, Energy, FindingState, MeterKind};
use joulio_model::MeteredAt;
use joulio_units::Nanos;
use joulio_workload::Stop;

/// Meters of one boundary, whose figures are added up.
pub struct Metered<'a> {
    discovery: &'a mut Discovery,
    boundary: Boundary,
    stop: &'a Stop,
}

impl<'a> Metered<'a> {
    /// Uses the packages' meters, or if there are none the wall's.
    ///
    /// # Errors
    /// Neither can be read; the error has a reason for each meter.
    pub fn of(discovery: &'a mut Discovery, stop: &'a Stop) -> Result<Metered<'a>, WattsError> {
        let all = discovery.meters.about();
        let both = [Boundary::Package, Boundary::Wall];
        let is = |boundary: &Boundary| all.iter().any(|about| about.zone.boundary == *boundary);
        match both.into_iter().find(is) {
            Some(boundary) => Ok(Metered {
                discovery,
                boundary,
                stop,
            }),
            None => Err(WattsError::NoMeter(reasons(discovery))),
        }
    }

    /// Returns the boundary of the meters as profiles name it.
    pub fn boundary(&self) -> MeteredAt {
        match self.boundary {
            Boundary::Package => MeteredAt::Package,
            _ => MeteredAt::Wall,
        }
    }

    /// Returns the names of the meters.
    pub fn names(&self) -> String {
        let names = self.own().map(|about| about.name);
        names.collect::<Vec<_>>().join(" + ")
    }

    /// Returns the longest time between two updates of a meter.
    pub fn lag(&self) -> Nanos {
        let update = |kind| match kind {
            MeterKind::Counter { update, .. } | MeterKind::Power { update, .. } => update,
        };
        self.own()
            .map(|about| update(about.kind))
            .max()
            .unwrap_or_default()
    }

    fn own(&self) -> impl Iterator<Item = joulio_energy::About> {
        let all = self.discovery.meters.about().into_iter();
        let boundary = self.boundary;
        all.filter(move |about| about.zone.boundary == boundary)
    }
}

impl JouleMeter for Metered<'_> {
    fn over(&mut self, time: Nanos) -> Result<MeanPower, WattsError> {
        let window = self.discovery.meters.open()?;
        let whole = pause(time, self.stop, |_| {});
        let measured = window.close(None);
        if !whole {
            return Err(WattsError::Interrupted);
        }
        let mut parts = Vec::new();
        for one in measured {
            if one.about.zone.boundary != self.boundary {
                continue;
            }
            let figure = one.figure.map_err(|why| WattsError::Meter {
                name: one.about.name,
                why: why.to_string(),
            })?;
            parts.push(figure.total);
        }
        Ok(Energy::sum(&parts)?.into())
    }
}

/// Returns the reason why each meter cannot be used, one a line.
fn reasons(discovery: &Discovery) -> Vec<String> {
    let read = discovery.meters.about().into_iter();
    let beside = read.map(|about| {
        let boundary = about.zone.boundary;
        format!(
            "{}: of {boundary} alone, not of the package or the wall",
            about.name
        )
    });
    let others = discovery.others.iter().map(|other| {
        let (what, why, allow) = match &other.state {
            FindingState::Unreadable { why, allow } => ("cannot be read", why, allow.as_ref()),
            FindingState::Absent { why, allow } => ("absent", why, allow.as_ref()),
            FindingState::Unused { why } => ("unused", why, None),
        };
        let allow = allow.map_or(String::new(), |allow| format!("; try: {allow}"));
        format!("{}: {what}: {why}{allow}", other.name)
    });
    beside.chain(others).collect()
}
