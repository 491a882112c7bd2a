//! Results of runs as tables and reports show them: names, the energy figure for comparisons, and notes.

mod energy_column;
mod energy_notes;
mod means;
mod mostly;
mod notes;
mod run_name;
mod section_rows;
mod varied;
mod verdict;

pub use energy_column::{EnergyColumn, shown};
pub use energy_notes::{energy_notes, model_note, star_note};
pub use means::{MeanOf, MeanRow};
pub use notes::{notes, unmetered};
pub use run_name::{SPOILED, mode_name, run_name};
pub use section_rows::{SECTION, rows};
pub use varied::Varied;
pub use verdict::verdict;
