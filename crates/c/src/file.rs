//! Files of volumes.

use crate::controller::text;
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::volume::{Store, joulio_volume};
use ::joulio_volume::{FileRead, StartedFileRead, VolumeFile};
use rustix::io::Errno;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Flag: creates the file if it does not exist.
pub const JOULIO_FILE_CREATE: c_uint = 1;

/// Flag, with JOULIO_FILE_CREATE: fails with -EEXIST if the file exists.
pub const JOULIO_FILE_EXCLUSIVE: c_uint = 2;

/// An open file of a volume. Threads may use one handle at once: reads go side by side, writes one after
/// the other.
pub struct joulio_file {
    _private: [u8; 0],
}

impl Handle for joulio_file {
    type Value = VolumeFile<Store>;
    const NAME: &'static str = "file";
    const MARK: u64 = u64::from_le_bytes(*b"jlFile..");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// A read that was started. It may be used by another thread than the one that started it, and after its file was
/// closed.
pub struct joulio_started_read {
    _private: [u8; 0],
}

impl Handle for joulio_started_read {
    type Value = StartedFileRead<Store>;
    const NAME: &'static str = "started";
    const MARK: u64 = u64::from_le_bytes(*b"jlRead..");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// Memory of a C program that a started read fills.
struct CallersMemory {
    start: *mut u8,
    length: usize,
}

// SAFETY: by the caller of joulio_file_read_start(), nobody else uses the memory while the read has it.
unsafe impl Send for CallersMemory {}

impl AsMut<[u8]> for CallersMemory {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: by the caller of joulio_file_read_start(), the memory has room for so many bytes, and nobody else
        // uses it; the read drops this value before its end is reported.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// One of several reads.
#[repr(C)]
pub struct joulio_file_part {
    /// Bytes from the start of the file to the first byte.
    pub offset: u64,
    /// Memory for the bytes.
    pub into: *mut c_void,
    /// Bytes that `into` has room for.
    pub length: usize,
    /// Bytes that were read: fewer than `length` only at the end of the file.
    pub done: usize,
}

/// Opens the file `name` of the volume. `flags`: 0, JOULIO_FILE_CREATE, or that and JOULIO_FILE_EXCLUSIVE.
/// NULL: joulio_error() says why.
///
/// # Safety
/// `volume` is NULL or a volume, `name` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_open(
    volume: *mut joulio_volume,
    name: *const c_char,
    flags: c_uint,
) -> *mut joulio_file {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let volume = unsafe { handle::share(volume) }?;
        // SAFETY: by the caller.
        let name = unsafe { text(name, "name") }?;
        let file = match flags {
            0 => volume.open_file(name),
            JOULIO_FILE_CREATE => volume.open_or_create(name),
            _ if flags == JOULIO_FILE_CREATE | JOULIO_FILE_EXCLUSIVE => volume.create(name),
            _ => {
                let text = format!(
                    "flags {flags:#x}: 0, JOULIO_FILE_CREATE, or that and JOULIO_FILE_EXCLUSIVE"
                );
                return Err(Failure::new(Errno::INVAL, text));
            }
        };
        Ok(handle::make(file?))
    })
}

/// Closes the file; NULL is allowed. 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_close(file: *mut joulio_file) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(file) }?);
        Ok(0)
    })
}

/// Makes a slice of the caller's memory, to write to.
///
/// # Safety
/// `into` is NULL or has room for `length` bytes.
unsafe fn memory<'a>(into: *mut c_void, length: usize) -> Result<&'a mut [u8], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    if into.is_null() {
        return Err(Failure::null("into"));
    }
    // SAFETY: by the caller.
    Ok(unsafe { std::slice::from_raw_parts_mut(into.cast(), length) })
}

/// Makes a slice of the caller's memory, to read.
///
/// # Safety
/// `from` is NULL or has `length` bytes.
unsafe fn data<'a>(from: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(Failure::null("from"));
    }
    // SAFETY: by the caller.
    Ok(unsafe { std::slice::from_raw_parts(from.cast(), length) })
}

/// Reads `length` bytes at `offset` into `into`, and writes their number to `*done`, unless that is NULL:
/// fewer only at the end of the file. 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file, `into` has room for `length` bytes, `done` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_read(
    file: *mut joulio_file,
    offset: u64,
    into: *mut c_void,
    length: usize,
    done: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let file = unsafe { handle::share(file) }?;
        // SAFETY: by the caller.
        let read = file.read_at(offset, unsafe { memory(into, length) }?)?;
        if !done.is_null() {
            // SAFETY: by the caller.
            unsafe { done.write(read) };
        }
        Ok(0)
    })
}

/// Executes `count` reads side by side, and stores in each the number of bytes read. Returns 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file, `parts` has `count` of them, and their memory does not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_read_many(
    file: *mut joulio_file,
    parts: *mut joulio_file_part,
    count: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let file = unsafe { handle::share(file) }?;
        if count == 0 {
            return Ok(0);
        }
        if parts.is_null() {
            return Err(Failure::null("parts"));
        }
        // SAFETY: by the caller.
        let parts = unsafe { std::slice::from_raw_parts_mut(parts, count) };
        let mut reads = Vec::with_capacity(count);
        for part in &*parts {
            reads.push(FileRead {
                offset: part.offset,
                // SAFETY: by the caller.
                into: unsafe { memory(part.into, part.length) }?,
                done: 0,
            });
        }
        file.read_many(&mut reads)?;
        let done: Vec<usize> = reads.iter().map(|read| read.done).collect();
        for (part, done) in parts.iter_mut().zip(done) {
            part.done = done;
        }
        Ok(0)
    })
}

/// Starts to read `length` bytes at `offset` into `into`, and returns before the device has ended, so that a thread can
/// have several reads in flight. joulio_file_read_wait() or joulio_file_read_cancel() ends the read; `into` stays valid
/// and unused until then. Bytes that are written or truncated meanwhile are undefined. NULL: joulio_error() says why.
///
/// # Safety
/// `file` is NULL or a file, `into` has room for `length` bytes until the read has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_read_start(
    file: *mut joulio_file,
    offset: u64,
    into: *mut c_void,
    length: usize,
) -> *mut joulio_started_read {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let file = unsafe { handle::share(file) }?;
        // SAFETY: by the caller.
        let start = unsafe { memory(into, length) }?.as_mut_ptr();
        let into = CallersMemory { start, length };
        Ok(handle::make(file.start_read(offset, Box::new(into))?))
    })
}

/// Waits for a read, ends it, and writes the number of bytes read to `*done`, unless that is NULL: fewer only at the
/// end of the file. 0, or a negative errno; the read has ended in any case.
///
/// # Safety
/// `started` is NULL or a started read, `done` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_read_wait(
    started: *mut joulio_started_read,
    done: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let started = unsafe { handle::end(started) }?;
        let started = started.ok_or_else(|| Failure::null("started"))?;
        let (_, read) = started.finish()?;
        if !done.is_null() {
            // SAFETY: by the caller.
            unsafe { done.write(read) };
        }
        Ok(0)
    })
}

/// Ends a read without waiting for the device; NULL is allowed. Nothing is written to its memory after the return: the
/// device's data arrives in buffers of the volume's own, and is dropped. 0, or a negative errno.
///
/// # Safety
/// `started` is NULL or a started read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_read_cancel(started: *mut joulio_started_read) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(started) }?);
        Ok(0)
    })
}

/// Writes `length` bytes of `from` at `offset`; a gap before it becomes zeroes. 0, or a negative errno:
/// -ENOSPC: the volume is full.
///
/// # Safety
/// `file` is NULL or a file, `from` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_write(
    file: *mut joulio_file,
    offset: u64,
    from: *const c_void,
    length: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let file = unsafe { handle::share(file) }?;
        // SAFETY: by the caller.
        file.write_at(offset, unsafe { data(from, length) }?)?;
        Ok(0)
    })
}

/// Writes `length` bytes of `from` at the end, and their offset to `*offset`, unless that is NULL. 0, or a
/// negative errno.
///
/// # Safety
/// `file` is NULL or a file, `from` has `length` bytes, `offset` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_append(
    file: *mut joulio_file,
    from: *const c_void,
    length: usize,
    offset: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let file = unsafe { handle::share(file) }?;
        // SAFETY: by the caller.
        let at = file.append(unsafe { data(from, length) }?)?;
        if !offset.is_null() {
            // SAFETY: by the caller.
            unsafe { offset.write(at) };
        }
        Ok(0)
    })
}

/// Sets the file's size to `size` bytes: data beyond it is lost, new bytes are zeroes. Returns 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_truncate(file: *mut joulio_file, size: u64) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        unsafe { handle::share(file) }?.truncate(size)?;
        Ok(0)
    })
}

/// Makes the file's data, name and size durable. Returns 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_sync(file: *mut joulio_file) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        unsafe { handle::share(file) }?.sync()?;
        Ok(0)
    })
}

/// Writes the size in bytes to `*size`. 0, or a negative errno.
///
/// # Safety
/// `file` is NULL or a file, `size` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_file_size(file: *mut joulio_file, size: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let bytes = unsafe { handle::share(file) }?.size();
        if size.is_null() {
            return Err(Failure::null("size"));
        }
        // SAFETY: by the caller.
        unsafe { size.write(bytes) };
        Ok(0)
    })
}
