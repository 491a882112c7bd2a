//! Rules that the sources keep, whatever they do.

mod assembly;
mod doc_lines;
mod floors;
