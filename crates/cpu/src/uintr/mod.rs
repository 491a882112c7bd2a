//! A device interrupt taken in user space, by Intel's user interrupts (SDM volume 3, chapter 7)
//! and the module in `kmod/joulio_uintr`.
//!
//! # How to wait
//! ```no_run
//! # use joulio_cpu::{Depth, Tsc, uintr::{Receiver, UintrError}};
//! # fn wait(eventfd: std::os::fd::BorrowedFd<'_>, deadline: u64, mut poll: impl FnMut() -> bool) -> Result<(), UintrError> {
//! let mut receiver = Receiver::open(Depth::C02)?;
//! receiver.register()?;
//! receiver.bind(eventfd)?;
//! loop {
//!     receiver.clear();
//!     if poll() {
//!         break;
//!     }
//!     receiver.wait(deadline)?;
//! }
//! # Ok(())
//! # }
//! ```
//! Clear, poll, wait: in this order no completion is left lying.
//!
//! *The device writes the completion, then sends its interrupt* (PCIe keeps posted writes in
//! order), so whoever runs after the handler sees the completion. The handler marks. A mark that
//! is made before the clear is made before the poll as well, and the poll sees its completion. One
//! that is made after the clear is still there when the wait begins, and it does not wait.
//!
//! *Between the check of the mark and TPAUSE* an interrupt would mark, return, and let TPAUSE
//! sleep: STUI has no shadow as STI has, so user interrupts cannot be let through by the
//! instruction that sleeps. Here they are on all the time, and the handler checks where it
//! interrupted: in the window from the check to TPAUSE it sets the deadline to 0, with which TPAUSE
//! ends at once.
//! An interrupt during TPAUSE ends it by itself.
//!
//! *Between waits interrupts may be held back* ([`Receiver::open_in_waits_only`]). The first that comes
//! meanwhile stays requested and swallows those behind it, as below; the next wait lets it through before
//! the check of the mark, and the poll that follows sees the completions of all.
//!
//! *An interrupt may be swallowed.* A vector that equals UINV makes the CPU take the posted
//! requests (PIR) of the thread's descriptor; a device posts none, so the handler posts one by
//! SENDUIPI to its own thread for the next interrupt (with SN = 1 nothing is sent). From the moment
//! that the CPU takes the request until the handler has posted another, PIR is 0, and a vector that
//! comes meanwhile does nothing at all. Its completion was written before it, so before the
//! handler's end, and the mark stands: the poll that follows the mark comes after the re-arm and
//! sees it. After the re-arm the next vector is posted, and delivered when the handler returns.
//! So the queues say what is done, never the number of interrupts.
//!
//! *While the thread is not running*, its device's interrupt goes to the kernel's handler, which
//! signals the eventfd; when it runs again after that the module injects one user interrupt, so
//! that there is a mark and a poll.
//!
//! # What may delay
//! A signal handler that interrupts the window returns into it, whatever was marked meanwhile;
//! then TPAUSE ends by its deadline or the system's limit on it (`umwait_control/max_time`), if
//! nothing else does, and the mark is seen then. Threads that wait should leave signals to others.

mod abi;
mod bystander;
mod code;
mod device;
mod error;
mod low_power;
mod receiver;
pub(crate) mod slot;
mod source;
mod status;
mod thread;

pub use bystander::{Bystander, Seen};
pub use code::Code;
pub use error::UintrError;
pub use receiver::{Held, Once, Receiver, ReceiverWoken};
pub use source::TestSource;
pub use status::{ReceiverState, ReceiverStatus};
