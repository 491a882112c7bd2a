//! Runs the example to its end, on a file.

mod common;
#[path = "../examples/completions.rs"]
mod completions;

use common::Scratch;

#[test]
fn completions() {
    let scratch = Scratch::new();
    completions::compare(scratch.path.to_str().unwrap(), 20).unwrap();
}
