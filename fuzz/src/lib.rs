//! Types that several targets generate.
#![forbid(unsafe_code)]

pub mod faults;
