//! Files that others read while they are written anew.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Puts a file with `text` in the place of `path`, for everybody to read: whatever happens, and
/// whenever it is read, one of both is there whole. The new one is made in the same folder, under
/// a name that ends in `.new`.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let mut new = tempfile::Builder::new()
        .prefix(&name)
        .suffix(".new")
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    // Whatever the umask: it is not its writer who reads it.
    new.as_file()
        .set_permissions(Permissions::from_mode(0o644))?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}
