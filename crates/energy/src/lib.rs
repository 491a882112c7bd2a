//! Energy figures with their boundary, source and error bound.
//!
//! A run that takes the least energy at the cores may not take the least at the wall, so every figure has its
//! [`Boundary`], its source, and a bound of its error. [`Meters`] are read over [`Window`]s. Where there is no
//! meter, the [`Model`] computes a figure, which is marked as modelled.
//!
//! ```no_run
//! use joulio_energy::{Baseline, Energy, Meters, Root, Select};
//!
//! let root = Root::system();
//! let mut discovery = Meters::discover(&root, &Select::all());
//! for other in &discovery.others {
//!     println!("{}: {:?}", other.name, other.state);
//! }
//!
//! // A second at the least: nothing shorter is reported.
//! let window = discovery.meters.open()?;
//! std::thread::sleep(std::time::Duration::from_secs(10));
//! let baseline: Option<&Baseline> = None;
//! let mut packages = Vec::new();
//! for measured in window.close(baseline) {
//!     match measured.figure {
//!         Ok(figure) => {
//!             println!("{}: {}", figure.total.zone(), figure.total.watts());
//!             packages.push(figure.total);
//!         }
//!         Err(why) => println!("{}: {why}", measured.about.name),
//!     }
//! }
//! // package-0 and package-1 can be added; a package and its cores cannot, and are named.
//! let all = Energy::sum(&packages)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A meter of another kind implements [`Meter`] and is added with [`Meters::push`].
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

pub mod alignment;
mod allow;
mod baseline;
mod bmc;
mod clock;
mod counter;
mod discovery;
mod finding;
mod hwmon;
pub mod logger;
mod meter;
mod modelled;
mod nvme;
mod rapl;
mod root;
mod select;
mod unmet;
mod window;

pub use baseline::{Baseline, BaselineError, Host, IdlePower};
pub use bmc::{RedfishUrl, RedfishUrlError};
pub use clock::{Clock, Monotonic};
pub use discovery::Discovery;
pub use finding::{FindingState, MeterFinding};
pub use joulio_units::{
    Band, Boundary, Energy, How, MIN_WINDOW, Place, SumError, UnknownBoundary, Zone,
};
pub use meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
pub use modelled::{Model, modelled_energy};
pub use nvme::{NvmeMeter, NvmePower, PowerLogFields};
pub use rapl::{Filtering, Processor, Vendor};
pub use root::{BmcTool, Fetch, Files, PerfCounter, PerfEvent, PerfEvents, Root, SystemFiles};
pub use select::{Select, SelectError};
pub use unmet::Unmet;
pub use window::{MeterFigure, MeterResult, Meters, Window, WindowError};
