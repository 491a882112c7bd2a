//! Tests of rules for the sources.

mod assembly;
mod doc_lines;
mod files;
mod floors;
mod names;
