//! Volumes: on a namespace, through power cuts, and with damage.

mod damage;
mod directory;
mod namespace;
mod power_cuts;
