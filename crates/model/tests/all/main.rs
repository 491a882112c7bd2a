//! The profiles' tests, one module each, in one program.

mod bands;
mod bounds;
mod common;
mod devices;
mod energy;
mod examples;
mod figures;
mod garbage_collection;
mod power_states;
mod profiles;
mod service_times;
mod tdp;
mod uncore_and_frequency;
