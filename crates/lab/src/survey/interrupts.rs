//! Interrupts during the runs, and the CPUs that took them.

use super::json;
use joulio_host::irq_affinity;
use joulio_kernel_io::Interrupts;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// Counts of interrupts before the runs.
#[derive(Debug)]
pub struct InterruptsBefore(Result<Interrupts, String>);

/// An interrupt line that was raised during the runs.
#[derive(Serialize)]
struct Raised {
    irq: u32,
    description: String,
    /// Number of interrupts that each CPU took.
    by_cpu: Vec<u64>,
    /// CPUs that may take it.
    allowed_cpus: Option<String>,
    /// CPUs to which it is currently directed.
    effective_cpus: Option<String>,
}

impl InterruptsBefore {
    /// Reads the counts now.
    pub fn now() -> InterruptsBefore {
        InterruptsBefore(Interrupts::read("/").map_err(|why| why.to_string()))
    }

    /// Returns the lines of devices that were raised since then.
    pub(super) fn since_then(&self) -> Result<Value, String> {
        let before = self.0.as_ref().map_err(Clone::clone)?;
        let after = Interrupts::read("/").map_err(|why| why.to_string())?;
        let came = after.since(before);
        let lines = came.lines().iter();
        let raised = lines.filter(|line| line.counts.iter().any(|count| *count > 0));
        // Lines with names instead of numbers are the CPUs' own, such as timers.
        let raised = raised.filter_map(|line| {
            let irq: u32 = line.label.parse().ok()?;
            let affinity = irq_affinity(Path::new("/"), irq).ok();
            let effective = affinity.as_ref().and_then(|cpus| cpus.effective.as_ref());
            Some(Raised {
                irq,
                description: line.description.clone(),
                by_cpu: line.counts.clone(),
                effective_cpus: effective.map(ToString::to_string),
                allowed_cpus: affinity.map(|cpus| cpus.allowed.to_string()),
            })
        });
        let raised: Vec<_> = raised.collect();
        json(raised)
    }
}
