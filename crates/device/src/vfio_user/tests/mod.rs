//! The client against a fake peer: an honest one, and dishonest ones.

mod honest;
mod hostile;
mod peer;
