//! Controllers: opening a device by its name.

use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::opened::{AnyController, of, open};
use crate::options::{joulio_options, read_options};
use joulio_device::Device;
use joulio_lab::DeviceName;
use joulio_nvme::{Controller, ControllerOptions};
use rustix::io::Errno;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// Flag that permits commands that write to the namespace: without it they fail with -EPERM.
pub const JOULIO_ALLOW_WRITE: c_uint = 1;

/// A controller with one of its namespaces.
pub struct joulio_controller {
    _private: [u8; 0],
}

impl Handle for joulio_controller {
    type Value = OpenController;
    const NAME: &'static str = "controller";
    const MARK: u64 = u64::from_le_bytes(*b"jlCtrlr.");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// State behind a controller's handle.
pub(crate) struct OpenController {
    opened: Box<dyn AnyController>,
    may_write: bool,
}

impl OpenController {
    pub(crate) fn opened(&self) -> &dyn AnyController {
        &*self.opened
    }

    pub(crate) fn may_write(&self) -> bool {
        self.may_write
    }
}

/// A namespace, and what one command to it can move.
#[repr(C)]
pub struct joulio_namespace {
    /// Namespace identifier.
    pub nsid: u32,
    /// Bytes of a logical block.
    pub block_size: u32,
    /// Size in logical blocks.
    pub blocks: u64,
    /// Most bytes that one command can transfer.
    pub max_transfer: u32,
}

/// Reads the text of a C string.
///
/// # Safety
/// `text` is NULL or a C string.
pub(crate) unsafe fn text<'a>(text: *const c_char, argument: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map_err(|_| Failure::new(Errno::INVAL, format_args!("{argument} is not UTF-8")))
}

/// Opens a device: "emulated:optane-900p", "pcie:0000:01:00.0" or "vfio-user:/run/nvme.sock", with
/// parameters as the command's --device takes them, and resets it. `queues`: queue pairs that will be
/// made, at least 1; the controller may give fewer. `flags`: 0 or JOULIO_ALLOW_WRITE. NULL:
/// joulio_error() says why.
///
/// # Safety
/// `device` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_open(
    device: *const c_char,
    queues: c_uint,
    flags: c_uint,
) -> *mut joulio_controller {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let name = unsafe { named(device, flags) }?;
        let queues = u16::try_from(queues).ok().filter(|&queues| queues > 0);
        let Some(queues) = queues else {
            return Err(Failure::new(
                Errno::INVAL,
                "queues is out of range: 1 to 65535",
            ));
        };
        let how = ControllerOptions {
            queues,
            ..ControllerOptions::default()
        };
        open_named(&name, how, flags)
    })
}

/// Opens a device as joulio_open() does, with `options`; NULL: all defaults. Returns NULL on failure, see
/// joulio_error().
///
/// # Safety
/// `device` is NULL or a C string; `options` is NULL or has as many bytes as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_open_with(
    device: *const c_char,
    flags: c_uint,
    options: *const joulio_options,
) -> *mut joulio_controller {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let name = unsafe { named(device, flags) }?;
        // SAFETY: by the caller.
        let how = unsafe { read_options(options) }?;
        open_named(&name, how, flags)
    })
}

/// Parses the name of a device that is to be opened with `flags`.
///
/// # Safety
/// `device` is NULL or a C string.
unsafe fn named(device: *const c_char, flags: c_uint) -> Result<DeviceName, Failure> {
    // SAFETY: by the caller.
    let device = unsafe { text(device, "device") }?;
    let name: DeviceName = device
        .parse()
        .map_err(|error| Failure::new(Errno::INVAL, error))?;
    match flags & !JOULIO_ALLOW_WRITE {
        0 => Ok(name),
        _ => {
            let text = format!("flags {flags:#x}: only JOULIO_ALLOW_WRITE is known");
            Err(Failure::new(Errno::INVAL, text))
        }
    }
}

/// Opens a device with checked `flags`, and makes its handle.
fn open_named(
    name: &DeviceName,
    how: ControllerOptions,
    flags: c_uint,
) -> Result<*mut joulio_controller, Failure> {
    let opened = open(name, how).map_err(|error| Failure::new(Errno::NODEV, error))?;
    Ok(handle::make(OpenController {
        opened,
        may_write: flags & JOULIO_ALLOW_WRITE != 0,
    }))
}

/// Opens another namespace of the same controller: a handle with which queues for it are made, and which is closed
/// with joulio_close(), before `controller` or after it. It permits writes if `controller` does. Buffers and arenas of
/// either handle serve both, and both share the controller's queue pairs. Identify by joulio_admin() lists the
/// namespaces (CNS 02h). Returns NULL on failure, see joulio_error(): the namespace does not exist, or has a format
/// that joulio does not support.
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_namespace_open(
    controller: *mut joulio_controller,
    nsid: u32,
) -> *mut joulio_controller {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        let opened = controller.opened().with_namespace(nsid);
        let opened = opened.map_err(|error| Failure::new(Errno::NODEV, error))?;
        Ok(handle::make(OpenController {
            opened,
            may_write: controller.may_write(),
        }))
    })
}

/// Makes a handle of an open controller, for the example that counts the cost of C.
///
/// # Panics
/// When it has no namespace 1.
#[doc(hidden)]
pub fn controller_of<D: Device>(controller: Controller<D>) -> *mut joulio_controller {
    handle::make(OpenController {
        opened: of(controller, 1).expect("a namespace"),
        may_write: false,
    })
}

/// Closes the controller; NULL is allowed. Its queues, buffers and other namespaces may be closed later: the device is
/// shut down with the last of them. Returns 0, or a negative errno: it is not a controller, or closed already.
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_close(controller: *mut joulio_controller) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(controller) }?);
        Ok(0)
    })
}

/// Describes the controller's namespace in `*namespace_`. 0, or a negative errno.
///
/// # Safety
/// `controller` is NULL or a controller; `namespace_` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_namespace_info(
    controller: *const joulio_controller,
    namespace_: *mut joulio_namespace,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller.cast_mut()) }?;
        if namespace_.is_null() {
            return Err(Failure::null("namespace_"));
        }
        let namespace = controller.opened().namespace();
        let info = joulio_namespace {
            nsid: namespace.id().0,
            block_size: namespace.block_size(),
            blocks: namespace.blocks(),
            max_transfer: controller.opened().max_transfer(),
        };
        // SAFETY: by the caller.
        unsafe { namespace_.write(info) };
        Ok(0)
    })
}
