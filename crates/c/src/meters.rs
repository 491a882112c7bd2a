//! Energy: the meters of the machine and of a device, over windows.

use crate::controller::{joulio_controller, text};
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use ::joulio_energy::{MeterResult, Meters};
use joulio_host::energy_sources::{add_device, found, met, root, select};
use rustix::io::Errno;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::mpsc::{SendError, Sender, channel};
use std::thread::JoinHandle;

/// Meters that are read together.
pub struct joulio_meters {
    _private: [u8; 0],
}

impl Handle for joulio_meters {
    type Value = Reader;
    const NAME: &'static str = "meters";
    const MARK: u64 = u64::from_le_bytes(*b"jlMeters");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// The energy of one meter over a window.
#[repr(C)]
pub struct joulio_energy {
    /// Name of the meter: "perf:package-0", "nvme:..."; of the model's profile where it is modelled.
    pub meter: [c_char; 64],
    /// Boundary of the energy: "wall", "psys", "package", "cores", "dram" or "device".
    pub boundary: [c_char; 16],
    /// Joules.
    pub joules: f64,
    /// Error bound of the joules, in joules, as the meter's count is the true one; below zero: not known.
    pub error: f64,
    /// Seconds of the window, at this meter.
    pub seconds: f64,
    /// 1 if computed from a profile, 0 if measured.
    pub modelled: c_int,
}

/// State behind a handle of meters.
pub(crate) enum Reader {
    Idle(Meters),
    Open(Window),
    /// The thread of the meters was lost.
    Over,
}

/// A window that a thread keeps open, so that power meters are sampled.
pub(crate) struct Window {
    close: Sender<()>,
    thread: JoinHandle<Option<(Meters, Vec<MeterResult>)>>,
}

/// Opens meters: `words` as the command's --meter takes them, separated by spaces ("all", "package",
/// "perf:package-0"); NULL is all. With a `controller` the meter in its device is one of them; an emulated
/// device's is modelled. NULL: joulio_error() says why. A machine without a meter has none, and that is no
/// error where none was named.
///
/// # Safety
/// `words` is NULL or a C string; `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_meters_open(
    words: *const c_char,
    controller: *mut joulio_controller,
) -> *mut joulio_meters {
    guarded_pointer(|| {
        let words: Vec<String> = match words.is_null() {
            true => Vec::new(),
            // SAFETY: by the caller.
            false => unsafe { text(words, "words") }?
                .split_ascii_whitespace()
                .map(Into::into)
                .collect(),
        };
        let wrong = |error| Failure::new(Errno::INVAL, error);
        let root = root(None).map_err(|error| Failure::new(Errno::NOENT, error))?;
        let select = select(&words).map_err(wrong)?;
        let mut discovery = found(&root, &select).map_err(wrong)?;
        if !controller.is_null() {
            // SAFETY: by the caller.
            let opened = unsafe { handle::get(controller) }?.opened();
            let control = opened.control();
            let name = control.device_name().to_owned();
            add_device(&name, control, &root, &mut discovery);
        }
        let discovery = met(discovery, &select).map_err(wrong)?;
        Ok(handle::make(Reader::Idle(discovery.meters)))
    })
}

/// Begins a window. 0, or a negative errno: -EBUSY: one is open.
///
/// # Safety
/// `meters` is NULL or meters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_meters_start(meters: *mut joulio_meters) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let reader = unsafe { handle::get(meters) }?;
        match std::mem::replace(reader, Reader::Over) {
            Reader::Idle(meters) => match Window::open(meters) {
                Ok(window) => {
                    *reader = Reader::Open(window);
                    Ok(0)
                }
                Err((meters, failure)) => {
                    *reader = meters.map_or(Reader::Over, Reader::Idle);
                    Err(failure)
                }
            },
            Reader::Open(window) => {
                *reader = Reader::Open(window);
                Err(Failure::new(
                    Errno::BUSY,
                    "a window of these meters is open: end it with joulio_meters_stop()",
                ))
            }
            Reader::Over => Err(lost()),
        }
    })
}

/// Ends the window and writes the energy of up to `max` meters to `energies`; a meter that has no figure
/// is left out. Number of figures, or a negative errno: -ENODATA: there are meters and none has a figure,
/// as of a window below a second; -EINVAL: no window is open.
///
/// # Safety
/// `meters` is NULL or meters; `energies` has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_meters_stop(
    meters: *mut joulio_meters,
    energies: *mut joulio_energy,
    max: c_uint,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let reader = unsafe { handle::get(meters) }?;
        if energies.is_null() && max > 0 {
            return Err(Failure::null("energies"));
        }
        let window = match std::mem::replace(reader, Reader::Over) {
            Reader::Open(window) => window,
            Reader::Over => return Err(lost()),
            Reader::Idle(meters) => {
                *reader = Reader::Idle(meters);
                return Err(Failure::new(
                    Errno::INVAL,
                    "no window is open: begin it with joulio_meters_start()",
                ));
            }
        };
        let (meters, results) = window.close()?;
        *reader = Reader::Idle(meters);
        let mut written = 0;
        let mut why = None;
        for result in &results {
            match &result.figure {
                Ok(_) if written == max as usize => break,
                Ok(figure) => {
                    let energy = joulio_energy {
                        meter: fixed(&result.about.name),
                        boundary: fixed(&figure.total.boundary.to_string()),
                        joules: figure.total.joules.0,
                        error: figure.total.error.map_or(-1.0, |error| error.0),
                        seconds: figure.total.window.seconds(),
                        modelled: figure.total.modelled.into(),
                    };
                    // SAFETY: below `max`, by the caller.
                    unsafe { energies.add(written).write(energy) };
                    written += 1;
                }
                Err(error) => why = why.or(Some(format!("{}: {error}", result.about.name))),
            }
        }
        match why {
            Some(why) if written == 0 => Err(Failure::new(Errno::NODATA, why)),
            _ => Ok(written as c_int),
        }
    })
}

/// Closes the meters, with their window if one is open; NULL is allowed. 0, or a negative errno.
///
/// # Safety
/// `meters` is NULL or meters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_meters_close(meters: *mut joulio_meters) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        match unsafe { handle::end(meters) }? {
            Some(Reader::Open(window)) => drop(window.close()?),
            other => drop(other),
        }
        Ok(0)
    })
}

impl Window {
    /// Opens a window of `meters`, which come back with the failure unless their thread was lost.
    fn open(meters: Meters) -> Result<Window, (Option<Meters>, Failure)> {
        let (give, given) = channel::<Meters>();
        let (close, closed) = channel();
        let (opened, is_open) = channel();
        let keep = move || {
            let mut meters = given.recv().ok()?;
            let window = meters.open();
            let results = match window {
                Ok(window) => {
                    let _ = opened.send(Ok(()));
                    // A closed channel is the end too.
                    let _ = closed.recv();
                    window.close(None)
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                    Vec::new()
                }
            };
            Some((meters, results))
        };
        let builder = std::thread::Builder::new().name("joulio-meters".into());
        let thread = match builder.spawn(keep) {
            Ok(thread) => thread,
            Err(error) => return Err((Some(meters), no_thread(error))),
        };
        if let Err(SendError(meters)) = give.send(meters) {
            return Err((Some(meters), lost()));
        }
        let window = Window { close, thread };
        match is_open.recv() {
            Ok(Ok(())) => Ok(window),
            Ok(Err(error)) => Err((window.close().ok().map(|of| of.0), no_thread(error))),
            Err(_) => Err((None, lost())),
        }
    }

    fn close(self) -> Result<(Meters, Vec<MeterResult>), Failure> {
        drop(self.close);
        self.thread.join().ok().flatten().ok_or_else(lost)
    }
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new(
        Errno::AGAIN,
        format_args!("no thread to read the meters: {error}"),
    )
}

fn lost() -> Failure {
    Failure::new(
        Errno::NOTRECOVERABLE,
        "the thread that reads the meters was lost: close them, and open others",
    )
}

/// Returns `text` as a C string in an array, cut if it is longer.
fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, from) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    array
}
