//! Restoring all changes when the process is ended by force.

use super::live::{ForcedRestore, LiveChanges};
use joulio_nvme::Cancel;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

/// Longest time that a change which is being made or restored may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest time that restoring may take in all: a device may not answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Restores all changes of this process, instead of the threads that have made them: for a signal handler's thread
/// that is about to end the process. Returns after at most 5 s; no change is made after it. `cancel` ends the wait for
/// a controller.
pub fn force_restore(cancel: Cancel) -> ForcedRestore {
    let (done, result) = channel();
    let thread = Builder::new().name("joulio-restore".into());
    let spawned = thread.spawn(move || {
        let restored = LiveChanges::of_this_process().restore_for_good(PATIENCE, &cancel);
        // Nobody waits any more: this process ends.
        let _ = done.send(restored);
    });
    match spawned.map(|_| result.recv_timeout(LIMIT)) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => ForcedRestore::Kept("a device does not answer".into()),
        Err(error) => ForcedRestore::Kept(error.to_string()),
    }
}
