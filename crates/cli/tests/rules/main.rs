//! Rules that the sources keep, whatever they do.

mod doc_lines;
mod floors;
