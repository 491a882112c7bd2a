//! The limits that a shell sets on what it starts: open files, and the first thread's stack.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::process::ExitCode;
use std::thread;

/// More files than any run opens. A program that we start may go through all numbers below its
/// limit.
const MAX_FILES: u64 = 1 << 20;
/// Stack in bytes that Rust gives every other thread.
const MIN_STACK: u64 = 2 << 20;
/// Stack in bytes that a shell usually gives the first thread.
const STACK: usize = 8 << 20;

/// Raises the limit of open files as far as it may be raised: a job takes several, and shells start
/// programs with 1024 for the sake of those that use select(2).
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let max = limit.maximum.unwrap_or(MAX_FILES).min(MAX_FILES);
    if limit.current.is_some_and(|current| current < max) {
        let raised = Rlimit {
            current: Some(max),
            maximum: limit.maximum,
        };
        // What it cannot do it need not: it is reported when files run out.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// Returns advice on `message`, if it says that files ran out.
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

/// Runs `command` where there is stack enough: on a thread of its own where `ulimit -s` has left
/// the first one too little.
///
/// # Errors
/// There is no memory, or there are too many threads.
pub fn with_stack(command: fn() -> ExitCode) -> io::Result<ExitCode> {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= MIN_STACK) {
        return Ok(command());
    }
    let thread = thread::Builder::new().name("joulio".into());
    let thread = thread.stack_size(STACK).spawn(command)?;
    // A panic has reported itself; this is what it would have ended with.
    Ok(thread.join().unwrap_or(ExitCode::from(101)))
}
