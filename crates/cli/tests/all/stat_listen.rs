//! `joulio stat --listen`: metrics over HTTP, and counters that continue after a restart.

use crate::common::machine::{file, server};
use crate::common::{begin, interrupt, joulio, refused, wait_for};
use openmetrics_parser::openmetrics::parse_openmetrics;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr};
use tempfile::{TempDir, tempdir};

/// Header of a client that accepts OpenMetrics, as Prometheus sends it.
const ACCEPT: &str = "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1";
const ENERGY: &str = "sys/class/powercap/intel-rapl:0/energy_uj";
const JOULES: &str = r#"joulio_energy_joules_total{domain="package",place="package-0",meter="powercap:package-0",source="powercap",modelled="false"} "#;
const READS: &str = r#"joulio_device_ios_total{device="sda",direction="read"} "#;

/// Sets the counters of a server: the joules of its package, and the reads of its disk.
fn counted(tree: &TempDir, joules: u64, reads: u64) {
    file(tree, "sys/block/sda/size", "1000\n");
    let sectors = 8 * reads;
    let line = format!("8 0 sda {reads} 0 {sectors} 0 0 0 0 0 0 0 0\n");
    file(tree, "proc/diskstats", &line);
    file(tree, ENERGY, &format!("{}\n", joules * 1_000_000));
}

/// A command that serves metrics.
struct Served {
    child: Child,
    address: String,
    stderr: BufReader<ChildStderr>,
}

impl Served {
    fn begin(tree: &TempDir, more: &str) -> Served {
        let root = tree.path().display();
        let mut child = begin(&format!(
            "stat --root {root} --meter package --listen 0 {more}"
        ));
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let address = line.strip_prefix("joulio: metrics at http://");
        let address = address.and_then(|rest| rest.strip_suffix("/metrics\n"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        Served {
            child,
            address,
            stderr,
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("it listens")
    }

    /// Sends the request `text` and returns the whole answer.
    fn ask(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Returns the page as a scraper reads it.
    fn page(&self) -> String {
        body(&self.ask(&format!(
            "GET /metrics HTTP/1.1\r\nHost: here\r\n{ACCEPT}\r\n\r\n"
        )))
    }

    /// Waits until the value of the sample that begins with `sample` is `right`, and returns it.
    fn value(&self, sample: &str, right: impl Fn(f64) -> bool) -> f64 {
        wait_for(sample, || {
            let page = self.page();
            let value = page.lines().find_map(|line| line.strip_prefix(sample))?;
            Some(value.parse().expect("a number")).filter(|value| right(*value))
        })
    }

    fn end(mut self) {
        interrupt(&self.child);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("read");
        assert!(self.child.wait().expect("it ends").success(), "{rest}");
        assert_eq!(rest, "");
    }
}

/// Returns the body of the answer, after checking it against the head.
fn body(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let kind = "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(head.contains(kind), "{head}");
    let length = format!("\r\nContent-Length: {}\r\n", body.len());
    assert!(head.contains(&length), "{head}");
    body.to_owned()
}

/// Checks that `text` is OpenMetrics (1.0): the lines of each family are in order and before its samples, and the last
/// line marks the end.
fn strictly_open_metrics(text: &str) {
    parse_openmetrics(text).expect("OpenMetrics");
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert_eq!(text.matches("# EOF").count(), 1);
    let (mut family, mut unit) = (String::new(), String::new());
    let mut families = Vec::new();
    for line in text.lines().take_while(|line| *line != "# EOF") {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, text] => {
                assert!(!families.contains(&name) && !text.is_empty(), "{line}");
                families.push(name);
                (family, unit) = (name.into(), String::new());
            }
            ["#", "TYPE", name, kind] => {
                assert_eq!(name, family, "{line}");
                // The text format 0.0.4 has these types as well.
                assert!(["counter", "gauge"].contains(&kind), "{line}");
            }
            ["#", "UNIT", name, of] => {
                assert!(
                    name == family && name.ends_with(&format!("_{of}")),
                    "{line}"
                );
                unit = of.into();
            }
            _ => {
                let name = line.split(['{', ' ']).next().expect("a name");
                let bare = name.strip_suffix("_total").unwrap_or(name);
                assert_eq!(bare, family, "{line}");
                assert!(unit.is_empty() || bare.ends_with(&unit), "{line}");
            }
        }
    }
}

#[test]
fn metrics_are_served_as_openmetrics_and_nothing_else_is() {
    let tree = server();
    counted(&tree, 1, 100);
    let served = Served::begin(&tree, "");
    served.value(JOULES, |joules| joules == 0.0);
    counted(&tree, 4, 140);
    served.value(JOULES, |joules| joules == 3.0);
    served.value(READS, |reads| reads == 40.0);
    let page = served.page();
    strictly_open_metrics(&page);
    let build = format!(
        "joulio_build_info{{version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    assert!(page.lines().any(|line| line == build), "{page}");
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        (
            "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "405",
        ),
        ("\x16\x03\x01 what?\r\n\r\n", "400"),
    ] {
        let answer = served.ask(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
    }
    let large = format!("GET /metrics HTTP/1.1\r\nCookie: {}", "a".repeat(20_000));
    assert!(served.ask(&large).starts_with("HTTP/1.1 431 "));
    served.end();
}

#[test]
fn a_client_that_says_nothing_holds_up_no_other() {
    let tree = server();
    counted(&tree, 1, 100);
    let served = Served::begin(&tree, "");
    let mut silent = served.connect();
    // Two clients at once, of which the first is answered last. Each has five seconds, which may be too short on a busy
    // machine.
    let answers = wait_for("answers to both", || {
        let (mut slow, mut other) = (served.connect(), served.connect());
        let sent = slow.write_all(b"GET /metr").is_ok();
        strictly_open_metrics(&served.page());
        let rest = format!("ics HTTP/1.1\r\n{ACCEPT}\r\n\r\n");
        let whole = format!("GET /metrics HTTP/1.1\r\n{ACCEPT}\r\n\r\n");
        let sent = sent && slow.write_all(rest.as_bytes()).is_ok();
        let sent = sent && other.write_all(whole.as_bytes()).is_ok();
        let answers = [other, slow].map(|mut stream| {
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer);
            read.is_ok().then_some(answer)
        });
        let [Some(other), Some(slow)] = answers else {
            return None;
        };
        let late = [&other, &slow]
            .iter()
            .any(|one| one.starts_with("HTTP/1.1 408 "));
        (sent && !late).then_some([other, slow])
    });
    for answer in answers {
        strictly_open_metrics(&body(&answer));
    }
    // A client that disconnects before its answer, and one that gets an error after a while.
    let mut gone = served.connect();
    gone.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
        .expect("sent");
    drop(gone);
    let mut answer = String::new();
    silent.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let half = served.connect();
    half.shutdown(Shutdown::Write).expect("closed");
    strictly_open_metrics(&served.page());
    served.end();
}

#[test]
fn counters_go_on_after_a_restart_and_a_kill() {
    let (tree, room) = (server(), tempdir().expect("a folder"));
    let state = room.path().join("counters");
    let flags = format!("--state {}", state.display());
    counted(&tree, 1, 100);
    let first = Served::begin(&tree, &flags);
    first.value(JOULES, |joules| joules == 0.0);
    counted(&tree, 4, 140);
    first.value(JOULES, |joules| joules == 3.0);
    first.value(READS, |reads| reads == 40.0);
    // With two commands, each would overwrite the other's counters.
    let root = tree.path().display();
    let said = refused(
        room.path(),
        &format!("stat --root {root} --listen 0 {flags}"),
    );
    assert!(said.contains("writes it: wait for that"), "{said}");
    first.end();

    // I/O between the two commands is not counted.
    counted(&tree, 10, 1000);
    let mut second = Served::begin(&tree, &flags);
    second.value(JOULES, |joules| joules == 3.0);
    counted(&tree, 12, 1001);
    second.value(JOULES, |joules| joules == 5.0);
    second.value(READS, |reads| reads == 41.0);
    // Counters that were visible are kept, whatever ends the command.
    second.child.kill().expect("killed");
    second.child.wait().expect("killed");
    let prom = room.path().join("joulio.prom");
    let line = format!(
        "stat --root {root} --meter package {flags} --count 1 --textfile {}",
        prom.display()
    );
    joulio(&line).assert().success();
    let text = fs::read_to_string(&prom).expect("there");
    for sample in [format!("{JOULES}5.0"), format!("{READS}41")] {
        assert!(text.lines().any(|line| line == sample), "{sample}\n{text}");
    }
}

#[test]
fn what_cannot_be_served_or_gone_on_from_is_refused() {
    let (tree, room) = (server(), tempdir().expect("a folder"));
    counted(&tree, 1, 100);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let damaged = room.path().join("damaged");
    fs::write(&damaged, "{\"joulio_stat_counters\":1,\"energy\":[").expect("written");
    let path = |name: &str| Path::new(room.path()).join(name).display().to_string();
    for (flags, hint) in [
        (
            format!("--listen {port}"),
            format!("--listen 127.0.0.1:{port}: "),
        ),
        ("--listen example.org".into(), "not [ADDRESS:]PORT".into()),
        (
            "--listen 203.0.113.7:0".into(),
            "--listen 203.0.113.7:0: ".into(),
        ),
        (
            format!("--state {}", path("new")),
            "--textfile or --listen".into(),
        ),
        (
            format!("--listen 0 --state {}", path("damaged")),
            "damaged".into(),
        ),
        (
            format!("--listen 0 --state {}", path("")),
            "not a regular file".into(),
        ),
        (
            "--listen 0 --state /nowhere/at/all".into(),
            "/nowhere/at/all: ".into(),
        ),
        ("--listen 0 -- true".into(), "--listen".into()),
    ] {
        let line = format!("stat --root {} {flags}", tree.path().display());
        let said = refused(room.path(), &line);
        assert!(said.contains(&hint), "{flags}: {said}");
    }
}
