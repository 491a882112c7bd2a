//! The meters' tests, a module each, all of them one program.

mod baseline;
mod bmc;
mod common;
mod hwmon;
mod perf;
mod power;
mod rapl;
mod sampled;
mod trouble;
mod window;
