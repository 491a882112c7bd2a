//! Other programs: finding, running and waiting for them.

use super::error::ExternalError;
use joulio_units::Nanos;
use joulio_workload::{Stop, ThreadUsage};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval between checks whether the program has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Time that a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Clock ticks per second in /proc/PID/stat: USER_HZ is 100 on every architecture that joulio supports.
const TICKS: f64 = 100.0;

/// Folders of administrators' programs, which may not be on a user's PATH.
const ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Largest number of bytes of output that are read.
const MAX_OUTPUT: u64 = 64 << 20;

/// An installed program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the program.
    pub name: &'static str,
    path: PathBuf,
}

/// Result of a program that has ended by itself.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnd {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// CPU time of its threads and of the processes that it waited for.
    pub usage: ThreadUsage,
}

impl Program {
    /// Searches the PATH for the program `name`.
    ///
    /// # Errors
    /// The program is not installed; `remedy` tells how to install it.
    pub fn find(name: &'static str, remedy: &'static str) -> Result<Program, ExternalError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(ADMINISTRATORS.map(PathBuf::from));
        let mut paths = folders.map(|folder| folder.join(name));
        let found = paths.find(|path| path.is_file());
        let program = name;
        let path = found.ok_or(ExternalError::NoProgram { program, remedy })?;
        Ok(Program { name, path })
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &OsStr {
        self.path.as_os_str()
    }

    /// Runs the program with the arguments `words` until it ends, or until `stop`.
    ///
    /// # Errors
    /// The program cannot be started or fails, or the run was stopped.
    pub fn run(
        &self,
        words: &[OsString],
        stop: &Stop,
        progress: impl Fn(),
    ) -> Result<ProgramEnd, ExternalError> {
        let ended = self.run_to_any_end(words, Duration::MAX, stop, progress)?;
        match ended.status.success() {
            true => Ok(ended),
            false => Err(self.failed(last_words(&ended))),
        }
    }

    /// Runs the program as [`Program::run`] does, but accepts any exit status and waits no longer than `longest`.
    ///
    /// # Errors
    /// The program cannot be started or takes too long, or the run was stopped.
    pub fn run_to_any_end(
        &self,
        words: &[OsString],
        longest: Duration,
        stop: &Stop,
        progress: impl Fn(),
    ) -> Result<ProgramEnd, ExternalError> {
        let wrong = |source| ExternalError::System {
            program: self.name,
            source,
        };
        let (mut stdout, mut stderr) = (
            tempfile::tempfile().map_err(wrong)?,
            tempfile::tempfile().map_err(wrong)?,
        );
        let mut command = dying_with_us();
        command.arg(&self.path).args(words).process_group(0);
        command.stdin(std::process::Stdio::null());
        command.stdout(stdout.try_clone().map_err(wrong)?);
        command.stderr(stderr.try_clone().map_err(wrong)?);
        let mut child = command.spawn().map_err(wrong)?;
        let usage = self.wait(&mut child, longest, stop, progress)?;
        let status = child.wait().map_err(wrong)?;
        Ok(ProgramEnd {
            status,
            stdout: text(&mut stdout).map_err(wrong)?,
            stderr: text(&mut stderr).map_err(wrong)?,
            usage,
        })
    }

    /// Returns an error of this program with the reason `why`.
    pub fn failed(&self, why: impl Into<String>) -> ExternalError {
        ExternalError::Failed {
            program: self.name,
            why: why.into(),
        }
    }

    /// Waits until `child` has ended, and reads its CPU time before it is reaped.
    fn wait(
        &self,
        child: &mut Child,
        longest: Duration,
        stop: &Stop,
        progress: impl Fn(),
    ) -> Result<ThreadUsage, ExternalError> {
        let wrong = |source: io::Error| ExternalError::System {
            program: self.name,
            source,
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| wrong(io::ErrorKind::NotFound.into()))?;
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let begun = Instant::now();
        let mut terminated: Option<Instant> = None;
        loop {
            let over = waitid(WaitId::Pid(pid), how).map_err(|errno| wrong(errno.into()))?;
            if over.is_some() && terminated.is_none() {
                return Ok(usage(child.id()));
            }
            if over.is_some() {
                let _ = child.wait();
                return Err(ExternalError::Stopped(self.name));
            }
            match terminated {
                None if begun.elapsed() > longest => {
                    // A process that is blocked on a device does not react to SIGTERM.
                    let _ = kill_process_group(pid, Signal::KILL);
                    let _ = child.wait();
                    return Err(self.failed(format!(
                        "still at work after {} s, and ended: its device does not answer",
                        longest.as_secs()
                    )));
                }
                None if stop.stopped() => {
                    let _ = kill_process_group(pid, Signal::TERM);
                    terminated = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => {
                    let _ = kill_process_group(pid, Signal::KILL);
                }
                _ => {}
            }
            progress();
            sleep(CHECK_INTERVAL);
        }
    }
}

/// Returns `time` rounded up to whole seconds, for programs that only take these.
pub fn whole_seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

/// Returns a command whose program is killed when this process ends for any reason, if setpriv of util-linux is
/// installed.
fn dying_with_us() -> Command {
    let mut command = Command::new("/usr/bin/env");
    if let Ok(setpriv) = Program::find("setpriv", "") {
        command = Command::new(setpriv.path());
        command.args(["--pdeathsig", "KILL", "--"]);
    }
    command
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last line of a program's output, which in most programs names the problem.
fn last_words(ended: &ProgramEnd) -> String {
    let last = |text: &str| {
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    };
    let said = last(&ended.stderr).or_else(|| last(&ended.stdout));
    match said {
        Some(said) => format!("{}: {}", ended.status, crate::printable(&said)),
        None => ended.status.to_string(),
    }
}

/// Returns the CPU time of the process `pid`, which has ended and was not reaped yet, and of the processes that it
/// waited for, as a script does (proc_pid_stat(5)).
fn usage(pid: u32) -> ThreadUsage {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat_usage(&text).unwrap_or_default()
}

fn stat_usage(text: &str) -> Option<ThreadUsage> {
    // The name in parentheses may contain any character.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS);
    Some(ThreadUsage {
        threads: 1,
        user_seconds: seconds(11)? + seconds(13)?,
        system_seconds: seconds(12)? + seconds(14)?,
        ..ThreadUsage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str, stop: &Stop) -> Result<ProgramEnd, ExternalError> {
        let words = ["-c", line].map(OsString::from);
        let shell = Program::find("sh", "there is none")?;
        shell.run(&words, stop, || {})
    }

    #[test]
    fn output_and_cpu_time_are_the_programs() {
        let ended = shell(
            "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i",
            &Stop::default(),
        );
        let ended = ended.unwrap();
        assert_eq!(ended.stdout, "200000\n");
        assert!(ended.usage.user_seconds > 0.0, "{ended:?}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let error = shell("echo one; echo two >&2; exit 3", &Stop::default());
        let error = error.unwrap_err();
        assert!(!error.is_unfit());
        assert_eq!(error.to_string(), "sh: exit status: 3: two");
        let none = Program::find("no-such-program", "write it").unwrap_err();
        assert!(none.is_unfit());
        assert_eq!(
            none.to_string(),
            "no-such-program is not on the PATH: write it"
        );
    }

    #[test]
    fn a_run_that_is_to_end_ends_the_program() {
        let stop = Stop::default();
        stop.stop();
        let error = shell("exec sleep 600", &stop).unwrap_err();
        assert!(matches!(error, ExternalError::Stopped("sh")), "{error}");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let words = ["-c", "trap '' TERM; while :; do sleep 600; done"].map(OsString::from);
        let shell = Program::find("sh", "there is none").unwrap();
        let ended = shell.run_to_any_end(&words, Duration::ZERO, &Stop::default(), || {});
        let said = ended.unwrap_err().to_string();
        assert!(said.contains("still at work after 0 s"), "{said}");
    }

    #[test]
    fn cpu_time_stands_behind_the_name() {
        let text = "7 (a) b) Z 1 7 7 0 -1 0 0 0 0 0 250 50 100 25 20 0 1 0";
        let usage = stat_usage(text).unwrap();
        assert_eq!((usage.user_seconds, usage.system_seconds), (3.5, 0.75));
        assert_eq!(stat_usage("7 (a"), None);
    }
}
