//! The cells of a grid.

use super::{LoadKind, Mechanism, Scenario};
use joulio_model::{MachineProfile, MeteredAt};
use joulio_wait::Objective;
use serde::{Deserialize, Serialize};

/// Mechanism and boundary of energy by which a cell is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    /// Mechanism available to wait with.
    pub mechanism: Mechanism,
    /// Boundary within which energy is counted.
    pub boundary: Objective,
}

/// The values of each axis; a grid has all combinations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridAxes {
    /// Device profiles by name.
    pub devices: Vec<String>,
    /// I/Os in flight per job.
    pub iodepths: Vec<usize>,
    /// Numbers of jobs, each job on a CPU of its own as long as there are enough.
    pub numjobs: Vec<usize>,
    /// Bytes of an I/O.
    pub sizes: Vec<u32>,
    /// Percent of reads.
    pub reads: Vec<u8>,
    /// Arrivals of I/Os.
    pub loads: Vec<LoadKind>,
    /// Views that each scenario is judged in.
    pub views: Vec<View>,
}

impl GridAxes {
    /// Optane, Z-NAND, flash, flash with garbage collection, a disk.
    pub const DEVICES: [&'static str; 5] = [
        "optane-p5800x",
        "samsung-983-zet",
        "samsung-960-evo",
        "flash-gc",
        "hdd-7200",
    ];

    /// Axes of the full grid.
    pub fn full() -> GridAxes {
        let views = Mechanism::ALL.iter().flat_map(|&mechanism| {
            Objective::ALL.iter().map(move |&boundary| View {
                mechanism,
                boundary,
            })
        });
        GridAxes {
            devices: GridAxes::DEVICES.map(String::from).into(),
            iodepths: vec![1, 2, 4, 8, 16, 32],
            numjobs: vec![1, 4, 16],
            sizes: vec![4096, 16_384, 131_072],
            reads: vec![100, 50, 0],
            loads: LoadKind::ALL.into(),
            views: views.collect(),
        }
    }

    /// Returns the axes of a sample of 700 cells: small reads on one CPU, from every device.
    pub fn sample() -> GridAxes {
        let view = |mechanism, boundary| View {
            mechanism,
            boundary,
        };
        GridAxes {
            iodepths: vec![1, 2, 4, 8, 32],
            numjobs: vec![1],
            sizes: vec![4096],
            reads: vec![100],
            loads: vec![
                LoadKind::Closed,
                LoadKind::Open { percent: 10 },
                LoadKind::Open { percent: 70 },
                LoadKind::Bursty,
                LoadKind::Phases,
                LoadKind::Shared { jobs: 2 },
                LoadKind::BesideCompute,
            ],
            views: vec![
                view(Mechanism::Eventfd, Objective::Wall),
                view(Mechanism::Eventfd, Objective::Cores),
                view(Mechanism::Tpause, Objective::Cores),
                view(Mechanism::UserInterrupt, Objective::Cores),
            ],
            ..GridAxes::full()
        }
    }

    /// Removes the views that `machine` has no watts for.
    pub fn on(mut self, machine: &MachineProfile) -> GridAxes {
        if machine.boundary == MeteredAt::Package {
            self.views.retain(|view| view.boundary != Objective::Wall);
        }
        self
    }

    /// Returns all scenarios of the axes.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let mut scenarios = Vec::new();
        for device in &self.devices {
            for &load in &self.loads {
                for &read_percent in &self.reads {
                    for &bs in &self.sizes {
                        for &numjobs in &self.numjobs {
                            scenarios.extend(self.iodepths.iter().map(|&iodepth| Scenario {
                                device: device.clone(),
                                iodepth,
                                numjobs,
                                bs,
                                read_percent,
                                load,
                            }));
                        }
                    }
                }
            }
        }
        scenarios
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.scenarios().len() * self.views.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_has_seven_hundred_cells_and_the_full_grid_every_axis() {
        assert_eq!(GridAxes::sample().cells(), 700);
        let full = GridAxes::full();
        assert_eq!(full.cells(), 5 * 6 * 9 * 3 * 3 * 3 * 9);
        let scenarios = full.scenarios();
        let sample = GridAxes::sample().scenarios();
        assert!(sample.iter().all(|scenario| scenarios.contains(scenario)));
    }
}
