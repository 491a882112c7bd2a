//! Features: what Set Features writes and Get Features reads (Base 5.15 and 5.27).

use joulio_nvme_spec::feature::{FeatureId, NumberOfQueues};

/// Features that are remembered and change nothing here: the mandatory ones of Base figure 18
/// that a device without temperature, arbitration or media retries has no use for.
const REMEMBERED: [FeatureId; 4] = [
    FeatureId(0x01), // Arbitration
    FeatureId(0x04), // Temperature Threshold
    FeatureId(0x05), // Error Recovery
    FeatureId(0x0a), // Write Atomicity Normal
];

/// 06h Volatile Write Cache (Base 5.27.1.4).
pub(super) const VOLATILE_WRITE_CACHE: FeatureId = FeatureId(0x06);

/// The values of all features but those of interrupts and of power.
#[derive(Debug)]
pub(super) struct Features {
    /// 06h: WCE.
    pub(super) write_cache: bool,
    /// 07h, as allocated.
    pub(super) queues: NumberOfQueues,
    /// Maximum number of I/O queues, 0's based.
    max_queues: u16,
    /// 0Bh.
    pub(super) event_configuration: u32,
    remembered: [u32; REMEMBERED.len()],
}

impl Features {
    /// The defaults of a controller with up to `queue_pairs` I/O queue pairs.
    pub(super) fn new(queue_pairs: u16) -> Features {
        let max_queues = queue_pairs - 1;
        Features {
            write_cache: true,
            queues: NumberOfQueues::new()
                .with_submission(max_queues)
                .with_completion(max_queues),
            max_queues,
            event_configuration: 0,
            remembered: [0; REMEMBERED.len()],
        }
    }

    /// A controller reset: nothing is saved across it.
    pub(super) fn reset(&mut self) {
        *self = Features::new(self.max_queues + 1);
    }

    /// The feature that is only remembered under `id`.
    pub(super) fn remembered(&mut self, id: FeatureId) -> Option<&mut u32> {
        let index = REMEMBERED.iter().position(|&known| known == id)?;
        Some(&mut self.remembered[index])
    }

    /// Allocates what is requested as far as there is (Base 5.27.1.5).
    pub(super) fn allocate_queues(&mut self, requested: NumberOfQueues) {
        self.queues = NumberOfQueues::new()
            .with_submission(requested.submission().min(self.max_queues))
            .with_completion(requested.completion().min(self.max_queues));
    }
}
