//! The server: one host after the other on one socket, and the controller behind it.

use super::ServeError;
use super::connection::{Connection, End, Message};
use super::injector::Injector;
use super::newcomers::{Newcomer, Newcomers};
use super::options::{DoorbellMode, ServeOptions};
use super::session::{Session, refusal};
use super::socket::Socket;
use super::stats::Stats;
use crate::clock;
use crate::controller::EmulatedController;
use crate::options::Options;
use crate::shared::Shared;
use crate::thread::DeviceThread;
use joulio_device::Signaller;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Messages that a host may have executed before others are served.
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

/// The host that is served.
struct Host {
    connection: Connection,
    session: Session,
    /// Time by which the version has to be negotiated.
    deadline: Instant,
}

impl Host {
    fn deadline(&self) -> Option<Instant> {
        (!self.session.is_settled()).then_some(self.deadline)
    }
}

impl Server {
    /// Makes a controller, and listens for hosts at `path`.
    ///
    /// # Errors
    /// [`ServeError::Controller`] when the options are not possible; [`ServeError::InUse`], [`ServeError::NotASocket`]
    /// or [`ServeError::Socket`] when `path` cannot be listened at.
    pub fn bind(
        path: &Path,
        options: &Options,
        serve: &ServeOptions,
    ) -> Result<Server, ServeError> {
        let options = serve.adapt(options);
        let controller = EmulatedController::new(&options, clock::now())?;
        let signaller = Arc::new(Signaller::new().map_err(ServeError::Signal)?);
        let socket = Socket::bind(path, serve.socket_mode)?;
        let shared = Shared::new(controller, &options, true);
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

    /// Returns the thread identifier of the device's thread.
    pub fn thread_id(&self) -> i32 {
        self.thread.id()
    }

    /// Returns the count of the device thread's polls of the doorbells, to be read while it runs.
    pub fn polls(&self) -> PollCount {
        PollCount(Arc::clone(&self.shared))
    }

    /// Returns the injector of faults, to be used while the server runs.
    pub fn injector(&self) -> Injector {
        Injector(Arc::clone(&self.shared))
    }

    /// Returns the server's statistics so far.
    pub fn stats(&self) -> Stats {
        let activity = self.shared.controller_first().activity();
        Stats {
            polls: self.shared.rounds.load(Ordering::Relaxed),
            reads: activity.read.ios,
            writes: activity.write.ios,
            flushes: activity.flush.ios,
            failed_commands: activity.failed_commands,
            interrupts: activity.interrupts_raised,
            ..self.stats
        }
    }

    /// Serves hosts until `stop` becomes readable.
    ///
    /// # Errors
    /// [`ServeError::Wait`] when waiting for hosts fails. A host that breaks the protocol is disconnected, which is no
    /// error.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> Result<(), ServeError> {
        let mut host: Option<Host> = None;
        let mut newcomers = Newcomers::default();
        loop {
            let ready = self.wait(stop, host.as_ref(), &newcomers)?;
            if ready.stop {
                return Ok(());
            }
            if ready.host && host.as_mut().is_some_and(|host| self.attend(host).is_err()) {
                // Its session ends here, before the next host is let in.
                host = None;
            }
            let now = Instant::now();
            let late = |host: &Host| host.deadline().is_some_and(|deadline| deadline <= now);
            if host.as_ref().is_some_and(late) {
                self.stats.broken_connections += 1;
                host = None;
            }
            for index in (0..newcomers.0.len()).rev() {
                if ready.newcomers & 1 << index != 0 {
                    self.hear(index, &mut newcomers, &mut host);
                }
            }
            self.stats.broken_connections += newcomers.expire();
            if ready.listener {
                self.accept(&mut newcomers)?;
            }
        }
    }

    fn wait(
        &self,
        stop: BorrowedFd<'_>,
        host: Option<&Host>,
        newcomers: &Newcomers,
    ) -> Result<Ready, ServeError> {
        let mut fds = vec![
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::new(&self.socket.listener, PollFlags::IN),
        ];
        for newcomer in &newcomers.0 {
            fds.push(PollFd::new(&newcomer.connection, PollFlags::IN));
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
        let deadlines = [newcomers.deadline(), host.and_then(Host::deadline)];
        let next = deadlines.into_iter().flatten().min();
        let left = next.map(|next| timespec(next.saturating_duration_since(Instant::now())));
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ServeError::Wait(error.into())),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let bits = fds[2..2 + newcomers.0.len()].iter().enumerate();
        Ok(Ready {
            stop: is_ready(&fds[0]),
            listener: is_ready(&fds[1]),
            newcomers: bits.fold(0, |bits, (index, fd)| {
                bits | u32::from(is_ready(fd)) << index
            }),
            host: host.is_some() && fds.last().is_some_and(is_ready),
        })
    }

    /// Executes the host's requests that have arrived.
    fn attend(&mut self, host: &mut Host) -> Result<(), End> {
        let attended = self.attend_to(host);
        attended.inspect_err(|&end| self.count_end(end))
    }

    fn attend_to(&mut self, host: &mut Host) -> Result<(), End> {
        host.connection.flush()?;
        let mut turn = 0..TURN;
        while !host.connection.is_sending()
            && turn.next().is_some()
            && let Some(message) = host.connection.receive()?
        {
            self.answer(host, message)?;
        }
        Ok(())
    }

    fn count_end(&mut self, end: End) {
        self.stats.broken_connections += u64::from(end == End::Broken);
    }

    fn answer(&mut self, host: &mut Host, message: Message) -> Result<(), End> {
        self.stats.messages += 1;
        let reply = host.session.handle(message);
        self.stats.refused_messages += u64::from(reply.failed);
        host.connection.send(reply.bytes, reply.fd)
    }

    /// Reads from a newcomer. The first to send a message gets the controller; the others are refused because it is
    /// taken.
    fn hear(&mut self, index: usize, newcomers: &mut Newcomers, host: &mut Option<Host>) {
        let connection = &mut newcomers.0[index].connection;
        let message = match connection.receive() {
            Ok(None) => return,
            other => other,
        };
        let Some(newcomer) = newcomers.0.remove(index) else {
            return;
        };
        match message {
            Ok(Some(message)) if host.is_none() => {
                *host = self.let_in(newcomer);
                if let Some(new) = host
                    && let Err(end) = self.answer(new, message)
                {
                    self.count_end(end);
                    *host = None;
                }
            }
            Ok(Some(message)) => {
                self.stats.turned_away += 1;
                let mut connection = newcomer.connection;
                // It is disconnected in any case.
                let _ = connection.send(refusal(&message.header, Errno::BUSY), None);
            }
            Ok(None) => {}
            Err(end) => self.count_end(end),
        }
    }

    fn accept(&mut self, newcomers: &mut Newcomers) -> Result<(), ServeError> {
        match self.socket.listener.accept() {
            Ok((stream, _)) => {
                let deadline = Instant::now() + self.options.first_word;
                let cut = newcomers.push(Connection::new(stream), deadline);
                self.stats.broken_connections += u64::from(cut);
            }
            // It is gone already, or there are no descriptors for it now.
            Err(error) if is_fatal(&error) => return Err(ServeError::Wait(error)),
            Err(_) => {}
        }
        Ok(())
    }

    /// Gives the controller to a newcomer.
    fn let_in(&mut self, mut newcomer: Newcomer) -> Option<Host> {
        let doorbells = match self.options.doorbells {
            DoorbellMode::Mapped => match self.shared.controller_first().map_doorbells() {
                Ok(page) => Some(page),
                Err(_) => {
                    // There is no memory or no descriptor for it: the host may connect again.
                    self.stats.turned_away += 1;
                    return None;
                }
            },
            DoorbellMode::Trapped => None,
        };
        self.stats.clients += 1;
        newcomer.connection.take_fds();
        let session = Session::new(&self.shared, &self.signaller, &self.options, doorbells);
        Some(Host {
            connection: newcomer.connection,
            session,
            deadline: newcomer.deadline,
        })
    }
}

/// Count of the polls of the doorbells by a device's thread. Made by [`Server::polls`].
#[derive(Clone)]
pub struct PollCount(Arc<Shared>);

impl PollCount {
    /// Returns the count. It does not change while the thread is parked.
    pub fn count(&self) -> u64 {
        self.0.rounds.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for PollCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PollCount").field(&self.count()).finish()
    }
}

/// The sockets that are ready.
struct Ready {
    stop: bool,
    listener: bool,
    /// A bit for each newcomer.
    newcomers: u32,
    host: bool,
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

fn is_fatal(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP)
    )
}

impl AsFd for Server {
    /// Returns the listening socket.
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
