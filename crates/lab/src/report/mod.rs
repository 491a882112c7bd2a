//! Report of an experiment: tables, figures and judged observations, made from records.

mod answers;
mod assemble;
mod chart;
mod command;
mod csv;
mod data;
mod figure;
mod files;
mod finding;
mod idle;
mod markdown;
mod outcome;
mod page;
mod papers;
mod plot;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod verdict;
mod wait;
mod words;

pub use assemble::{
    Apart, ExperimentReport, ItemStatus, LabReport, NumberLine, Runs, SetReport, Shown,
};
pub use command::SweepSource;
pub(crate) use data::is_one_of;
pub use data::{Cell, Estimate, ReportData};
pub use figure::{
    Axis, Drawing, Entry, Mark, Panel, ReportFigure, Series, Style, Tie, Tile, Tiles, Xy,
};
pub use files::{WriteError, write};
pub use finding::{Finding, findings};
pub use idle::IdleReport;
pub use outcome::ObservationOutcome;
pub use page::page;
pub use papers::{PaperFinding, PaperItem, papers};
pub use plot::{Plot, PlotFile, PlotFileError, PlotGroup};
pub use spec::{
    Cells, DrawingKind, FigureSpec, Layer, Less, ObservationSpec, OneOrMore, Part, Peak, Rising,
    SpecError, TableKind, TableSpec, Times, Where, Within,
};
pub use table::{Change, Mean, Row, Table, Value};
pub use verdict::{FittedParts, Observed, Part as ObservedPart};
