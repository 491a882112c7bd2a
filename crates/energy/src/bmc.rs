//! Readings of the whole machine from its board management controller (BMC).

#[cfg(feature = "redfish")]
pub(crate) mod client;
mod credentials;
mod ipmi;
#[cfg(feature = "redfish")]
mod netrc;
mod redfish;
pub(crate) mod url;

pub(crate) use credentials::CREDENTIALS;
pub(crate) use ipmi::allow as allow_ipmi;
pub use url::{RedfishUrl, RedfishUrlError};

use crate::finding::Found;
use crate::root::Root;
use crate::select::Select;

/// Replacement of the client in a build without one.
#[cfg(not(feature = "redfish"))]
pub(crate) mod client {
    use std::io;

    /// Client that cannot fetch.
    #[derive(Debug, Default)]
    pub(crate) struct Client;

    impl Client {
        pub(crate) fn get(&self, _: &str) -> io::Result<Vec<u8>> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "joulio was built without the feature redfish",
            ))
        }
    }
}

/// Finds the BMC over IPMI, and those whose URLs are given.
pub(crate) fn discover(root: &Root, select: &Select) -> Vec<Found> {
    let mut found = vec![ipmi::discover(root)];
    found.extend(redfish::discover(root, select));
    found
}
