//! What several targets draw.
#![forbid(unsafe_code)]

pub mod faults;
