//! Parts of a change that are not restored, because somebody else has changed them since.

use std::fmt;

/// Reason why a part of a change was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftAlone {
    /// The system was restarted: the kernel has forgotten the change.
    Restarted,
    /// The device was removed, and with it the change.
    Removed {
        /// Path of the file, below the root.
        file: String,
    },
    /// Another device has the name now, or the same one that was removed and added again.
    Another {
        /// Path of the file, below the root.
        file: String,
    },
    /// Somebody else has changed the value since.
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
    /// The change may have reset the value, but somebody else has undone the change itself.
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
                f.write_str("the system has been restarted since, which ended the change")
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
                "/{file}: {now} now, neither {old} as before nor {new} as set: somebody else has changed it, and nothing is restored"
            ),
            LeftAlone::Beside { file, now, old } => write!(
                f,
                "/{file}: {now} now, {old} before: somebody else has changed it, and nothing is restored"
            ),
        }
    }
}
