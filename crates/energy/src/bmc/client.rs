//! An HTTPS client that does not trust servers: no redirects, a short time limit, a limit on what it reads.

use super::netrc::{Login, login};
use super::url::host;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::env::{var, var_os};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Time limit of a whole request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a response: a reading has a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// A client whose connections stay open between readings.
#[derive(Debug, Default)]
pub(crate) struct Client {
    agent: OnceLock<Agent>,
}

impl Client {
    /// Fetches the body at `url`, which is from a [`RedfishUrl`](super::RedfishUrl).
    pub(crate) fn get(&self, url: &str) -> io::Result<Vec<u8>> {
        let agent = match self.agent.get() {
            Some(agent) => agent,
            None => {
                let agent = agent()?;
                self.agent.get_or_init(|| agent)
            }
        };
        let mut request = agent.get(url).header("accept", "application/json");
        if let Some(login) = credentials(url) {
            let pair = format!("{}:{}", login.user, login.password);
            request = request.header(
                "authorization",
                format!("Basic {}", BASE64_STANDARD.encode(pair)),
            );
        }
        let mut response = request.call().map_err(error)?;
        match response.status().as_u16() {
            200 => {}
            401 | 403 => return Err(io::ErrorKind::PermissionDenied.into()),
            404 => return Err(io::Error::other("HTTP status 404: no such resource")),
            status => return Err(io::Error::other(format!("HTTP status {status}"))),
        }
        let body = response.body_mut().with_config().limit(MAX_BYTES);
        body.read_to_vec().map_err(error)
    }
}

/// Changes the kinds of errors that callers take for a file that is gone; a connection that breaks off is made again.
fn error(error: ureq::Error) -> io::Error {
    use io::ErrorKind::{NotFound, UnexpectedEof};
    match error {
        ureq::Error::Io(error) if matches!(error.kind(), NotFound | UnexpectedEof) => {
            io::Error::other(error.to_string())
        }
        ureq::Error::Io(error) => error,
        ureq::Error::Timeout(_) => io::Error::new(io::ErrorKind::TimedOut, "no answer in 5 s"),
        other => io::Error::other(other.to_string()),
    }
}

fn agent() -> io::Result<Agent> {
    let config = Config::builder()
        .timeout_global(Some(PATIENCE))
        // A redirect would send the credentials elsewhere, and so would a proxy.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .http_status_as_error(false)
        .max_response_header_size(64 << 10)
        .user_agent("joulio")
        .tls_config(tls()?);
    Ok(config.build().new_agent())
}

/// Returns the TLS settings. BMCs sign their own certificates: `JOULIO_REDFISH_CA` names a file with those to trust;
/// `JOULIO_REDFISH_VERIFY=no` trusts any, for a network that is trusted itself.
fn tls() -> io::Result<TlsConfig> {
    let mut tls = TlsConfig::builder();
    if let Some(path) = var_os("JOULIO_REDFISH_CA") {
        tls = tls.root_certs(RootCerts::from(certificates(&PathBuf::from(path))?));
    }
    let verify = var("JOULIO_REDFISH_VERIFY").map_or(true, |said| said != "no");
    Ok(tls.disable_verification(!verify).build())
}

fn certificates(path: &PathBuf) -> io::Result<Vec<Certificate<'static>>> {
    let named =
        |why: String| io::Error::other(format!("JOULIO_REDFISH_CA={}: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|error| named(error.to_string()))?;
    let items = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = items.collect();
    match certificates.is_empty() {
        true => Err(named("no certificate in it".into())),
        false => Ok(certificates),
    }
}

/// Returns the login from the environment, or of the URL's host from netrc.
fn credentials(url: &str) -> Option<Login> {
    if let (Ok(user), Ok(password)) = (var("JOULIO_REDFISH_USER"), var("JOULIO_REDFISH_PASSWORD")) {
        return Some(Login { user, password });
    }
    let path = var_os("NETRC").map(PathBuf::from);
    let path = path.or_else(|| Some(PathBuf::from(var_os("HOME")?).join(".netrc")))?;
    let text = std::fs::read_to_string(path).ok()?;
    let uri: Uri = url.parse().ok()?;
    login(&text, host(uri.authority()?.as_str())?)
}
