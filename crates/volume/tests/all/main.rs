//! Volumes: on a namespace, through kills and power cuts, with damage, and below redb.

mod coin;
mod damage;
mod directory;
mod kills;
mod namespace;
mod power_cuts;
mod redb;
