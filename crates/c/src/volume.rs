//! Volumes: files on a namespace, by name.

use crate::controller::{JOULIO_ALLOW_WRITE, joulio_controller, text};
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::opened::AnyStore;
use crate::queue::{joulio_counters, policies};
use ::joulio_volume::{FormatOptions, StoreError, Volume, VolumeError};
use rustix::io::Errno;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// Flag: makes an empty volume if the controller's namespace has none; its data is lost.
pub const JOULIO_VOLUME_FORMAT: c_uint = 2;

/// Flag, with JOULIO_VOLUME_FORMAT: overwrites an existing volume, with all its files.
pub const JOULIO_VOLUME_OVERWRITE: c_uint = 4;

/// Files on a namespace, without a kernel.
pub struct joulio_volume {
    _private: [u8; 0],
}

impl Handle for joulio_volume {
    type Value = Volume<Store>;
    const NAME: &'static str = "volume";
    const MARK: u64 = u64::from_le_bytes(*b"jlVolume");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// The namespace below a volume, with any back end.
pub(crate) type Store = Box<dyn AnyStore>;

impl From<VolumeError> for Failure {
    fn from(error: VolumeError) -> Failure {
        let errno = match &error {
            VolumeError::NotFound(_) => Errno::NOENT,
            VolumeError::Exists(_) | VolumeError::AlreadyAVolume => Errno::EXIST,
            VolumeError::Name(_) | VolumeError::Size { .. } => Errno::INVAL,
            VolumeError::NoSpace { .. }
            | VolumeError::DirectoryTooLarge { .. }
            | VolumeError::TooSmall { .. } => Errno::NOSPC,
            VolumeError::NotAVolume | VolumeError::Version { .. } => Errno::MEDIUMTYPE,
            VolumeError::TooLarge { .. } => Errno::FBIG,
            VolumeError::Store(StoreError::ReadOnly) => Errno::PERM,
            VolumeError::Store(StoreError::InUse(_)) => Errno::BUSY,
            _ => Errno::IO,
        };
        Failure::new(errno, error)
    }
}

/// Opens the volume on the controller's namespace; its calls wait with the mode `completion`, as for
/// joulio_queue_create(). Each thread has a queue pair for the time of a call, as long as the controller has enough.
/// `flags`: 0, or JOULIO_VOLUME_FORMAT, and JOULIO_VOLUME_OVERWRITE with it; the controller was opened with
/// JOULIO_ALLOW_WRITE then. One volume of a controller that may be written is open at a time (EBUSY). The controller
/// may be closed before the volume. NULL: joulio_error() says why: without a volume on the namespace and without
/// JOULIO_VOLUME_FORMAT, for example.
///
/// # Safety
/// `controller` is NULL or a controller, `completion` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_open(
    controller: *mut joulio_controller,
    completion: *const c_char,
    flags: c_uint,
) -> *mut joulio_volume {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        // SAFETY: by the caller.
        let policy = unsafe { policies(completion) }?;
        let (format, overwrite) = formats(flags)?;
        let may_write = controller.may_write();
        if format && !may_write {
            return Err(Failure::new(
                Errno::PERM,
                "a volume can be made only on a controller that was opened with JOULIO_ALLOW_WRITE",
            ));
        }
        let store = controller.opened().store(policy, may_write);
        let store = store.map_err(|error| Failure::new(Errno::NODEV, error))?;
        if format {
            let options = FormatOptions {
                overwrite,
                ..FormatOptions::default()
            };
            match Volume::format(&store, options) {
                Err(VolumeError::AlreadyAVolume) => {}
                made => made?,
            }
        }
        Ok(handle::make(Volume::open(store)?))
    })
}

/// Returns whether to make a volume, and whether to overwrite one.
fn formats(flags: c_uint) -> Result<(bool, bool), Failure> {
    let (format, overwrite) = (
        flags & JOULIO_VOLUME_FORMAT != 0,
        flags & JOULIO_VOLUME_OVERWRITE != 0,
    );
    let known = JOULIO_VOLUME_FORMAT | JOULIO_VOLUME_OVERWRITE;
    if flags & !known != 0 || (overwrite && !format) {
        let text = format!(
            "flags {flags:#x}: 0, JOULIO_VOLUME_FORMAT, or that and JOULIO_VOLUME_OVERWRITE{}",
            match flags & JOULIO_ALLOW_WRITE {
                0 => "",
                _ => "; JOULIO_ALLOW_WRITE is joulio_open()'s",
            }
        );
        return Err(Failure::new(Errno::INVAL, text));
    }
    Ok((format, overwrite))
}

/// Closes the volume; NULL is allowed. Data that was not synced may be lost. Its files may still be used and closed
/// later; it stays open, and cannot be opened again, until the last of them is closed. Returns 0, or a negative errno.
///
/// # Safety
/// `volume` is NULL or a volume that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_close(volume: *mut joulio_volume) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(volume) }?);
        Ok(0)
    })
}

/// Makes all data and changes until now durable. Returns 0, or a negative errno.
///
/// # Safety
/// `volume` is NULL or a volume.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_sync(volume: *mut joulio_volume) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        unsafe { handle::share(volume) }?.sync()?;
        Ok(0)
    })
}

/// Writes the size in bytes of the file `name` to `*size`, unless that is NULL. 0, or a negative errno:
/// -ENOENT: there is no such file.
///
/// # Safety
/// `volume` is NULL or a volume, `name` is NULL or a C string, `size` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_stat(
    volume: *mut joulio_volume,
    name: *const c_char,
    size: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        // SAFETY: by the caller.
        let bytes = volume.size_of(unsafe { text(name, "name") }?)?;
        if !size.is_null() {
            // SAFETY: by the caller.
            unsafe { size.write(bytes) };
        }
        Ok(0)
    })
}

/// Removes the file `name`, durably. Open handles can be used until they are closed. Returns 0, or a negative errno.
///
/// # Safety
/// `volume` is NULL or a volume, `name` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_remove(
    volume: *mut joulio_volume,
    name: *const c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        // SAFETY: by the caller.
        volume.remove(unsafe { text(name, "name") }?)?;
        Ok(0)
    })
}

/// Renames the file `from` to `to`, atomically and durably; a file that had the name is removed. Returns 0, or a
/// negative errno.
///
/// # Safety
/// `volume` is NULL or a volume, `from` and `to` are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_rename(
    volume: *mut joulio_volume,
    from: *const c_char,
    to: *const c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        // SAFETY: by the caller.
        let names = unsafe { (text(from, "from")?, text(to, "to")?) };
        volume.rename(names.0, names.1)?;
        Ok(0)
    })
}

/// Calls `each` with `context` and every name that begins with `prefix`, in order; NULL is all names. It may
/// call other functions of the volume. It has to return: neither longjmp(3) nor an exception leaves it. Number of names,
/// or a negative errno.
///
/// # Safety
/// `volume` is NULL or a volume, `prefix` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_names(
    volume: *mut joulio_volume,
    prefix: *const c_char,
    each: Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char)>,
    context: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        let prefix = match prefix.is_null() {
            true => "",
            // SAFETY: by the caller.
            false => unsafe { text(prefix, "prefix") }?,
        };
        let each = each.ok_or_else(|| Failure::null("each"))?;
        let names = volume.names(prefix);
        for name in &names {
            let name = CString::new(name.as_str()).unwrap_or_default();
            // SAFETY: the caller's own function, with the caller's own context.
            unsafe { each(context, name.as_ptr()) };
        }
        Ok(c_int::try_from(names.len()).unwrap_or(c_int::MAX))
    })
}

/// Writes the bytes in all units of the volume to `*total` and those in free ones to `*free_`, unless
/// these are NULL. Units of removed and shortened files are free from the next joulio_volume_sync() on. 0, or a negative
/// errno.
///
/// # Safety
/// `volume` is NULL or a volume, `total` and `free_` are NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_space(
    volume: *mut joulio_volume,
    total: *mut u64,
    free_: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let space = unsafe { handle::share(volume) }?.space();
        for (to, bytes) in [(total, space.total), (free_, space.free)] {
            if !to.is_null() {
                // SAFETY: by the caller.
                unsafe { to.write(bytes) };
            }
        }
        Ok(0)
    })
}

/// Stores the counts of the volume's queue pairs, except those that threads use at the moment, in `*counters`. Returns
/// 0, or a negative errno.
///
/// # Safety
/// `volume` is NULL or a volume; `counters` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_volume_counters(
    volume: *mut joulio_volume,
    counters: *mut joulio_counters,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        if counters.is_null() {
            return Err(Failure::null("counters"));
        }
        let counted = volume.store().counters().into();
        // SAFETY: by the caller.
        unsafe { counters.write(counted) };
        Ok(0)
    })
}
