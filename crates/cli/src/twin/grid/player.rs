//! Playing what is not done yet.

use super::state::State;
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use joulio_model::DeviceProfile;
use joulio_twin::grid::{Scene, Stage, View};
use joulio_workload::Stop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Plays every one of `scenes` that `state` does not have, until `stop`.
pub fn play(
    stage: &Stage,
    scenes: &[(&Scene, &DeviceProfile)],
    views: &[View],
    threads: usize,
    state: &mut State,
    stop: &Stop,
) -> Result<(), Failure> {
    let open: Vec<_> = scenes
        .iter()
        .filter(|(scene, _)| !state.has(scene))
        .collect();
    let bar = bar(scenes.len(), scenes.len() - open.len());
    let next = AtomicUsize::new(0);
    let (rows, inbox) = channel();
    let played = thread::scope(|scope| {
        for _ in 0..threads.min(open.len()) {
            let (rows, next, open) = (rows.clone(), &next, &open);
            scope.spawn(move || {
                while !stop.stopped()
                    && let Some((scene, device)) = open.get(next.fetch_add(1, Ordering::Relaxed))
                    && rows
                        .send((*scene, stage.play(scene, device, views)))
                        .is_ok()
                {}
            });
        }
        drop(rows);
        for (scene, rows) in inbox {
            state.add(scene, rows.map_err(Failure::input)?)?;
            bar.inc(1);
        }
        Ok(())
    });
    bar.finish_and_clear();
    played
}

/// Progress on a terminal; silent elsewhere.
fn bar(all: usize, done: usize) -> ProgressBar {
    let bar = ProgressBar::new(all as u64).with_position(done as u64);
    // The template is a constant: it parses or the tests fail.
    let style =
        ProgressStyle::with_template("[{bar:40}] {pos}/{len} scenes  {elapsed}, {eta} left");
    match style {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
