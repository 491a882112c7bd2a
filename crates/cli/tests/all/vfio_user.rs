//! `--device vfio-user:SOCKET`: refused requests, correct data, and the effects if the client or the server dies.

use crate::common::running::wait_for_work;
use crate::common::server::Server;
use crate::common::{ended, joulio, refused, runs, short_ramp};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use tempfile::{TempDir, tempdir};

const READ: &str = "bench --device vfio-user:s --number_ios 10";

/// Starts a server that listens at `s` in `room`, and checks that it has the requested `doorbells`.
fn serve(room: &Path, doorbells: &str) -> Server {
    let server = Server::start(room, "s", "16m", &["--doorbells", doorbells]);
    let said = &server.said;
    assert!(
        said.ends_with(&format!("doorbells {doorbells}\n")),
        "{said}"
    );
    server
}

/// Starts a client that does I/O on the server in `room` for longer than a test takes.
fn working(room: &Path, completion: &str) -> Child {
    let line = "bench --device vfio-user:s --runtime 600 --iodepth 8 --completion";
    let child = crate::common::program()
        .args(line.split_whitespace())
        .arg(completion)
        .current_dir(room)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    wait_for_work(child.id());
    child
}

/// Writes and reads through the server in `room` in the modes of `completion`, and asserts that no block is wrong.
fn assert_right(room: &Path, completion: &str) {
    let line = format!(
        "--device vfio-user:{}/s --rw randrw --size 1m --number_ios 500 --iodepth 8 \
         --verify=crc32c --allow-write --completion {completion} {}",
        room.display(),
        short_ramp()
    );
    let runs = runs(&line);
    assert_eq!(runs.len(), completion.split(',').count());
    for run in runs {
        let verify = &run["verify"];
        assert_eq!(verify["errors"], 0, "{verify}");
        assert!(
            verify["blocks"].as_u64().is_some_and(|blocks| blocks > 0),
            "{verify}"
        );
        assert_eq!(run["all"]["errors"], 0);
    }
}

/// Returns a folder in which something that is not a correct server answers at `s`, once.
fn answering(
    answer: impl FnOnce(UnixStream, Vec<u8>) + Send + 'static,
) -> (TempDir, JoinHandle<()>) {
    let room = tempdir().expect("a temporary directory");
    let listener = UnixListener::bind(room.path().join("s")).expect("a socket");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = vec![0; 16];
        stream.read_exact(&mut request).expect("a header");
        let size = u32::from_ne_bytes(request[4..8].try_into().expect("four bytes"));
        request.resize(size as usize, 0);
        stream.read_exact(&mut request[16..]).expect("a message");
        answer(stream, request);
    });
    (room, thread)
}

/// Returns a reply to `request` with `body`.
fn reply(request: &[u8], body: &[u8]) -> Vec<u8> {
    let size = 16 + body.len() as u32;
    let mut reply = request[..4].to_vec();
    for word in [size, 1, 0] {
        reply.extend(word.to_ne_bytes());
    }
    reply.extend(body);
    reply
}

#[test]
fn a_missing_socket_is_refused_with_what_to_start() {
    let room = tempdir().expect("a temporary directory");
    let said = refused(room.path(), READ);
    assert!(said.contains("no such socket"), "{said}");
    assert!(said.contains("start the controller's server"), "{said}");
}

#[test]
fn a_socket_that_nobody_listens_at_is_refused_with_what_to_start() {
    let room = tempdir().expect("a temporary directory");
    drop(UnixListener::bind(room.path().join("s")).expect("a socket"));
    let said = refused(room.path(), READ);
    assert!(said.contains("no server listens"), "{said}");
    assert!(said.contains("start the server again"), "{said}");
}

#[test]
fn a_file_that_is_no_socket_is_refused_and_left_alone() {
    let room = tempdir().expect("a temporary directory");
    fs::write(room.path().join("s"), "mine").expect("write");
    let said = refused(room.path(), READ);
    assert!(said.contains("not a socket"), "{said}");
}

#[test]
fn a_listener_that_speaks_something_else_is_refused() {
    let greetings: [&[u8]; 3] = [b"HTTP/1.1 400 Bad Request\r\n\r\n", &[0; 64], &[0xff; 4096]];
    for greeting in greetings {
        let (room, thread) = answering(move |mut stream, _| {
            // The client may disconnect before all of it is sent.
            let _ = stream.write_all(greeting);
        });
        let said = refused(room.path(), READ);
        thread.join().expect("it answered");
        assert!(said.contains("is that a vfio-user server?"), "{said}");
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let (room, thread) = answering(|mut stream, request| {
        let version: [u8; 4] = [1u16.to_ne_bytes(), 7u16.to_ne_bytes()]
            .concat()
            .try_into()
            .expect("four bytes");
        let body = [&version[..], b"{}\0"].concat();
        stream.write_all(&reply(&request, &body)).expect("sent");
    });
    let said = refused(room.path(), READ);
    thread.join().expect("it answered");
    assert!(said.contains("speaks vfio-user 1.7"), "{said}");
    assert!(said.contains("use a server of that version"), "{said}");
}

#[test]
fn a_listener_that_hangs_up_is_refused_with_what_to_check() {
    let (room, thread) = answering(|stream, _| drop(stream));
    let said = refused(room.path(), READ);
    thread.join().expect("it hung up");
    assert!(said.contains("closed the connection"), "{said}");
    assert!(said.contains("see its own messages"), "{said}");
}

#[test]
fn a_socket_without_permission_is_refused_with_who_to_be() {
    if geteuid().is_root() {
        // Root may connect to any socket.
        return;
    }
    let room = tempdir().expect("a temporary directory");
    let path = room.path().join("s");
    let _listener = UnixListener::bind(&path).expect("a socket");
    fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("its owner");
    let said = refused(room.path(), READ);
    assert!(said.contains("permission denied"), "{said}");
    assert!(said.contains("run as the user"), "{said}");
}

#[test]
fn writing_is_refused_to_whoever_does_not_say_that_data_may_be_lost() {
    let room = tempdir().expect("a temporary directory");
    let server = serve(room.path(), "trapped");
    for rw in ["--rw write", "--rw randrw --verify=crc32c"] {
        let said = refused(room.path(), &format!("{READ} {rw}"));
        assert!(said.contains("--allow-write"), "{rw}: {said}");
    }
    server.end(room.path());
}

#[test]
fn no_block_is_wrong_in_any_completion_mode_with_any_doorbell() {
    for doorbells in ["mapped", "trapped"] {
        let room = tempdir().expect("a temporary directory");
        let server = serve(room.path(), doorbells);
        assert_right(room.path(), "poll,interrupt,hybrid");
        server.end(room.path());
    }
}

#[test]
fn a_client_of_a_server_that_is_killed_ends_by_itself_and_the_next_server_serves() {
    for doorbells in ["mapped", "trapped"] {
        for completion in ["poll", "interrupt", "hybrid"] {
            let room = tempdir().expect("a temporary directory");
            let server = serve(room.path(), doorbells);
            let client = working(room.path(), completion);
            server.kill();
            let output = ended(client);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{doorbells}: {said}");
            assert_eq!(said.lines().count(), 1, "{doorbells}: {said}");
            assert!(said.starts_with("joulio: "), "{doorbells}: {said}");
            // The stale socket was left behind, and is replaced.
            let left = fs::symlink_metadata(room.path().join("s")).expect("left behind");
            assert!(left.file_type().is_socket());
            let server = serve(room.path(), doorbells);
            assert_right(room.path(), completion);
            server.end(room.path());
        }
    }
}

#[test]
fn a_server_whose_client_is_killed_serves_the_next_one() {
    for doorbells in ["mapped", "trapped"] {
        let room = tempdir().expect("a temporary directory");
        let server = serve(room.path(), doorbells);
        for completion in ["poll", "interrupt", "hybrid"] {
            let client = working(room.path(), completion);
            kill_process(Pid::from_child(&client), Signal::KILL).expect("it runs");
            let output = ended(client);
            assert_eq!(output.status.code(), None, "it ended before it was killed");
            assert_right(room.path(), completion);
        }
        server.end(room.path());
    }
}

#[test]
fn a_second_client_is_refused_and_does_not_disturb_the_first() {
    let room = tempdir().expect("a temporary directory");
    let server = serve(room.path(), "trapped");
    let client = working(room.path(), "poll");
    let said = refused(room.path(), READ);
    assert!(
        said.contains("another client has this controller"),
        "{said}"
    );
    kill_process(Pid::from_child(&client), Signal::INT).expect("it runs");
    let output = ended(client);
    assert_eq!(output.status.code(), Some(130));
    joulio(READ).current_dir(room.path()).assert().success();
    server.end(room.path());
}
