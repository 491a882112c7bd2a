//! Files that a user names, which may be endless.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Returns the text of the file `path`, of at most `max` bytes.
///
/// # Errors
/// The file cannot be read, is not valid text, or is longer.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > max {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("has more than {} KiB, the most that is read", max >> 10),
        )),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let refused = read_text(Path::new("/dev/zero"), 4096).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "has more than 4 KiB, the most that is read"
        );
    }

    #[test]
    fn a_text_of_just_so_many_bytes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a".repeat(4096)).unwrap();
        assert_eq!(read_text(&path, 4096).unwrap().len(), 4096);
        assert!(read_text(&path, 4095).is_err());
    }
}
