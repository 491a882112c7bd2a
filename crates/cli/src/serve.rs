//! `joulio serve`: an emulated controller behind a vfio-user socket.

use crate::Outcome;
use crate::failure::Failure;
use crate::output::print;
use crate::signals::{at_last, ring_on_signals};
use clap::ValueEnum;
use joulio_emulator::FaultPlan;
use joulio_emulator::serve::{DoorbellMode, ServeOptions, Server};
use joulio_lab::{DeviceKind, DeviceName};
use joulio_workload::parse_size;
use std::fs::{remove_file, symlink_metadata};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::thread::available_parallelism;

/// The socket takes one host at a time; another is told that the controller is taken (EBUSY), and
/// one that has not agreed on the version 5 s after it connected is cut off. A host's memory must
/// be memfds, or files of tmpfs or hugetlbfs; others are refused (EOPNOTSUPP).
/// Ends at Ctrl-C, SIGTERM, SIGHUP or SIGQUIT, and removes the socket. Whatever a host does, or if it is killed,
/// the next one finds the controller as new, with the data that was written.
#[derive(clap::Args)]
pub struct Args {
    /// Device: emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N]. The serial
    /// number comes from the seed, and without one from the socket's path
    #[arg(long)]
    device: DeviceName,
    /// The socket to listen at. One that no server listens at any more is replaced
    #[arg(long)]
    socket: PathBuf,
    /// Permissions of the socket's file, in octal: who may write to it may connect
    #[arg(long, value_name = "MODE", default_value = "0600", value_parser = parse_mode)]
    socket_mode: u32,
    /// How a host rings.
    #[arg(long, value_enum, default_value = "auto")]
    doorbells: Doorbells,
    /// Submission and completion queue pairs for I/O. Default: as the device has, up to 64
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    queues: Option<u16>,
    /// The CPU of the thread that does the I/O
    #[arg(long)]
    cpu: Option<usize>,
    /// The most pieces of memory that a host may map
    #[arg(long, default_value_t = 1024, value_parser = at_least_one)]
    max_regions: usize,
    /// The most memory that a host may map
    #[arg(long, default_value = "64g", value_parser = memory)]
    max_memory: u64,
    /// What goes wrong: a list of KIND[=PARAMETER][@WHEN] and seed=N, as drop@0.001 (of the
    /// commands), status=2/81@#100 (the 100th), cfs@2s. A wrong kind names all
    #[arg(
        long,
        value_name = "PLAN",
        default_value = "",
        hide_default_value = true
    )]
    faults: FaultPlan,
    /// Print what was done, in one line, at the end
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
    match parse_size(text)? {
        0..PAGE => Err("a host needs memory to do anything: 4k at the least".into()),
        bytes => Ok(bytes),
    }
}

/// The least that a host can map.
const PAGE: u64 = 4096;

/// `--doorbells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Doorbells {
    /// mapped where the server has two CPUs or more, so that looking at doorbells does not take
    /// the host's; trapped otherwise
    Auto,
    /// The page of doorbells is in the host's memory map: ringing is a store, and a thread here
    /// looks at it. A mapped doorbell cannot wake anyone: the thread looks all the time while I/O
    /// comes, and once a millisecond when none has come for a while, so that the first I/O after a
    /// pause takes up to a millisecond longer
    Mapped,
    /// Ringing is a message. For hosts with shadow doorbells (Linux has them) messages are rare,
    /// and an idle server does nothing at all
    Trapped,
}

impl Doorbells {
    fn mode(self) -> DoorbellMode {
        match self {
            Doorbells::Mapped => DoorbellMode::Mapped,
            Doorbells::Trapped => DoorbellMode::Trapped,
            Doorbells::Auto if available_parallelism().is_ok_and(|cpus| cpus.get() > 1) => {
                DoorbellMode::Mapped
            }
            Doorbells::Auto => DoorbellMode::Trapped,
        }
    }
}

fn parse_mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("permissions are octal, 0 to 0777, as 0660: owner and group may connect".into()),
    }
}

impl Args {
    /// Two controllers of one host must not have the same serial number: it follows the socket,
    /// which no two share. FNV-1a, so that it is the same tomorrow.
    fn seed(&self) -> u64 {
        let path = absolute(&self.socket).unwrap_or_else(|_| self.socket.clone());
        let bytes = path.as_os_str().as_bytes();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// `joulio serve`.
pub fn run(args: &Args) -> Outcome {
    let DeviceKind::Emulated(emulated) = &args.device.kind else {
        return Err(Failure::input(format!(
            "'{}': only an emulated device can be served",
            args.device.text
        )));
    };
    let mut options = emulated.options(&args.device.text, args.seed())?;
    if options.real_interrupts {
        return Err(Failure::input(
            "interrupts=joulio_uintr: a served controller's interrupts are its client's; leave it out",
        ));
    }
    options.cpu = args.cpu;
    options.faults = args.faults.clone();
    if let Some(queues) = args.queues {
        options.queue_pairs = queues;
        options.vectors = queues + 1;
    }
    let serve = ServeOptions {
        doorbells: args.doorbells.mode(),
        socket_mode: args.socket_mode,
        max_regions: args.max_regions,
        max_bytes: args.max_memory,
    };
    // Before there is a socket that a signal would leave behind.
    let stop = ring_on_signals()?;
    if emulated.read_only_file().is_none() {
        emulated.check_loops()?;
    }
    let missing = emulated.missing_file();
    let mut server = Server::bind(&args.socket, &options, &serve).map_err(|error| {
        if let Some(path) = missing {
            // What was not there before was made by this very call, if it was.
            let _ = remove_file(path);
        }
        Failure::input(error)
    })?;
    remove_at_last(&args.socket);
    let how = match serve.doorbells {
        DoorbellMode::Mapped => "mapped",
        DoorbellMode::Trapped => "trapped",
    };
    let faults = if args.faults.is_empty() {
        String::new()
    } else {
        format!(", faults {}", args.faults)
    };
    print(&format!(
        "serving {} at {}, doorbells {how}{faults}\n",
        args.device.text,
        args.socket.display()
    ))?;
    let served = server.run(stop.as_fd());
    let stats = server.stats();
    drop(server);
    if args.stats {
        print(&format!("{stats}\n"))?;
    }
    served.map_err(Failure::run)
}

/// Removes the socket also when a second signal has to end this command, unless somebody else has
/// put another one there by then.
fn remove_at_last(socket: &Path) {
    let identity = |path: &Path| {
        let found = symlink_metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let (path, made) = (socket.to_path_buf(), identity(socket));
    at_last(move || {
        if made.is_some() && identity(&path) == made {
            let _ = remove_file(&path);
        }
    });
}
