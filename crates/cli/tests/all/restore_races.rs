//! `joulio restore` beside itself and beside commands that begin: every setting is put back, and
//! nothing is forgotten before it is.

use crate::common::settings::{Room, error};
use rustix::process::Signal;

/// Rounds of processes; `journal/tests.rs` has the same by the hundred with threads.
const ROUNDS: usize = 40;

/// A change of the scheduler resets the requests: what is put back in the wrong order stays wrong.
const BOTH: &str = "d --set nr_requests=64 --set scheduler=kyber";

#[test]
fn two_restores_and_a_beginning_run_at_once_lose_nothing() {
    let mut wrong = Vec::new();
    for round in 0..ROUNDS {
        let room = Room::new();
        assert_eq!(room.holding_on_tree(BOTH).end(Signal::KILL), None);
        let beginning = format!(
            "knobs d --set nr_requests=64 --for 1ms --root {}",
            room.root().display()
        );
        let all = ["restore", &beginning, "restore", "restore"].map(|line| room.begin(line));
        let said = all.map(|child| error(&child.wait_with_output().expect("it ends")));
        // What a living run had then is put back by itself.
        let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
        if values != ["mq-deadline", "256"] || room.entries() != 0 {
            wrong.push(format!(
                "round {round}: {values:?}, {} entries: {said:?}",
                room.entries()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}
