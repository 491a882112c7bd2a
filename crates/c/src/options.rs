//! Options for opening a device, in a structure that later versions extend.

use crate::error::Failure;
use joulio_nvme::ControllerOptions;
use joulio_units::Nanos;
use rustix::io::Errno;
use std::ffi::c_uint;

/// Options of joulio_open_with(). A field that is zero has its default: set `size`, and then only what differs. Later
/// versions add fields at the end.
#[repr(C)]
pub struct joulio_options {
    /// Bytes of the structure, by which the library knows its version: sizeof(struct joulio_options).
    pub size: usize,
    /// Time limit of an admin command in nanoseconds, at least 1000000, after which the controller is reset; 0: 60 s.
    pub admin_timeout_ns: u64,
    /// Time limit of an I/O command in nanoseconds, at least 1000000: after it the command is aborted, and after as
    /// long again the controller is reset. Time in which no thread waits does not count. 0: 30 s.
    pub io_timeout_ns: u64,
    /// Largest host memory buffer in bytes that is lent to a controller without memory of its own; 0: 128 MiB.
    pub host_memory_max: u64,
    /// Number of queue pairs that will be made, up to 65535; the controller may give fewer. 0: one for each CPU.
    pub queues: c_uint,
    /// Number of times, up to 255, that a failed command is sent again, where its status allows it or a reset ended it.
    pub retries: c_uint,
    /// 1: buffers are described by PRPs alone; 0: also by SGLs, where the controller has them.
    pub no_sgls: c_uint,
    /// 1: no host memory is lent; 0: as much as the controller wants, up to `host_memory_max`.
    pub no_host_memory: c_uint,
}

/// Bytes of the structure that this library knows. The first version had as many.
const KNOWN: usize = size_of::<joulio_options>();

/// Limit in bytes of the structures of later versions.
const MAX_SIZE: usize = 4096;

/// Shortest time limit that is accepted.
const MIN_TIMEOUT_NS: u64 = 1_000_000;

/// Reads options of this version or of another one; NULL: the defaults.
///
/// # Safety
/// `options` is NULL or has as many bytes as its `size` says.
pub(crate) unsafe fn read_options(
    options: *const joulio_options,
) -> Result<ControllerOptions, Failure> {
    let mut how = ControllerOptions::default();
    if options.is_null() {
        return Ok(how);
    }
    // SAFETY: by the caller; the size comes first.
    let size = unsafe { options.cast::<usize>().read() };
    if !(KNOWN..=MAX_SIZE).contains(&size) {
        let text = format!("options.size is {size}: set it to sizeof(struct joulio_options)");
        return Err(Failure::new(Errno::INVAL, text));
    }
    // SAFETY: by the caller; there are as many bytes as the size says.
    let behind = unsafe {
        let behind = options.add(1).cast::<u8>();
        std::slice::from_raw_parts(behind, size - KNOWN)
    };
    if behind.iter().any(|&byte| byte != 0) {
        let text = format!(
            "options.size is {size}, and this library knows the first {KNOWN} bytes: an option \
             behind them is set, which takes a newer libjoulio"
        );
        return Err(Failure::new(Errno::TOOBIG, text));
    }
    // SAFETY: by the caller; there are at least as many bytes as are known.
    let given = unsafe { &*options };
    let (admin, io) = (given.admin_timeout_ns, given.io_timeout_ns);
    limit(&mut how.admin_timeout, admin, "admin_timeout_ns")?;
    limit(&mut how.io_timeout, io, "io_timeout_ns")?;
    if given.queues != 0 {
        how.queues = narrow(given.queues, "queues", u16::MAX)?;
    }
    how.retries = narrow(given.retries, "retries", u8::MAX)?;
    how.sgls = !flag(given.no_sgls, "no_sgls")?;
    if given.host_memory_max != 0 {
        how.host_memory_max = given.host_memory_max;
    }
    if flag(given.no_host_memory, "no_host_memory")? {
        how.host_memory_max = 0;
    }
    Ok(how)
}

/// Sets a time limit, unless it is given as 0.
fn limit(limit: &mut Nanos, given: u64, name: &str) -> Result<(), Failure> {
    match given {
        0 => Ok(()),
        MIN_TIMEOUT_NS.. => {
            *limit = Nanos(given);
            Ok(())
        }
        _ => {
            let text = format!("options.{name} is {given}: 0, or at least {MIN_TIMEOUT_NS}");
            Err(Failure::new(Errno::INVAL, text))
        }
    }
}

/// Returns a number that is at most `max`.
fn narrow<T: TryFrom<c_uint> + Into<c_uint>>(
    given: c_uint,
    name: &str,
    max: T,
) -> Result<T, Failure> {
    T::try_from(given).map_err(|_| {
        let max: c_uint = max.into();
        Failure::new(
            Errno::INVAL,
            format_args!("options.{name} is {given}: at most {max}"),
        )
    })
}

/// Returns a field that is 0 or 1.
fn flag(given: c_uint, name: &str) -> Result<bool, Failure> {
    match given {
        0 => Ok(false),
        1 => Ok(true),
        _ => {
            let text = format!("options.{name} is {given}: 0 or 1");
            Err(Failure::new(Errno::INVAL, text))
        }
    }
}
