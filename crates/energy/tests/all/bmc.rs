//! BMCs, through ipmitool and through Redfish.

use crate::common::*;
use joulio_energy::{
    BmcTool, Boundary, Discovery, Fetch, FindingState, Meters, Root, Select, Source,
};
use joulio_units::Nanos;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};

const READING: &str = "\n    Instantaneous power reading:                   208 Watts\n    Power reading state is:                   activated\n";

/// An ipmitool that gives a fixed answer.
#[derive(Debug)]
struct Says(Result<&'static str, (ErrorKind, &'static str)>);

impl BmcTool for Says {
    fn power_reading(&self) -> io::Result<String> {
        self.0
            .map(str::to_owned)
            .map_err(|(kind, said)| io::Error::new(kind, said))
    }
}

fn ipmi(says: Says) -> (Discovery, Arc<TestClock>) {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "").file("/dev/ipmi0", "");
    let clock = TestClock::at(SECOND);
    let root = tree
        .root()
        .with_bmc(Arc::new(says))
        .with_clock(clock.clone());
    (Meters::discover(&root, &Select::all()), clock)
}

#[test]
fn ipmis_reading_is_the_walls() {
    let (mut discovery, clock) = ipmi(Says(Ok(READING)));
    assert_eq!(readable(&discovery), ["ipmi:dcmi"]);
    let about = &discovery.meters.about()[0];
    assert!(about.slow && about.zone.boundary == Boundary::Wall && about.source == Source::Ipmi);
    let window = discovery.meters.open_unsampled();
    clock.advance(Nanos(3 * SECOND.0));
    let figure = window.close(None).remove(0).figure.unwrap();
    assert!((figure.total.watts().0 - 208.0).abs() < 1e-6);
}

fn ipmi_state(kind: ErrorKind, said: &'static str) -> (String, Option<String>) {
    match state(&ipmi(Says(Err((kind, said)))).0, "ipmi:dcmi") {
        FindingState::Unreadable { why, allow } => (why.clone(), allow.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_ipmi_lacks_is_said() {
    let (why, allow) = ipmi_state(ErrorKind::NotFound, "");
    assert!(
        why.contains("not installed") && allow.unwrap().contains("install ipmitool"),
        "{why}"
    );
    let said =
        "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: Permission denied";
    let (_, allow) = ipmi_state(ErrorKind::Other, said);
    assert!(allow.unwrap().contains("as root"));
    let (why, allow) = ipmi_state(ErrorKind::TimedOut, "ipmitool: no answer from the BMC");
    assert!(why.contains("no answer") && allow.is_none(), "{why}");
}

/// Bodies to serve, and the URLs that were requested.
#[derive(Debug)]
struct Serves {
    body: io::Result<Vec<u8>>,
    requested: Mutex<Vec<String>>,
}

impl Fetch for Serves {
    fn get(&self, url: &str) -> io::Result<Vec<u8>> {
        self.requested.lock().unwrap().push(url.to_owned());
        match &self.body {
            Ok(body) => Ok(body.clone()),
            Err(error) => Err(error.kind().into()),
        }
    }
}

const URL: &str = "https://bmc.example/redfish/v1/Chassis/1/Power";

fn redfish(body: io::Result<Vec<u8>>, url: &str) -> (Discovery, Vec<String>) {
    let serves = Arc::new(Serves {
        body,
        requested: Mutex::default(),
    });
    let root: Root = guest().root().with_fetch(serves.clone());
    let discovery = Meters::discover(&root, &format!("redfish={url}").parse().unwrap());
    let requested = serves.requested.lock().unwrap().clone();
    (discovery, requested)
}

#[test]
fn a_bmc_is_read_only_when_its_url_is_given() {
    let body = || Ok(br#"{"PowerControl":[{"PowerConsumedWatts":344}]}"#.to_vec());
    let (discovery, requested) = redfish(body(), URL);
    assert_eq!(
        readable(&discovery),
        ["redfish:bmc.example/redfish/v1/Chassis/1/Power"]
    );
    assert_eq!(requested, [URL]);
    let (_, requested) = redfish(body(), &format!("{URL}#/PowerControl/0"));
    assert_eq!(requested, [URL], "the pointer stays here");
    let others = Meters::discover(&guest().root(), &Select::all()).others;
    assert!(others.iter().all(|other| other.source != Source::Redfish));
}

#[test]
fn a_bmc_that_wants_credentials_says_how_to_give_them() {
    let (discovery, _) = redfish(Err(ErrorKind::PermissionDenied.into()), URL);
    let FindingState::Unreadable {
        allow: Some(allow), ..
    } = state(&discovery, "redfish:bmc.example/redfish/v1/Chassis/1/Power")
    else {
        panic!("{:?}", discovery.others);
    };
    assert!(
        allow.contains("JOULIO_REDFISH_PASSWORD") && allow.contains("netrc"),
        "{allow}"
    );
}

#[cfg(feature = "redfish")]
mod over_the_network {
    use super::*;
    use joulio_energy::How;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::spawn;

    /// Answers one request with `response`; returns the port.
    fn answers(response: Vec<u8>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            // A client may close the connection before it has read everything.
            let _ = stream.write_all(&response);
        });
        port
    }

    fn response(status: &str, more: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{more}\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    fn why(response: Vec<u8>) -> String {
        let port = answers(response);
        let select = format!("redfish=http://127.0.0.1:{port}/redfish/v1/x")
            .parse()
            .unwrap();
        let discovery = Meters::discover(&guest().root(), &select);
        match state(
            &discovery,
            &format!("redfish:127.0.0.1:{port}/redfish/v1/x"),
        ) {
            FindingState::Unreadable { why, .. } => why.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reading_arrives() {
        let port = answers(response(
            "200 OK",
            "",
            br#"{"PowerWatts":{"Reading":12.5}}"#,
        ));
        let select = format!("redfish=http://127.0.0.1:{port}/x")
            .parse()
            .unwrap();
        let discovery = Meters::discover(&guest().root(), &select);
        assert_eq!(
            readable(&discovery),
            [format!("redfish:127.0.0.1:{port}/x")]
        );
    }

    #[test]
    fn a_server_is_not_followed_and_not_believed() {
        assert!(
            why(response(
                "302 Found",
                "location: http://127.0.0.1:9/\r\n",
                b""
            ))
            .contains("status 302")
        );
        assert!(why(response("401 Unauthorized", "", b"")).contains("permission denied"));
        assert!(why(response("404 Not Found", "", b"")).contains("404"));
        assert!(why(b"220 ftp ready\r\n".to_vec()).len() < 300);
        assert!(why(Vec::new()).len() < 300);
    }

    /// Answers each connection with the next of `responses`; returns the port.
    fn answers_in_turn(responses: Vec<Vec<u8>>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        spawn(move || {
            for response in responses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(&response);
            }
        });
        port
    }

    #[test]
    fn a_connection_that_breaks_off_is_a_reading_missed_and_no_meter_removed() {
        let reading = response(
            "200 OK",
            "connection: close\r\n",
            br#"{"PowerWatts":{"Reading":12.5}}"#,
        );
        // Nothing at all, and a body that is cut short.
        let cut = reading[..reading.len() - 5].to_vec();
        let good = || reading.clone();
        let port = answers_in_turn(vec![good(), good(), Vec::new(), cut, good()]);
        let select = format!("redfish=http://127.0.0.1:{port}/x")
            .parse()
            .unwrap();
        let clock = TestClock::at(SECOND);
        let root = guest().root().with_clock(clock.clone());
        let mut meters = Meters::discover(&root, &select).meters;
        let mut window = meters.open_unsampled();
        for _ in 0..2 {
            clock.advance(SECOND);
            window.tick();
        }
        clock.advance(SECOND);
        let total = totals(window.close(None)).remove(0);
        assert!((total.watts().0 - 12.5).abs() < 1e-6, "{total:?}");
        assert!(matches!(total.how, How::Sampled { missed: 2, .. }));
    }

    #[test]
    fn a_body_without_an_end_is_cut() {
        let said = why(response("200 OK", "", &vec![b' '; 3 << 20]));
        assert!(said.contains("limit") || said.contains("large"), "{said}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let select = format!("redfish=http://127.0.0.1:{port}/x")
            .parse()
            .unwrap();
        let discovery = Meters::discover(&guest().root(), &select);
        let FindingState::Unreadable { why, .. } =
            state(&discovery, &format!("redfish:127.0.0.1:{port}/x"))
        else {
            panic!("{:?}", discovery.others);
        };
        assert!(why.contains("no answer"), "{why}");
    }
}
