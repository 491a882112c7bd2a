//! Files of /proc and /sys, with one value each.

use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file tree of a system.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn at(root: impl Into<PathBuf>) -> Tree {
        Tree { root: root.into() }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    /// Reads the text of a file, without surrounding white space.
    pub(crate) fn text(&self, file: &str) -> io::Result<String> {
        Ok(fs::read_to_string(self.path(file))?.trim().into())
    }

    /// Reads the value in a file: of several words the one in brackets.
    pub(crate) fn value(&self, file: &str) -> io::Result<String> {
        Ok(chosen(&self.text(file)?).into())
    }

    /// Writes a value, in one call.
    pub(crate) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(self.path(file))?;
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// Returns the inode number of the directory that a file is in. The kernel gives each directory of /sys a new one:
    /// a device that was removed and added again has another.
    pub(crate) fn folder(&self, file: &str) -> io::Result<u64> {
        let path = self.path(file);
        let folder = path.parent().unwrap_or(Path::new("/"));
        Ok(fs::metadata(folder)?.ino())
    }

    /// Returns the identity of the present boot; `None` if the kernel has none.
    pub(crate) fn boot(&self) -> Option<String> {
        self.text("proc/sys/kernel/random/boot_id").ok()
    }

    /// Lists the names in a directory, sorted; none if it does not exist.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Lists the numbers of the names in a directory that are `prefix` and a number, in order.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(folder);
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Returns the word in brackets, or all of the text.
fn chosen(text: &str) -> &str {
    let words = text.split_ascii_whitespace();
    let mut chosen = words.filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    // No name has brackets of its own: written back, it would not read as it was.
    chosen
        .find(|name| !name.contains(['[', ']']))
        .unwrap_or(text)
}

/// Whether the error means that the file's device is gone, or the file does not exist.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let code = Errno::from_io_error(error);
    error.kind() == ErrorKind::NotFound || matches!(code, Some(Errno::NODEV) | Some(Errno::NXIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_words_the_one_in_brackets_is_the_value() {
        for (text, value) in [
            ("[none] mq-deadline kyber bfq", "none"),
            ("none mq-deadline [bfq]", "bfq"),
            ("none", "none"),
            ("[[]]", "[[]]"),
            ("-1", "-1"),
            ("", ""),
            ("[", "["),
        ] {
            assert_eq!(chosen(text), value);
        }
    }
}
