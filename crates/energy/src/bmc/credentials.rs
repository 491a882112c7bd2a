//! Credentials of a BMC.

/// Advice on giving credentials, which a command line would show to everyone on the machine.
pub(crate) const CREDENTIALS: &str =
    "set JOULIO_REDFISH_USER and JOULIO_REDFISH_PASSWORD, or name the host in ~/.netrc";
