//! Volumes: on a namespace, through power cuts, with damage, and below redb.

mod coin;
mod damage;
mod directory;
mod namespace;
mod power_cuts;
mod redb;
