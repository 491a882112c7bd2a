//! The servers, one for all inputs of a kind.

use joulio_emulator::serve::{DoorbellMode, ServeOptions, Server};
use joulio_emulator::{NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A server.
pub struct Served {
    pub path: PathBuf,
    _dir: tempfile::TempDir,
    _stop: UnixStream,
}

/// Returns the server with mapped doorbells, or the other.
pub fn server(mapped: bool) -> &'static Served {
    static SERVERS: [OnceLock<Served>; 2] = [const { OnceLock::new() }; 2];
    SERVERS[usize::from(mapped)].get_or_init(|| {
        let profile = DeviceProfile::builtin("instant").expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = 4;
        options.vectors = 5;
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(1 << 20),
            },
            block: Some(512),
        }];
        let limits = ServeOptions {
            doorbells: if mapped {
                DoorbellMode::Mapped
            } else {
                DoorbellMode::Trapped
            },
            max_regions: 8,
            max_bytes: 4 << 20,
            ..ServeOptions::default()
        };
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("socket");
        let mut server = Server::bind(&path, &options, &limits).expect("a server");
        let (stop, ear) = UnixStream::pair().expect("a pair");
        std::thread::spawn(move || server.run(ear.as_fd()).expect("it serves"));
        Served {
            path,
            _dir: dir,
            _stop: stop,
        }
    })
}
