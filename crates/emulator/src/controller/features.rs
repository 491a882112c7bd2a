//! Features that Set Features writes and Get Features reads (Base 5.15 and 5.27).

use joulio_nvme_spec::feature::{FeatureId, NumberOfQueues};

/// Features whose value is stored and has no effect: the mandatory ones of Base figure 18 that a device without
/// arbitration or media retries does not use.
const REMEMBERED: [FeatureId; 3] = [
    FeatureId(0x01), // Arbitration
    FeatureId(0x05), // Error Recovery
    FeatureId(0x0a), // Write Atomicity Normal
];

/// 06h, Volatile Write Cache (Base 5.27.1.4).
pub(super) const VOLATILE_WRITE_CACHE: FeatureId = FeatureId(0x06);

/// 04h, Temperature Threshold (Base 5.27.1.3).
pub(super) const TEMPERATURE_THRESHOLD: FeatureId = FeatureId(0x04);
/// Temperature in kelvins from which on the controller is too warm.
pub(super) const WCTEMP: u16 = 343;
/// TMPSEL of all sensors; there is one, the composite temperature (0).
const ALL_SENSORS: u32 = 0xf;

/// The values of all features except those of interrupts and of power.
#[derive(Debug)]
pub(super) struct Features {
    /// 06h: WCE.
    pub(super) write_cache: bool,
    /// 07h, as allocated.
    pub(super) queues: NumberOfQueues,
    /// Maximum number of I/O queues, 0's based.
    max_queues: u16,
    /// 0Bh, the events that are enabled.
    pub(super) event_configuration: u32,
    /// 04h: over and under temperature threshold of the composite temperature, in kelvins.
    pub(super) thresholds: [u16; 2],
    wctemp: u16,
    remembered: [u32; REMEMBERED.len()],
}

impl Features {
    /// Makes the defaults of a controller with up to `queue_pairs` I/O queue pairs and this WCTEMP (0: not reported).
    pub(super) fn new(queue_pairs: u16, wctemp: u16) -> Features {
        let max_queues = queue_pairs - 1;
        Features {
            write_cache: true,
            queues: NumberOfQueues::new()
                .with_submission(max_queues)
                .with_completion(max_queues),
            max_queues,
            event_configuration: 0,
            thresholds: [if wctemp > 0 { wctemp } else { u16::MAX }, 0],
            wctemp,
            remembered: [0; REMEMBERED.len()],
        }
    }

    /// Sets the defaults at a controller reset: no value is saved across it.
    pub(super) fn reset(&mut self) {
        *self = Features::new(self.max_queues + 1, self.wctemp);
    }

    /// Returns the threshold that dword 11 of a command selects; with `set`, it may select all sensors.
    pub(super) fn threshold(&mut self, dword11: u32, set: bool) -> Option<&mut u16> {
        let (sensor, kind) = (dword11 >> 16 & 0xf, dword11 >> 20 & 3);
        let there = sensor == 0 || set && sensor == ALL_SENSORS;
        self.thresholds.get_mut(kind as usize).filter(|_| there)
    }

    /// Returns the value of a feature that is only stored, by `id`.
    pub(super) fn remembered(&mut self, id: FeatureId) -> Option<&mut u32> {
        let index = REMEMBERED.iter().position(|&known| known == id)?;
        Some(&mut self.remembered[index])
    }

    /// Allocates the requested number of queues, or as many as there are (Base 5.27.1.5).
    pub(super) fn allocate_queues(&mut self, requested: NumberOfQueues) {
        self.queues = NumberOfQueues::new()
            .with_submission(requested.submission().min(self.max_queues))
            .with_completion(requested.completion().min(self.max_queues));
    }
}
