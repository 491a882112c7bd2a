//! URL of a BMC's reading.

use super::CREDENTIALS;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// URL of a reading, `https://HOST[:PORT]/redfish/v1/...`; after `#` a JSON pointer to one reading of several:
/// `#/PowerControl/1`.
///
/// Plain http is allowed only for this machine, where a tunnel may end. Credentials must not be part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedfishUrl {
    url: String,
    host: String,
    pointer: Option<String>,
}

/// Error of a text that is not the URL of a reading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedfishUrlError {
    /// The text does not have the form of such a URL: write it as the message says.
    #[error("write redfish=https://HOST/redfish/v1/Chassis/ID/Power")]
    Form,
    /// The URL contains a password, which every user of the machine could read: put it elsewhere. The text is not
    /// repeated.
    #[error("a password on the command line is for all to see: {CREDENTIALS}")]
    Password,
    /// The URL is one of plain http to another machine: use https.
    #[error("{host}: a password does not go over plain http: use https")]
    PlainHttp {
        /// Host of the URL.
        host: String,
    },
    /// The text after `#` is not a JSON pointer: begin it with a slash.
    #[error("after # comes a JSON pointer: #/PowerControl/1")]
    Pointer,
}

impl RedfishUrl {
    /// Returns the URL without the pointer: the document to fetch.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the JSON pointer to one of the document's readings.
    pub(crate) fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    /// Returns the name of the meter.
    pub(crate) fn meter_name(&self) -> String {
        let pointer = self.pointer.as_deref().map(|p| format!("#{p}"));
        let (_, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        format!("redfish:{rest}{}", pointer.unwrap_or_default())
    }
}

impl FromStr for RedfishUrl {
    type Err = RedfishUrlError;

    fn from_str(text: &str) -> Result<RedfishUrl, RedfishUrlError> {
        // The text may come from a file: it must not contain control characters for a terminal or a server.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(RedfishUrlError::Form);
        }
        let (url, pointer) = match text.split_once('#') {
            Some((url, pointer)) => (url, Some(pointer.to_owned())),
            None => (text, None),
        };
        let (scheme, rest) = url.split_once("://").ok_or(RedfishUrlError::Form)?;
        let (authority, path) = rest.split_once('/').ok_or(RedfishUrlError::Form)?;
        if authority.contains('@') {
            return Err(RedfishUrlError::Password);
        }
        let host = host(authority)
            .filter(|host| !host.is_empty())
            .ok_or(RedfishUrlError::Form)?;
        match scheme {
            _ if path.is_empty() => Err(RedfishUrlError::Form),
            "https" => Ok(()),
            "http" if is_loopback(host) => Ok(()),
            "http" => Err(RedfishUrlError::PlainHttp { host: host.into() }),
            _ => Err(RedfishUrlError::Form),
        }?;
        if pointer
            .as_deref()
            .is_some_and(|pointer| !pointer.starts_with('/'))
        {
            return Err(RedfishUrlError::Pointer);
        }
        Ok(RedfishUrl {
            url: url.to_owned(),
            host: host.to_owned(),
            pointer,
        })
    }
}

/// Returns the host of `authority`, without port and brackets.
pub(super) fn host(authority: &str) -> Option<&str> {
    match authority.strip_prefix('[') {
        Some(six) => Some(six.split_once(']')?.0),
        None => Some(
            authority
                .split_once(':')
                .map_or(authority, |(host, _)| host),
        ),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl fmt::Display for RedfishUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_pointer() {
        let url: RedfishUrl = "https://bmc.example:8443/redfish/v1/Chassis/1/Power#/PowerControl/1"
            .parse()
            .unwrap();
        assert_eq!(
            url.url(),
            "https://bmc.example:8443/redfish/v1/Chassis/1/Power"
        );
        assert_eq!(
            (url.pointer(), url.host.as_str()),
            (Some("/PowerControl/1"), "bmc.example")
        );
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        let said = "https://root:calvin@bmc/redfish/v1/x"
            .parse::<RedfishUrl>()
            .unwrap_err()
            .to_string();
        assert!(said.contains("netrc") && !said.contains("calvin"), "{said}");
    }

    #[test]
    fn plain_http_only_reaches_this_machine() {
        for url in [
            "http://127.0.0.1:1/a",
            "http://[::1]:1/a",
            "http://localhost/a",
        ] {
            assert!(url.parse::<RedfishUrl>().is_ok(), "{url}");
        }
        for url in [
            "http://bmc/a",
            "http://127.0.0.1.example/a",
            "ftp://bmc/a",
            "bmc/a",
            "https:///a",
            "https://bmc",
            "https://bmc/",
            "https://b\tmc/a",
            "https://bmc/a#1",
        ] {
            assert!(url.parse::<RedfishUrl>().is_err(), "{url}");
        }
    }
}
