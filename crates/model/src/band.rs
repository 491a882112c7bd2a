//! What a modelled energy may be at the least and at the most.

use crate::machine::{CoreWatts, MachineProfile, Wake};
use crate::{DeviceProfile, Figure};

/// Which end of the figures' bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The least that each may plausibly be.
    Low,
    /// The most.
    High,
}

fn at(figure: &Figure, end: End) -> Figure {
    let [low, high] = figure.band.unwrap_or([figure.value; 2]);
    let value = match end {
        End::Low => low,
        End::High => high,
    };
    Figure {
        value,
        ..figure.clone()
    }
}

fn maybe_at(figure: &Option<Figure>, end: End) -> Option<Figure> {
    figure.as_ref().map(|figure| at(figure, end))
}

impl MachineProfile {
    /// The same machine with every watt and joule at one `end` of its band. What the model makes of
    /// the two is the band of a result: wide, because it takes all figures to be wrong the same
    /// way at once; a figure without a band is taken at its word.
    pub fn at(&self, end: End) -> MachineProfile {
        let watts = &self.core_watts;
        MachineProfile {
            base_watts: at(&self.base_watts, end),
            uncore_watts: maybe_at(&self.uncore_watts, end),
            core_watts: CoreWatts {
                spin: at(&watts.spin, end),
                kernel: at(&watts.kernel, end),
                pause_c01: maybe_at(&watts.pause_c01, end),
                pause_c02: maybe_at(&watts.pause_c02, end),
                monitor: maybe_at(&watts.monitor, end),
                c1: at(&watts.c1, end),
                c1e: at(&watts.c1e, end),
                // What is taken off, because the base holds it: the other way round.
                c6: at(
                    &watts.c6,
                    match end {
                        End::Low => End::High,
                        End::High => End::Low,
                    },
                ),
            },
            wake: Wake {
                interrupt_joules: at(&self.wake.interrupt_joules, end),
                timer_joules: at(&self.wake.timer_joules, end),
            },
            ..self.clone()
        }
    }
}

impl DeviceProfile {
    /// The same device with every watt at one `end` of its band; see [`MachineProfile::at`].
    pub fn at(&self, end: End) -> DeviceProfile {
        let mut device = self.clone();
        let power = &mut device.power;
        for figure in [
            &mut power.idle_watts,
            &mut power.read_active_watts,
            &mut power.write_active_watts,
        ] {
            *figure = at(figure, end);
        }
        device
    }
}
