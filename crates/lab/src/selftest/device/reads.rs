//! Reads whose data is known, because all of it was read before with polling.

use super::super::error::SelftestError;
use joulio_cpu::Tsc;
use joulio_device::{Device, DmaBuffer};
use joulio_kernel_io::Interrupts;
use joulio_nvme::wait::WaitCounters;
use joulio_nvme::{Completed, Controller, Faults, Namespace, PollGroup};
use joulio_units::Nanos;
use joulio_wait::Policy;
use joulio_workload::{CompletionMode, ThreadUsage, thread_usage};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, Instant};

/// Size of a read in bytes.
const BYTES: usize = 4096;
/// Largest number of reads in the known part of the device: 4 MiB.
const MAX_PLACES: u64 = 1024;
/// Largest number of reads in flight.
const BUFFERS: usize = 32;
/// Longest time for a completion mode to learn how long a read takes.
const SETTLE: Duration = Duration::from_secs(1);
/// First bytes of a buffer before a read, so that old data cannot be mistaken for the device's.
const UNREAD: [u8; 16] = [0xa5; 16];

/// Queue of a device, with a digest of each place of its known part.
pub struct VerifiedReads<D: Device> {
    controller: Controller<D>,
    namespace: Namespace,
    group: PollGroup<D>,
    buffers: Vec<DmaBuffer>,
    /// Number of places of [`BYTES`] each, from the first block on.
    places: u64,
    digests: Vec<u64>,
    /// Number of reads so far, which determines the place of the next one.
    sent: u64,
}

/// Reads of one part of the test, with everything that was counted.
#[derive(Default)]
pub struct ReadsDone {
    /// Number of reads requested.
    pub requested: u64,
    /// Reads that completed without an error.
    pub ios: u64,
    /// Reads that completed with an error.
    pub errors: u64,
    /// Reads that returned wrong data.
    pub wrong: u64,
    /// Number of places that were read.
    pub places: u64,
    /// Number of different contents of these places: only between these would a read of the wrong place be noticed.
    pub contents: u64,
    /// Times that the thread had to wait for completions.
    pub waited: u64,
    pub wait: WaitCounters,
    pub faults: Faults,
    /// Interrupts of the device that the kernel's handler took, from /proc/interrupts; `None`: the file has no line for
    /// the device.
    pub kernel: Option<u64>,
    /// CPU time and context switches of the thread.
    pub usage: ThreadUsage,
    /// TSC cycles of each read, from its submission to its completion.
    pub took: Vec<u64>,
    /// TSC cycles of sending each read, until its doorbell was written.
    pub sending: Vec<u64>,
}

/// Place and start time of a read in flight.
#[derive(Clone, Copy)]
struct Sent {
    place: u64,
    at: u64,
}

impl<D: Device> VerifiedReads<D> {
    pub fn new(
        controller: Controller<D>,
        namespace: Namespace,
    ) -> Result<VerifiedReads<D>, SelftestError> {
        let depth = BUFFERS.min(controller.max_depth());
        let queue = controller.create_queue_pair(depth)?;
        let buffers = controller.allocate_buffers(depth, BYTES)?;
        let places = (namespace.size() / BYTES as u64).min(MAX_PLACES);
        if places == 0 {
            return Err(SelftestError::TooSmall(controller.name().to_owned()));
        }
        Ok(VerifiedReads {
            namespace,
            group: PollGroup::new(vec![queue]),
            buffers,
            places,
            digests: Vec::new(),
            sent: 0,
            controller,
        })
    }

    /// Sets the completion mode for all later waits.
    pub fn wait_by(&mut self, mode: CompletionMode) -> Result<(), SelftestError> {
        let unavailable = |reason: String| SelftestError::Unavailable { mode, reason };
        let policy = mode.policy();
        let policy = policy.ok_or_else(|| unavailable("it is the kernel's".into()))?;
        let queue = &mut self.group.queues()[0];
        let set = queue.set_policy(policy);
        set.and_then(|()| self.group.attach())
            .map_err(|error| unavailable(error.to_string()))
    }

    /// Reads until the completion mode has learnt how long a read takes, if it has to.
    fn settle(&mut self) -> Result<(), SelftestError> {
        let begun = Instant::now();
        loop {
            let learning = self.group.queues()[0].info().policy.learning();
            if learning == Nanos::ZERO || begun.elapsed() > SETTLE {
                return Ok(());
            }
            self.one()?;
        }
    }

    /// Reads each place of the known part once, with polling.
    pub fn learn(&mut self) -> Result<(), SelftestError> {
        self.wait_by(CompletionMode::Poll)?;
        let mut digests = Vec::new();
        for place in 0..self.places {
            self.send(place, 0)?;
            let mut digest = None;
            self.reap(|_, done| {
                if done.status.is_success() {
                    digest = done.buffer.as_ref().map(digest_of);
                }
                done.buffer
            })?;
            digests.push(digest.ok_or(SelftestError::Unreadable(place * BYTES as u64))?);
        }
        self.digests = digests;
        Ok(())
    }

    /// Reads `ios` random places with `mode`, with up to `depth` reads in flight.
    pub fn read(
        &mut self,
        mode: CompletionMode,
        depth: usize,
        ios: u64,
    ) -> Result<ReadsDone, SelftestError> {
        self.wait_by(mode)?;
        self.settle()?;
        let spare = self.buffers.split_off(depth.min(self.buffers.len()));
        let mut done = ReadsDone {
            requested: ios,
            places: self.places,
            contents: self.digests.iter().collect::<HashSet<_>>().len() as u64,
            ..ReadsDone::default()
        };
        let before = self.counts();
        let ended = self.read_all(ios, &mut done);
        let after = self.counts();
        self.buffers.extend(spare);
        ended?;
        done.wait = after.wait - before.wait;
        done.faults = after.faults - before.faults;
        let pair = after.interrupts.zip(before.interrupts);
        let came = pair.map(|(now, then)| now.since(&then));
        done.kernel = came.and_then(|came| handled(&came, self.controller.name()));
        done.usage = after.usage.since(before.usage);
        Ok(done)
    }

    fn read_all(&mut self, ios: u64, done: &mut ReadsDone) -> Result<(), SelftestError> {
        let (mut sent, mut ended) = (Vec::new(), 0);
        let mut waits = self.waits();
        while ended < ios {
            while (sent.len() as u64) < ios && !self.buffers.is_empty() {
                let place = self.next_place();
                let at = Tsc::now();
                self.send(place, sent.len() as u64)?;
                done.sending.push(Tsc::now().wrapping_sub(at));
                sent.push(Sent { place, at });
            }
            let digests = std::mem::take(&mut self.digests);
            let reaped = self.reap(|tag, command| {
                let Some(sent) = usize::try_from(tag).ok().and_then(|tag| sent.get(tag)) else {
                    done.errors += 1;
                    return command.buffer;
                };
                done.took.push(Tsc::now().wrapping_sub(sent.at));
                let digest = command.buffer.as_ref().map(digest_of);
                let expected = digests.get(sent.place as usize).copied();
                match command.status.is_success() {
                    true => done.ios += 1,
                    false => done.errors += 1,
                }
                done.wrong += u64::from(command.status.is_success() && digest != expected);
                command.buffer
            });
            self.digests = digests;
            ended += reaped? as u64;
            let before = std::mem::replace(&mut waits, self.waits());
            done.waited += u64::from(waits > before);
        }
        Ok(())
    }

    /// Returns the number of pauses, waits for a store, and blocks so far.
    fn waits(&mut self) -> u64 {
        let wait = self.group.counters();
        wait.pauses + wait.monitors + wait.blocks
    }

    /// Reads once, at the next place.
    pub fn one(&mut self) -> Result<(), SelftestError> {
        let place = self.next_place();
        self.send(place, 0)?;
        self.reap(|_, done| done.buffer)?;
        Ok(())
    }

    /// Sends a read of `place` and writes the doorbell.
    fn send(&mut self, place: u64, tag: u64) -> Result<(), SelftestError> {
        let mut buffer = self.buffers.pop().ok_or(SelftestError::NoBuffer)?;
        buffer.write(0, &UNREAD);
        buffer.write(BYTES - UNREAD.len(), &UNREAD);
        let blocks = BYTES as u32 / self.namespace.block_size();
        let queue = &mut self.group.queues()[0];
        let lba = place * u64::from(blocks);
        let sent = queue.read(&self.namespace, lba, blocks, buffer, tag);
        queue.ring();
        sent.map_err(|rejected| rejected.reason)?;
        Ok(())
    }

    /// Waits for the next completions, for which `each` returns the buffer; returns their number.
    fn reap(
        &mut self,
        mut each: impl FnMut(u64, Completed) -> Option<DmaBuffer>,
    ) -> Result<usize, SelftestError> {
        let buffers = &mut self.buffers;
        let reaped = self.group.reap(1, None, |_, done| {
            let tag = done.tag;
            buffers.extend(each(tag, done));
        });
        Ok(reaped?)
    }

    /// Returns the next place in a pseudo-random order, which is the same in every run (splitmix64).
    fn next_place(&mut self) -> u64 {
        self.sent += 1;
        let mut z = self.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % self.places
    }

    fn counts(&mut self) -> CountsNow {
        CountsNow {
            wait: self.group.counters(),
            faults: self.group.faults(),
            interrupts: Interrupts::read("/").ok(),
            usage: thread_usage(),
        }
    }
}

/// All counters at one moment.
struct CountsNow {
    wait: WaitCounters,
    faults: Faults,
    interrupts: Option<Interrupts>,
    usage: ThreadUsage,
}

/// Returns how often the kernel's handlers took an interrupt of the PCIe function `name`. VFIO names its interrupts by
/// the function's address: `vfio-msix[1](0000:01:00.0)`.
fn handled(interrupts: &Interrupts, name: &str) -> Option<u64> {
    let address = format!("({})", name.trim_start_matches("pcie:"));
    let lines = interrupts.lines().iter();
    let its: Vec<_> = lines
        .filter(|line| line.description.contains(&address))
        .collect();
    (!its.is_empty()).then(|| its.iter().flat_map(|line| &line.counts).sum())
}

fn digest_of(buffer: &DmaBuffer) -> u64 {
    let mut bytes = [0; BYTES];
    buffer.read(0, &mut bytes);
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_name::{DeviceKind, DeviceName};
    use crate::emulated::EmulatedUse;
    use joulio_emulator::EmulatedDevice;
    use joulio_nvme::ControllerOptions;

    fn reads(name: &str) -> VerifiedReads<EmulatedDevice> {
        let name: DeviceName = name.parse().unwrap();
        let DeviceKind::Emulated(emulated) = &name.kind else {
            panic!("an emulated device");
        };
        let how = ControllerOptions::default();
        let controller = emulated.open(&name.text, how, EmulatedUse::of_seed(1));
        let controller = controller.unwrap();
        let namespace = controller.namespace(1).unwrap();
        VerifiedReads::new(controller, namespace).unwrap()
    }

    #[test]
    fn each_read_completes_once_and_by_the_mode_that_was_requested() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 4096) as u8).collect();
        std::fs::write(file.path(), bytes).unwrap();
        let mut reads = reads(&format!("emulated:instant,file={}", file.path().display()));
        reads.learn().unwrap();
        for mode in [CompletionMode::Poll, CompletionMode::Interrupt] {
            let done = reads.read(mode, 8, 300).unwrap();
            assert_eq!((done.ios, done.errors, done.wrong), (300, 0, 0));
            assert_eq!((done.places, done.contents), (256, 256));
            assert_eq!(done.took.len(), 300);
            assert_eq!(done.wait.blocks > 0, mode == CompletionMode::Interrupt);
            assert_eq!(done.kernel, None);
        }
    }

    #[test]
    fn a_mode_that_has_to_learn_has_learnt_before_its_reads_count() {
        let mut reads = reads("emulated:instant,size=1M");
        reads.learn().unwrap();
        let hybrid: CompletionMode = "hybrid".parse().unwrap();
        reads.wait_by(hybrid).unwrap();
        let learning = |reads: &mut VerifiedReads<EmulatedDevice>| {
            reads.group.queues()[0].info().policy.learning()
        };
        assert_ne!(learning(&mut reads), Nanos::ZERO);
        reads.settle().unwrap();
        assert_eq!(learning(&mut reads), Nanos::ZERO);
        let done = reads.read(hybrid, 1, 20).unwrap();
        assert_eq!(
            (done.ios, done.took.len(), done.sending.len()),
            (20, 20, 20)
        );
    }

    #[test]
    fn other_data_than_was_there_is_counted() {
        let mut reads = reads("emulated:instant,size=64K");
        reads.learn().unwrap();
        for digest in &mut reads.digests {
            *digest ^= 1;
        }
        let done = reads.read(CompletionMode::Poll, 1, 20).unwrap();
        assert_eq!((done.ios, done.wrong), (20, 20));
    }
}
