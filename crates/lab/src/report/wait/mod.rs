//! Part of the page that shows a single wait in every mode, with sliders.

mod model;

use joulio_model::MachineProfile;
use maud::{Markup, PreEscaped, html};
use model::{Doing, ShownIo, ShownMachine, ShownMode, ShownWait};
use serde::Serialize;

const SCRIPT: &str = include_str!("script.js");

/// Device times of the slider, in microseconds.
const DEVICE_US: [f64; 13] = [
    2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 30.0, 50.0, 80.0,
];

/// Lateness of timers, in microseconds; 50 is Linux's default timer slack of a thread.
const LATE_US: [f64; 10] = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0];

/// Device time of this I/O relative to that of the earlier ones.
const OF_USUAL: [f64; 3] = [0.5, 1.0, 2.0];

/// Data for the script: waits at all positions of the sliders.
#[derive(Serialize)]
struct Waits {
    device_us: &'static [f64],
    late_us: &'static [f64],
    of_usual: &'static [f64],
    /// Watts of a core in each state.
    watts: Vec<(Doing, f64)>,
    modes: Vec<ModeWaits>,
}

/// Waits of a mode by device time, by lateness if it has a timer, and by this I/O's relative time.
#[derive(Serialize)]
struct ModeWaits {
    mode: ShownMode,
    waits: Vec<Vec<Vec<ShownWait>>>,
}

fn waits(machine: &ShownMachine<'_>) -> Waits {
    let one = |mode: ShownMode, device: f64, late: f64, share: f64| {
        let io = ShownIo {
            device_ns: device * share * 1e3,
            usual_ns: device * 1e3,
            late_ns: late * 1e3,
        };
        machine.wait(mode, io)
    };
    let of = |mode: ShownMode| {
        let late: &[f64] = match mode {
            ShownMode::Hybrid => &LATE_US,
            _ => &LATE_US[..1],
        };
        let waits = DEVICE_US.iter().map(|device| {
            let by_late = late.iter().map(|late| {
                let by_share = OF_USUAL
                    .iter()
                    .map(|share| one(mode, *device, *late, *share));
                by_share.collect()
            });
            by_late.collect()
        });
        ModeWaits {
            mode,
            waits: waits.collect(),
        }
    };
    Waits {
        device_us: &DEVICE_US,
        late_us: &LATE_US,
        of_usual: &OF_USUAL,
        watts: machine.watts().into(),
        modes: [
            ShownMode::Poll,
            ShownMode::Hybrid,
            ShownMode::Interrupt,
            ShownMode::Uintr,
        ]
        .map(of)
        .into(),
    }
}

/// Returns true if the machine's profile has all figures that are shown.
pub fn shows(profile: &MachineProfile) -> bool {
    ShownMachine::new(profile).is_some()
}

/// Returns the section for `profile`; empty if it has no costs or no TPAUSE.
pub fn section(profile: &MachineProfile) -> Markup {
    let Some(machine) = ShownMachine::new(profile) else {
        return html! {};
    };
    let json = serde_json::to_string(&waits(&machine)).unwrap_or_default();
    // Escapes `<`, so that nothing in the text can end the script element.
    let json = json.replace('<', "\\u003c");
    html! {
        section #wait aria-labelledby="wait-title" {
            h2 #wait-title { "A single wait, step by step" }
            p { span.badge.modelled { "modelled" } " One 4 KiB read, alone on a core of " strong { (profile.name) }
                ", by the user-space driver. The times of the steps are the twin's; what a core draws in each \
                 state is the profile's." }
            figure aria-labelledby="wait-caption" {
                figcaption #wait-caption { strong { "Wait" } " What the core does from submission to completion" }
                noscript { p.problem { "The sliders need the script of this page, which this browser does not run." } }
                form.sliders {
                    label { span { "The device takes " output #wait-device-out {} }
                        input #wait-device type="range" min="0" max=(DEVICE_US.len() - 1) value="5" step="1"; }
                    label { span { "Timers fire late by " output #wait-late-out {} }
                        input #wait-late type="range" min="0" max=(LATE_US.len() - 1) value="3" step="1"; }
                    label { span { "TPAUSE saves " output #wait-saving-out {} " of spinning" }
                        input #wait-saving type="range" min="0" max="60" value=(saving(&machine)) step="1"; }
                    fieldset {
                        legend { "This I/O takes" }
                        @for (index, words) in ["half as long as those before", "as long", "twice as long"].iter().enumerate() {
                            label.choice { input type="radio" name="share" value=(index) checked[index == 1]; " " (words) }
                        }
                    }
                }
                ul.legend.waits {
                    @for (class, words) in [("work", "submit, complete, handle"), ("spin", "poll in vain"), ("kernel", "kernel: timer, switch, wake"),
                        ("idle", "idle"), ("exit", "leave the idle state"), ("pause", "TPAUSE"), ("cold", "cold caches")] {
                        li { span class=(format!("swatch w-{class}")) {} (words) }
                    }
                    li { span.swatch.w-device {} "the device works" }
                }
                div #wait-bars {}
                p #wait-words role="status" {}
                div.scroll tabindex="0" role="region" aria-label="The wait in numbers" {
                    table { caption { "The wait in numbers: of the core alone" }
                        thead { tr { th scope="col" { "mode" } th scope="col" { "latency" } th scope="col" { "sees it late by" }
                            th scope="col" { "core energy" } th scope="col" { "of polling's" } } }
                        tbody #wait-table {}
                    }
                }
            }
            script type="application/json" #wait-data { (PreEscaped(json)) }
            script { (PreEscaped(SCRIPT)) }
        }
    }
}

/// Returns the percentage of spinning's watts that a pause saves according to the profile.
fn saving(machine: &ShownMachine<'_>) -> f64 {
    let watts = machine.watts();
    let of = |doing: Doing| {
        watts
            .iter()
            .find(|(one, _)| *one == doing)
            .map_or(1.0, |(_, w)| *w)
    };
    ((1.0 - of(Doing::Pause) / of(Doing::Spin)) * 100.0).round()
}
