//! The distance of the edges in an aligned trace from those of the markers.

use super::line::Line;
use super::pattern::{Fit, MarkerPattern, PowerTrace};

/// Returns the root mean square of the distances, in seconds; `None` where no edge has all its samples.
pub fn of(trace: &PowerTrace, patterns: &[MarkerPattern], line: &Line) -> Option<f64> {
    let mut distances = vec![];
    for pattern in patterns {
        let offset = line.at(pattern.middle());
        let Some(fit) = pattern.fit(trace, offset) else {
            continue;
        };
        for (at, &edge) in pattern.edges.iter().enumerate() {
            let found = found(trace, &fit, edge, at % 2 == 0, (pattern.part, offset));
            distances.extend(found.map(|found| found - edge));
        }
    }
    let squares: f64 = distances.iter().map(|distance| distance * distance).sum();
    (!distances.is_empty()).then(|| (squares / distances.len() as f64).sqrt())
}

/// Returns the time of the edge in the trace. The samples around it add up to a time spun, which lies after a rising
/// edge or before a falling one.
fn found(trace: &PowerTrace, fit: &Fit, edge: f64, rising: bool, place: (f64, f64)) -> Option<f64> {
    let (part, offset) = place;
    let around = trace.between(edge - part / 2.0, edge + part / 2.0, offset);
    let samples: Vec<_> = around.collect();
    let (first, last) = (samples.first()?.0, samples.last()?.0);
    let half = trace.interval / 2.0;
    let slots = (last - first) / trace.interval + 1.0;
    if (slots - samples.len() as f64).abs() > 0.5 || last < edge || edge < first {
        return None;
    }
    let watts = samples.iter().map(|(_, watts)| watts - fit.base);
    let spun = watts.sum::<f64>() / fit.step * trace.interval;
    Some(if rising {
        last + half - spun
    } else {
        first - half + spun
    })
}
