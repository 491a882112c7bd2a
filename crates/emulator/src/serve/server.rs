//! The server: one host after the other on one socket, and the controller behind it.

use super::ServeError;
use super::connection::{Connection, End};
use super::injector::Injector;
use super::options::{DoorbellMode, ServeOptions};
use super::session::{Session, refusal};
use super::socket::Socket;
use super::stats::Stats;
use crate::clock;
use crate::controller::Controller;
use crate::options::Options;
use crate::shared::Shared;
use crate::thread::DeviceThread;
use joulio_device::Signaller;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Hosts that are told that the controller is taken, at the same time. More of them are cut off.
const MAX_TURNED_AWAY: usize = 8;

/// Messages that a host gets done before others are looked after.
const TURN: u32 = 64;

/// A controller behind a vfio-user socket.
pub struct Server {
    socket: Socket,
    signaller: Arc<Signaller>,
    shared: Arc<Shared>,
    options: ServeOptions,
    thread: DeviceThread,
    stats: Stats,
}

/// The host that has the controller.
struct Host {
    connection: Connection,
    session: Session,
}

impl Server {
    /// Makes a controller, and listens for hosts at `path`.
    pub fn bind(
        path: &Path,
        options: &Options,
        serve: &ServeOptions,
    ) -> Result<Server, ServeError> {
        let options = serve.adapt(options);
        let controller = Controller::new(&options, clock::now())?;
        let signaller = Arc::new(Signaller::new().map_err(ServeError::Signal)?);
        let socket = Socket::bind(path)?;
        let shared = Shared::new(controller, &options);
        let thread = DeviceThread::spawn(&shared, &options)?;
        Ok(Server {
            socket,
            signaller,
            shared,
            options: *serve,
            thread,
            stats: Stats::default(),
        })
    }

    /// The thread identifier of the device's thread.
    pub fn thread_id(&self) -> i32 {
        self.thread.id()
    }

    /// How often the device's thread looks at doorbells, for those who ask while it runs.
    pub fn looks(&self) -> Looks {
        Looks(Arc::clone(&self.shared))
    }

    /// What commits faults, for those who want some while it runs.
    pub fn injector(&self) -> Injector {
        Injector(Arc::clone(&self.shared))
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        let activity = self.shared.controller_first().activity();
        Stats {
            looks: self.shared.rounds.load(Ordering::Relaxed),
            reads: activity.read.ios,
            writes: activity.write.ios,
            flushes: activity.flush.ios,
            failed_commands: activity.failed_commands,
            interrupts: activity.interrupts_raised,
            ..self.stats
        }
    }

    /// Serves hosts, until `stop` can be read from.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> Result<(), ServeError> {
        let mut host: Option<Host> = None;
        let mut away: VecDeque<Connection> = VecDeque::new();
        loop {
            let ready = self.wait(stop, host.as_ref(), &away)?;
            if ready.stop {
                return Ok(());
            }
            if ready.host && host.as_mut().is_some_and(|host| self.attend(host).is_err()) {
                // Its session ends here: before the next host is let in.
                host = None;
            }
            let mut index = 0;
            away.retain_mut(|connection| {
                index += 1;
                !(ready.away & 1 << (index - 1) != 0 && turn_away(connection))
            });
            if ready.listener {
                self.accept(&mut host, &mut away)?;
            }
        }
    }

    fn wait(
        &self,
        stop: BorrowedFd<'_>,
        host: Option<&Host>,
        away: &VecDeque<Connection>,
    ) -> Result<Ready, ServeError> {
        let mut fds = vec![
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::new(&self.socket.listener, PollFlags::IN),
        ];
        for connection in away {
            fds.push(PollFd::new(connection, PollFlags::IN));
        }
        if let Some(host) = host {
            let sending = host.connection.is_sending();
            let events = if sending {
                PollFlags::OUT
            } else {
                PollFlags::IN
            };
            fds.push(PollFd::new(&host.connection, events));
        }
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ServeError::Wait(error.into())),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let away_bits = fds[2..2 + away.len()].iter().enumerate();
        Ok(Ready {
            stop: is_ready(&fds[0]),
            listener: is_ready(&fds[1]),
            away: away_bits.fold(0, |bits, (index, fd)| {
                bits | u32::from(is_ready(fd)) << index
            }),
            host: host.is_some() && fds.last().is_some_and(is_ready),
        })
    }

    /// Does what the host asks for, as far as it has.
    fn attend(&mut self, host: &mut Host) -> Result<(), End> {
        host.connection.flush()?;
        let mut turn = 0..TURN;
        while !host.connection.is_sending()
            && turn.next().is_some()
            && let Some(message) = host.connection.receive().inspect_err(|&end| {
                self.stats.broken_connections += u64::from(end == End::Broken);
            })?
        {
            self.stats.messages += 1;
            let reply = host.session.handle(message);
            self.stats.refused_messages += u64::from(reply.failed);
            host.connection.send(reply.bytes, reply.fd)?;
        }
        Ok(())
    }

    fn accept(
        &mut self,
        host: &mut Option<Host>,
        away: &mut VecDeque<Connection>,
    ) -> Result<(), ServeError> {
        let stream = match self.socket.listener.accept() {
            Ok((stream, _)) => stream,
            // It is gone already, or there are no descriptors for it now.
            Err(error) if is_fatal(&error) => return Err(ServeError::Wait(error)),
            Err(_) => return Ok(()),
        };
        let connection = Connection::new(stream);
        if host.is_some() {
            self.stats.turned_away += 1;
            if away.len() == MAX_TURNED_AWAY {
                away.pop_front();
            }
            away.push_back(connection);
            return Ok(());
        }
        let doorbells = match self.options.doorbells {
            DoorbellMode::Mapped => match self.shared.controller_first().map_doorbells() {
                Ok(page) => Some(page),
                Err(_) => {
                    // No memory or no descriptors for it: the host may come again.
                    self.stats.turned_away += 1;
                    return Ok(());
                }
            },
            DoorbellMode::Trapped => None,
        };
        self.stats.clients += 1;
        let session = Session::new(&self.shared, &self.signaller, &self.options, doorbells);
        *host = Some(Host {
            connection,
            session,
        });
        Ok(())
    }
}

/// How often a device's thread has looked at the doorbells. See [`Server::looks`].
#[derive(Clone)]
pub struct Looks(Arc<Shared>);

impl Looks {
    /// The count. It does not change while the thread is parked.
    pub fn count(&self) -> u64 {
        self.0.rounds.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Looks").field(&self.count()).finish()
    }
}

/// What there is to do.
struct Ready {
    stop: bool,
    listener: bool,
    /// A bit for each of those that are turned away.
    away: u32,
    host: bool,
}

/// Tells a host that the controller is taken, as soon as it has said something. Whether that is
/// done.
fn turn_away(connection: &mut Connection) -> bool {
    match connection.receive() {
        Ok(None) => false,
        Ok(Some(message)) => {
            // It is cut off in any case.
            let _ = connection.send(refusal(&message.header, Errno::BUSY), None);
            true
        }
        Err(_) => true,
    }
}

fn is_fatal(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP)
    )
}

impl AsFd for Server {
    /// The listening socket.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.listener.as_fd()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("socket", &self.socket)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
