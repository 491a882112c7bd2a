//! Finds a profile by a built-in name, or by the path of a `.toml` file.

use std::fs;
use std::io;

use serde::de::DeserializeOwned;

use crate::ProfileError;
use joulio_units::nearest;

/// A kind of profile that is loaded by name or by path.
pub(crate) trait Profile: DeserializeOwned {
    /// The name of this kind in an error message: `device` or `machine`.
    const WHAT: &'static str;
    /// The built-in names with their texts, in the order in which they are listed.
    const BUILTIN: &'static [(&'static str, &'static str)];

    /// Refuses a profile with invalid numbers.
    fn check(&self, origin: &str) -> Result<(), ProfileError>;
}

/// Parses the profile in `text`, which came from `origin`.
pub(crate) fn parse<P: Profile>(text: &str, origin: &str) -> Result<P, ProfileError> {
    let profile: P = toml::from_str(text).map_err(|error| {
        let before = error
            .span()
            .map_or("", |span| &text[..span.start.min(text.len())]);
        ProfileError::Syntax {
            origin: origin.to_owned(),
            line: before.matches('\n').count() + 1,
            problem: problem(error.message()),
        }
    })?;
    profile.check(origin)?;
    Ok(profile)
}

/// Old names of fields in older profiles, with their present names.
const RENAMED: [(&str, &str); 2] = [("look_ns", "poll_ns"), ("cold_most_ns", "cold_max_ns")];

/// Returns `message` in one line, or, for an old name of a field, the present name.
fn problem(message: &str) -> String {
    for (old, new) in RENAMED {
        if message.starts_with(&format!("unknown field `{old}`")) {
            return format!("the field `{old}` is called `{new}` now: rename it");
        }
    }
    message.lines().collect::<Vec<_>>().join("; ")
}

/// Returns the built-in profile `name`.
pub(crate) fn builtin<P: Profile>(name: &str) -> Result<P, ProfileError> {
    let Some((_, text)) = P::BUILTIN.iter().find(|(known, _)| *known == name) else {
        return Err(ProfileError::Unknown {
            what: P::WHAT,
            name: name.to_owned(),
            near: nearest(name, names::<P>()).map(str::to_owned),
            known: names::<P>().collect::<Vec<_>>().join(", "),
        });
    };
    parse(text, name)
}

/// Returns the built-in profile of that name, or the one in the file if the name ends in `.toml`.
pub(crate) fn load<P: Profile>(name_or_path: &str) -> Result<P, ProfileError> {
    if !name_or_path.ends_with(".toml") {
        return builtin(name_or_path);
    }
    parse(&text_of(name_or_path)?, name_or_path)
}

/// Largest size of a file in bytes, many times that of any profile.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Reads the file at `path`; refuses one that is too large or not regular, since a device or a pipe may never end.
pub(crate) fn text_of(path: &str) -> Result<String, ProfileError> {
    let read = || {
        let meta = fs::metadata(path)?;
        let refuse = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if !meta.is_file() {
            return refuse("not a regular file");
        }
        if meta.len() > MAX_FILE_BYTES {
            return refuse("too large for a profile");
        }
        fs::read_to_string(path)
    };
    read().map_err(|source| ProfileError::Unreadable {
        path: path.into(),
        source,
    })
}

/// Returns the names of the built-in profiles.
pub(crate) fn names<P: Profile>() -> impl Iterator<Item = &'static str> {
    P::BUILTIN.iter().map(|(name, _)| *name)
}
