//! Output of `joulio power-states --measure`.

use crate::columns::columns;
use joulio_lab::power_states::{MeasuredState, MeasuredStates};
use std::fmt::Write;

/// Formats the result as text: a line for each state, and one for each state and meter.
pub fn text(found: &MeasuredStates) -> String {
    let mut text = format!(
        "{}: {}, serial {}\n\n",
        found.device, found.model, found.serial
    );
    let header = [
        "ps",
        "I/O",
        "entry us",
        "ENLAT us",
        "exit us",
        "EXLAT us",
        "first read us",
        "MP W",
    ];
    text += &columns(header, found.states.iter().map(latencies), 2);
    let metered = found.states.iter().flat_map(watts);
    let metered: Vec<_> = metered.collect();
    if !metered.is_empty() {
        let header = ["ps", "boundary", "source", "W", "+-"];
        let _ = write!(text, "\n{}", columns(header, metered, 3));
    }
    let _ = writeln!(
        text,
        "\nentry, exit: from and to power state 0, by the least times of {} rounds; a..b: how much of Set Features' \
         own time is in it cannot be told. The two least times of equal reads differ by up to {:.1} us: what \
         differs by no more is not told apart.\n\
         ENLAT, EXLAT, MP: what the vendor says they are at most.\n\
         first read: the first after a rest in the state, with its exit where it does no I/O.",
        found.rounds, found.noise_us
    );
    if found
        .states
        .iter()
        .flat_map(|state| &state.watts)
        .any(|watts| watts.modelled)
    {
        text += "*: modelled, a profile's figure.\n";
    }
    for line in &found.unmetered {
        let _ = writeln!(text, "no watts: {line}");
    }
    text
}

fn latencies(state: &MeasuredState) -> [String; 8] {
    let bounds = |us: Option<(f64, f64)>| match us {
        None => "-".into(),
        Some((low, high)) if low == high => format!("{low:.1}"),
        Some((low, high)) => format!("{low:.1}..{high:.1}"),
    };
    let reported = |us: Option<u32>| us.map_or("-".into(), |us| us.to_string());
    [
        state.ps.to_string(),
        if state.operational { "yes" } else { "no" }.into(),
        bounds(state.entry_us),
        reported(state.enlat_us),
        bounds(state.exit_us),
        reported(state.exlat_us),
        format!("{:.1}", state.first_read_us),
        format!("{:.4}", state.max_power_watts),
    ]
}

fn watts(state: &MeasuredState) -> Vec<[String; 5]> {
    let cells = state.watts.iter().map(|of| {
        let star = if of.modelled { "*" } else { "" };
        let error = of
            .error_watts
            .map_or("-".into(), |error| format!("{error:.4}"));
        [
            state.ps.to_string(),
            format!("{}{star}", of.boundary),
            of.source.clone(),
            format!("{:.4}", of.watts),
            error,
        ]
    });
    cells.collect()
}
