//! Results of runs, as tables and reports show them: names, the energy figure that runs are compared
//! by, and what is to be known beside the figures.

mod energy_column;
mod mostly;
mod notes;
mod run_name;

pub use energy_column::{EnergyColumn, shown};
pub use notes::notes;
pub use run_name::{SPOILED, mode_name, run_name};
