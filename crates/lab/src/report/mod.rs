//! From records to a report that judges: tables, figures, observations with verdicts.

mod spec;

pub use spec::{
    Cells, FigureKind, FigureSpec, Layer, Less, ObservationSpec, OneOrMore, Part, Peak, Rising,
    SpecError, TableKind, TableSpec, Times, Where, Within,
};
