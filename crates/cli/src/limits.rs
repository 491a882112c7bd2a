//! Resource limits set by a shell: open files, and the stack of the first thread.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::process::ExitCode;
use std::thread;

/// Limit of open files that no run reaches; it is not higher, because a program that we start may loop over all numbers
/// below it.
const MAX_FILES: u64 = 1 << 20;
/// Stack in bytes that Rust gives every other thread.
const MIN_STACK: u64 = 2 << 20;
/// Stack in bytes that a shell usually gives the first thread.
const STACK: usize = 8 << 20;

/// Raises the limit of open files as far as allowed: a job needs several, and shells start programs with a limit of
/// 1024 because of select(2).
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let max = limit.maximum.unwrap_or(MAX_FILES).min(MAX_FILES);
    if limit.current.is_some_and(|current| current < max) {
        let raised = Rlimit {
            current: Some(max),
            maximum: limit.maximum,
        };
        // A failure is ignored: if the files run out later, that is reported.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// Returns advice if `message` says that no more files can be opened.
pub fn open_files_advice(message: &str) -> Option<String> {
    let code = |errno: rustix::io::Errno| format!("(os error {})", errno.raw_os_error());
    if message.contains(&code(rustix::io::Errno::NFILE)) {
        return Some("the machine has no more: raise sysctl fs.file-max".into());
    }
    message.contains(&code(rustix::io::Errno::MFILE)).then(|| {
        let limit = getrlimit(Resource::Nofile).current;
        let limit = limit.map_or("unlimited".into(), |limit| limit.to_string());
        format!("the limit is {limit}: raise it by ulimit -n, or use fewer jobs or devices")
    })
}

/// Runs `command` with enough stack: on a thread of its own if `ulimit -s` leaves the first thread too little.
///
/// # Errors
/// There is not enough memory, or there are too many threads.
pub fn with_stack(command: fn() -> ExitCode) -> io::Result<ExitCode> {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= MIN_STACK) {
        return Ok(command());
    }
    let thread = thread::Builder::new().name("joulio".into());
    let thread = thread.stack_size(STACK).spawn(command)?;
    // The panic's message has been printed; this is the status of a process that panics.
    Ok(thread.join().unwrap_or(ExitCode::from(101)))
}
