//! The first message: the version and the limits of each side.

use super::connection::MAX_FDS;
use super::options::ServeOptions;
use joulio_vfio_user_wire::{MAJOR, MAX_DATA, MINOR, Version};
use rustix::io::Errno;
use serde_json::{Value, json};
use zerocopy::{FromBytes, IntoBytes};

/// Longest version message in bytes: its JSON has a handful of figures.
const MAX_BODY: usize = 8192;

/// Answers a host's version with ours, unless they are incompatible.
pub(super) fn negotiate(body: &[u8], options: &ServeOptions) -> Result<Vec<u8>, Errno> {
    let (theirs, json) = Version::read_from_prefix(body).map_err(|_| Errno::INVAL)?;
    if theirs.major != MAJOR {
        return Err(Errno::PROTONOSUPPORT);
    }
    if body.len() > MAX_BODY {
        return Err(Errno::INVAL);
    }
    check(json)?;
    let ours = Version {
        major: MAJOR,
        minor: theirs.minor.min(MINOR),
    };
    let capabilities = json!({
        "capabilities": {
            "max_msg_fds": MAX_FDS,
            "max_data_xfer_size": MAX_DATA,
            "max_dma_maps": options.max_regions,
            "pgsizes": 4096,
        }
    });
    let mut reply = ours.as_bytes().to_vec();
    reply.extend_from_slice(capabilities.to_string().as_bytes());
    reply.push(0);
    Ok(reply)
}

/// Checks the client's capabilities: none, or an object in JSON with a NUL behind it. This server need not follow any
/// of them: it sends one descriptor at a time, and only as much data as was requested.
fn check(json: &[u8]) -> Result<(), Errno> {
    let text = match json {
        [] | [0] => return Ok(()),
        [text @ .., 0] => text,
        _ => return Err(Errno::INVAL),
    };
    match serde_json::from_slice(text) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(Errno::INVAL),
    }
}
