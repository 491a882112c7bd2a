//! Parts of a change that are not put back, because they are somebody else's by now.

use std::fmt;

/// Part of a change that was left as it is, because somebody else has changed it since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftAlone {
    /// System that was started anew: the kernel has forgotten the change.
    Restarted,
    /// Device that was removed, and with it the change.
    Removed {
        /// Path of the file, below the root.
        file: String,
    },
    /// Name that another device, or the same that came again, has now.
    Another {
        /// Path of the file, below the root.
        file: String,
    },
    /// Value that somebody else has changed since.
    Foreign {
        /// Path of the file, below the root.
        file: String,
        /// Value that it has.
        now: String,
        /// Value before the change.
        old: String,
        /// Value that it was set to.
        new: String,
    },
    /// Value that the change may have reset, where the change itself was undone by somebody else.
    Beside {
        /// Path of the file, below the root.
        file: String,
        /// Value that it has.
        now: String,
        /// Value before the change.
        old: String,
    },
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftAlone::Restarted => {
                f.write_str("the system has been restarted since, which undid the change")
            }
            LeftAlone::Removed { file } => {
                write!(f, "/{file}: its device was removed, and the change with it")
            }
            LeftAlone::Another { file } => {
                write!(
                    f,
                    "/{file}: another device has that name now: nothing is changed"
                )
            }
            LeftAlone::Foreign {
                file,
                now,
                old,
                new,
            } => write!(
                f,
                "/{file}: {now} now, neither {old} as before nor {new} as set: somebody else has changed it, and nothing is put back"
            ),
            LeftAlone::Beside { file, now, old } => write!(
                f,
                "/{file}: {now} now, {old} before: somebody else has changed it, and nothing is put back"
            ),
        }
    }
}
