//! `joulio serve`: serves an emulated controller at a vfio-user socket.

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::print_data;
use crate::signals::{at_last, ring_on_signals};
use clap::ValueEnum;
use joulio_emulator::FaultPlan;
use joulio_emulator::serve::{DoorbellMode, ServeOptions};
use joulio_lab::DeviceName;
use joulio_lab::serve::{ServedOptions, socket_remover, usual_doorbells};
use joulio_workload::parse_size;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The socket takes one host at a time; another is refused because the controller is taken (EBUSY),
/// and one that has not agreed on the version 5 s after it connected is cut off. A host's memory
/// must be memfds, or files of tmpfs or hugetlbfs; others are refused (EOPNOTSUPP). Ends at Ctrl-C,
/// SIGTERM, SIGHUP or SIGQUIT, and removes the socket. Whatever a host does, or if it is killed,
/// the next one finds the controller as new, with the data that was written.
#[derive(clap::Args)]
pub struct ServeArgs {
    /// Device: emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N]. The serial
    /// number comes from the seed, and without one from the socket's path
    #[arg(long)]
    device: DeviceName,
    /// Socket to listen on. A stale socket that no server uses is replaced
    #[arg(long)]
    socket: PathBuf,
    /// Permissions of the socket's file, in octal: a user who may write to it may connect
    #[arg(long, value_name = "MODE", default_value = "0600", value_parser = parse_mode)]
    socket_mode: u32,
    /// How the host rings doorbells.
    #[arg(long, value_enum, default_value = "auto")]
    doorbells: Doorbells,
    /// Number of I/O queue pairs. Default: as the device has, at most 64
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    queues: Option<u16>,
    /// CPU of the thread that does the I/O
    #[arg(long)]
    cpu: Option<usize>,
    /// Maximum number of memory regions that a host may map
    #[arg(long, default_value_t = 1024, value_parser = at_least_one)]
    max_regions: usize,
    /// Maximum memory that a host may map
    #[arg(long, default_value = "64g", value_parser = memory)]
    max_memory: u64,
    /// Faults to inject: a list of KIND[=PARAMETER][@WHEN] and seed=N, such as drop@0.001 (a fraction of the
    /// commands), status=2/81@#100 (the 100th command), cfs@2s. An unknown kind prints all kinds
    #[arg(
        long,
        value_name = "PLAN",
        default_value = "",
        hide_default_value = true
    )]
    faults: FaultPlan,
    /// Print statistics, in one line, at the end
    #[arg(long)]
    stats: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..) => Ok(count),
        _ => Err("a host needs one to do anything: write a whole number from 1".into()),
    }
}

fn memory(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0..PAGE => Err("a host needs memory to do anything: give at least 4k".into()),
        bytes => Ok(bytes),
    }
}

/// Smallest amount of memory that a host can map, in bytes.
const PAGE: u64 = 4096;

/// `--doorbells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Doorbells {
    /// mapped if the server has two or more CPUs, so that polling the doorbells does not take the host's; otherwise
    /// trapped
    Auto,
    /// The host maps the page of doorbells: ringing is a store, and a thread of the server polls the page. A mapped
    /// doorbell wakes nobody. The thread polls all the time while there is I/O, and once a millisecond after a while
    /// without, so that the first I/O after a pause can take up to a millisecond longer
    Mapped,
    /// Ringing is a message. Right for hosts with shadow doorbells (such as Linux), which seldom send one; an idle
    /// server then does nothing at all
    Trapped,
}

impl Doorbells {
    fn mode(self) -> DoorbellMode {
        match self {
            Doorbells::Mapped => DoorbellMode::Mapped,
            Doorbells::Trapped => DoorbellMode::Trapped,
            Doorbells::Auto => usual_doorbells(),
        }
    }
}

fn parse_mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("permissions are octal, 0 to 0777, as 0660: owner and group may connect".into()),
    }
}

impl ServeArgs {
    fn options(&self) -> ServedOptions {
        ServedOptions {
            device: self.device.clone(),
            socket: self.socket.clone(),
            queues: self.queues,
            cpu: self.cpu,
            faults: self.faults.clone(),
            sync_failed: say_sync_failed,
            serve: ServeOptions {
                doorbells: self.doorbells.mode(),
                socket_mode: self.socket_mode,
                max_regions: self.max_regions,
                max_bytes: self.max_memory,
                ..ServeOptions::default()
            },
        }
    }
}

/// Reports a failed sync to the user who runs the server, because a host only sees failed commands.
fn say_sync_failed(path: &Path, error: &io::Error) {
    say(&format!(
        "{}: a sync failed: {error}: data that hosts have written may be lost, and flushes fail until this server is \
         ended and started again",
        path.display()
    ));
}

/// Runs `joulio serve`.
pub fn run(args: &ServeArgs) -> Outcome {
    let options = args.options();
    let served = options.check().map_err(Failure::input)?;
    // Signals are handled before there is a socket to remove.
    let stop = ring_on_signals()?;
    let mut server = served.bind().map_err(Failure::input)?;
    // The socket is also removed if a second signal has to end this command.
    at_last(socket_remover(&args.socket));
    let how = match options.serve.doorbells {
        DoorbellMode::Mapped => "mapped",
        DoorbellMode::Trapped => "trapped",
    };
    let faults = if args.faults.is_empty() {
        String::new()
    } else {
        format!(", faults {}", args.faults)
    };
    print_data(&format!(
        "serving {} at {}, doorbells {how}{faults}\n",
        args.device.text,
        args.socket.display()
    ))?;
    let result = server.run(stop.as_fd());
    let stats = server.stats();
    drop(server);
    if args.stats {
        print_data(&format!("{stats}\n"))?;
    }
    result.map_err(Failure::run)
}
