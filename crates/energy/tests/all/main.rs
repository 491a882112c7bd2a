//! The meters' tests, one module each, in one program.

mod baseline;
mod bmc;
mod common;
mod examples;
mod hwmon;
mod perf;
mod power;
mod rapl;
mod sampled;
mod trouble;
mod window;
