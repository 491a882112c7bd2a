//! Tests of this module, on machines of plain files.

mod finding;
mod moving;
mod refusing;
mod using;
