//! Volumes: on a namespace, with kills and power cuts, with damage, and with redb on them.

mod coin;
mod damage;
mod directory;
mod kills;
mod namespace;
mod power_cuts;
mod redb;
mod started;
