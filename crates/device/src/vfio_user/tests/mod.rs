//! The client against a peer that speaks bytes: an honest one, and dishonest ones.

mod honest;
mod hostile;
mod peer;
