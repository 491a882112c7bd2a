//! `joulio restore` at the same time as others of its kind and as commands that begin: every setting is restored, and
//! no entry is removed before that.

use crate::common::settings::{Room, error};
use rustix::process::Signal;

/// Number of rounds with processes; `journal/tests.rs` has hundreds of rounds with threads.
const ROUNDS: usize = 40;

/// A change of the scheduler resets nr_requests, so settings restored in the wrong order stay wrong.
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
        // Settings of a run that was still alive are restored by the run itself.
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
