//! HTTP server from which Prometheus fetches metrics: GET /metrics, and nothing else.
//!
//! Each client gets a thread, a request of limited size and a few seconds, and the number of clients is limited: a
//! client that sends nothing, or anything at all, does not delay others.

use super::text_format::text_format;
use httparse::{EMPTY_HEADER, Error, Request, Status};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Largest size of a request's head in bytes; Prometheus sends some 400.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// Largest number of lines of a request's head.
const HEADERS: usize = 64;
/// Time limit for a request and its answer.
const TIME: Duration = Duration::from_secs(5);
/// Largest number of clients at a time.
const CLIENTS: usize = 16;
/// Time to wait if the system has no descriptor for another client.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Media type of the page (OpenMetrics 1.0), for clients that accept it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Media type of the page for all other clients (Prometheus' text format 0.0.4).
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Address and port at which metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(SocketAddr);

/// Error for text that is not an address to listen at.
#[derive(Debug, thiserror::Error)]
#[error("not [ADDRESS:]PORT, such as 9409, 0.0.0.0:9409 or [::]:9409")]
pub struct ListenAddressError;

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<ListenAddress, ListenAddressError> {
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        let address = match port.parse() {
            Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            Err(_) => text.parse().map_err(|_| ListenAddressError)?,
        };
        Ok(ListenAddress(address))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Page that is served to every client.
type Page = RwLock<Arc<str>>;

/// A server of metrics, which stops when it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    page: Arc<Page>,
    ended: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves an empty page at `address`; port 0 stands for any free port.
    ///
    /// # Errors
    /// The address is not this machine's, or another program uses the port.
    pub fn begin(address: ListenAddress) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address.0)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let page = Arc::new(Page::new("# EOF\n".into()));
        let ended = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (of_all, until) = (Arc::clone(&page), Arc::clone(&ended));
        let thread = Builder::new().name("joulio-metrics".into());
        let thread = thread.spawn(move || serve(&listener, &of_all, &until))?;
        Ok(MetricsServer {
            address,
            page,
            ended,
            thread: Some(thread),
        })
    }

    /// Returns the address and port at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the served page with `text`.
    pub fn publish(&self, text: &str) {
        *self.page.write().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // A write of 1 to an eventfd that is zero does not fail.
        let _ = rustix::io::write(&self.ended, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves `page` until `ended` becomes readable.
fn serve(listener: &TcpListener, page: &Arc<Page>, ended: &OwnedFd) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        let wait = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut both = [wait(listener.as_fd()), wait(ended.as_fd())];
        if poll(&mut both, None).is_ok() && !both[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => hand_over(stream, page, &clients),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => sleep(EXHAUSTED),
            },
        }
    }
}

/// A client that is being served; it is counted while this value exists.
struct Client(Arc<AtomicUsize>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts a thread for the client at `stream`, or refuses it if there are too many.
fn hand_over(stream: TcpStream, page: &Arc<Page>, clients: &Arc<AtomicUsize>) {
    let before = clients.fetch_add(1, Ordering::Relaxed);
    let client = Client(Arc::clone(clients));
    if before >= CLIENTS {
        // The send buffer of a new connection has room for this line.
        let _ = stream.set_nonblocking(true);
        let _ = (&stream).write_all(&Reply::new("503 Service Unavailable").bytes());
        return;
    }
    let page = Arc::clone(page);
    // If no thread can be started, the connection is closed; the next one may succeed.
    let _ = Builder::new().name("joulio-metrics".into()).spawn(move || {
        let _client = client;
        // A client that has gone is not an error.
        let _ = answer(&stream, &page);
    });
}

/// Answers one request and closes the connection.
fn answer(mut stream: &TcpStream, page: &Page) -> io::Result<()> {
    let deadline = Instant::now() + TIME;
    let mut head = Vec::new();
    let reply = loop {
        if let Some(reply) = reply(&head, page) {
            break reply;
        }
        if head.len() >= MAX_HEAD_BYTES {
            break Reply::new("431 Request Header Fields Too Large");
        }
        let mut bytes = [0; 1024];
        let room = bytes.len().min(MAX_HEAD_BYTES - head.len());
        match read(stream, deadline, &mut bytes[..room]) {
            Ok(0) if head.is_empty() => return Ok(()),
            Ok(0) => break Reply::new("400 Bad Request"),
            Ok(count) => head.extend_from_slice(&bytes[..count]),
            Err(error) if is_timeout(&error) => break Reply::new("408 Request Timeout"),
            Err(error) => return Err(error),
        }
    };
    let bytes = reply.bytes();
    let mut rest = bytes.as_slice();
    // The whole answer has one deadline: a client that reads a byte a second gets no more time than others.
    let deadline = deadline.max(Instant::now() + TIME / 5);
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        match stream.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // Reads the rest of the request: with unread bytes the kernel would reset the connection, and the answer would be
    // lost.
    let (mut bytes, mut most) = ([0; 1024], 64);
    while most > 0 && read(stream, deadline, &mut bytes)? > 0 {
        most -= 1;
    }
    Ok(())
}

/// Reads until `deadline`.
fn read(mut stream: &TcpStream, deadline: Instant, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// An answer to a request.
struct Reply {
    status: &'static str,
    /// Media type and text of the page.
    page: Option<(&'static str, Arc<str>)>,
}

impl Reply {
    /// Creates an answer with only a status.
    fn new(status: &'static str) -> Reply {
        Reply { status, page: None }
    }

    fn bytes(&self) -> Vec<u8> {
        let why = format!("{}: GET /metrics\n", self.status);
        let (kind, body) = match &self.page {
            Some((kind, page)) => (*kind, &**page),
            None => ("text/plain; charset=utf-8", why.as_str()),
        };
        let allow = match self.status.starts_with("405") {
            true => "Allow: GET\r\n",
            false => "",
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
            self.status,
            body.len(),
        );
        (head + body).into_bytes()
    }
}

/// Returns the answer to the request whose head is `head`; `None` if the request is incomplete.
fn reply(head: &[u8], page: &Page) -> Option<Reply> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Partial) => None,
        Ok(Status::Complete(_)) => {
            let path = request.path.unwrap_or_default();
            let path = path.split_once('?').map_or(path, |(path, _)| path);
            Some(match (request.method, path) {
                (Some("GET"), "/metrics") => {
                    let page = page.read().unwrap_or_else(PoisonError::into_inner);
                    let page = match accepts_open_metrics(&request) {
                        true => (OPEN_METRICS, Arc::clone(&page)),
                        false => (TEXT, text_format(&page).into()),
                    };
                    Reply {
                        status: "200 OK",
                        page: Some(page),
                    }
                }
                (Some("GET"), _) => Reply::new("404 Not Found"),
                _ => Reply::new("405 Method Not Allowed"),
            })
        }
        Err(Error::TooManyHeaders) => Some(Reply::new("431 Request Header Fields Too Large")),
        Err(_) => Some(Reply::new("400 Bad Request")),
    }
}

/// Returns true if the client accepts OpenMetrics, as Prometheus does.
fn accepts_open_metrics(request: &Request<'_, '_>) -> bool {
    let mut headers = request.headers.iter();
    headers.any(|header| {
        let value = String::from_utf8_lossy(header.value).to_ascii_lowercase();
        header.name.eq_ignore_ascii_case("accept") && value.contains("application/openmetrics-text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(head: &[u8]) -> Option<&'static str> {
        let page = Page::new("# EOF\n".into());
        reply(head, &page).map(|reply| &reply.status[..3])
    }

    #[test]
    fn an_address_without_one_is_this_machines_alone() {
        let address = |text: &str| text.parse::<ListenAddress>().ok().map(|it| it.to_string());
        for (text, expected) in [
            ("9409", Some("127.0.0.1:9409")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("0.0.0.0:9409", Some("0.0.0.0:9409")),
            ("[::1]:9409", Some("[::1]:9409")),
            ("", None),
            ("65536", None),
            ("10.0.0.1", None),
            ("example.org:80", None),
        ] {
            assert_eq!(address(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn one_page_is_served_and_each_other_request_answered() {
        for (head, expected) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", Some("200")),
            ("GET /metrics?a=b HTTP/1.0\r\nHost: x\r\n\r\n", Some("200")),
            ("GET / HTTP/1.1\r\n\r\n", Some("404")),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", Some("404")),
            ("POST /metrics HTTP/1.1\r\n\r\n", Some("405")),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", Some("405")),
            ("GET /metrics HTTP/1.1\r\nHost", None),
            ("", None),
            ("\x16\x03\x01", Some("400")),
        ] {
            assert_eq!(status(head.as_bytes()), expected, "{head:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(status(many.as_bytes()), Some("431"));
    }

    #[test]
    fn who_does_not_accept_open_metrics_gets_the_text_format() {
        let text = "# HELP a_joules Energy.\n# TYPE a_joules counter\n# UNIT a_joules joules\n\
                    a_joules_total{b=\"c d\"} 1.5\n# TYPE a_watts gauge\na_watts 2\n# EOF\n";
        let page = Page::new(text.into());
        let got = |accept: &str| {
            let head = format!("GET /metrics HTTP/1.1\r\n{accept}\r\n");
            let reply = reply(head.as_bytes(), &page).expect("a reply");
            reply.page.map(|(kind, text)| (kind, text.to_string()))
        };
        let open = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
        assert_eq!(got(open), Some((OPEN_METRICS, text.to_owned())));
        let plain = "# HELP a_joules_total Energy.\n# TYPE a_joules_total counter\n\
                     a_joules_total{b=\"c d\"} 1.5\n# TYPE a_watts gauge\na_watts 2\n";
        for accept in ["", "accept: */*\r\n"] {
            assert_eq!(got(accept), Some((TEXT, plain.to_owned())));
        }
    }

    #[test]
    fn its_end_closes_it() {
        let server = MetricsServer::begin("0".parse().unwrap()).expect("a free port");
        let address = server.address();
        assert!(TcpStream::connect(address).is_ok());
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }

    proptest! {
        /// A client may send anything.
        #[test]
        fn whatever_is_sent_is_answered_or_waited_for(head in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = status(&head);
        }
    }
}
