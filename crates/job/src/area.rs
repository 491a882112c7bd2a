//! Areas: the part of a device that each job uses.

use crate::{BlockSizeSplit, Job, JobError, RandomDistribution, Verify};
use std::ops::Range;

/// Largest number of verified blocks: verification keeps 4 bytes per block in memory, 1 GiB at most.
const MAX_VERIFIED: u64 = 1 << 28;

/// The part of a device that its jobs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Bytes of the device before the area, a multiple of every block size of the job.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Unit in bytes in which the jobs share the area, a multiple of every block size; `None`: each job has the
    /// whole area.
    unit: Option<u64>,
}

impl Area {
    /// Returns the blocks of `bs` bytes that job `at` of the `jobs` on the device uses: all of them, or, if data is
    /// verified, its share, so that no job overwrites data that another verifies. Blocks are counted from the start
    /// of the device.
    pub fn share(self, at: usize, jobs: usize, bs: u64) -> Range<u64> {
        let before = self.offset / bs;
        let own = self.own(at, jobs, bs);
        before + own.start..before + own.end
    }

    /// True if some bytes of the device belong to both areas.
    pub fn overlaps(self, other: Area) -> bool {
        let end = |area: Area| area.offset.saturating_add(area.bytes);
        self.offset < end(other) && other.offset < end(self)
    }

    /// Returns the blocks of [`Area::share`], counted from the start of the area.
    fn own(self, at: usize, jobs: usize, bs: u64) -> Range<u64> {
        let Some(unit) = self.unit else {
            return 0..self.bytes / bs;
        };
        let (at, jobs, units) = (at as u64, jobs as u64, self.bytes / unit);
        let each = units / jobs;
        let end = if at + 1 == jobs {
            units
        } else {
            (at + 1) * each
        };
        at * each * unit / bs..end * unit / bs
    }
}

/// Largest I/O in bytes. An I/O that is longer than the device's largest transfer is split into parts.
pub const MAX_IO: u32 = 1 << 30;

impl Job {
    /// Returns the area that this job uses on a device of `size` bytes in logical blocks of `block` bytes.
    ///
    /// # Errors
    /// [`JobError`], if the job does not fit the device.
    pub fn area(&self, size: u64, block: u32) -> Result<Area, JobError> {
        let wrong = |flag, problem| Err(JobError { flag, problem });
        let rest = size.saturating_sub(self.offset);
        if rest == 0 && size > 0 {
            return wrong(
                "--offset",
                format!(
                    "{} is past the end of the namespace: it has {size} bytes",
                    self.offset
                ),
            );
        }
        let used = self.size.unwrap_or(rest);
        if used > rest {
            let from = match self.offset {
                0 => String::new(),
                offset => format!(" from {offset}"),
            };
            return wrong(
                "--size",
                format!("{used}{from} is past the end of the namespace: it has {size} bytes"),
            );
        }
        for bs in self.sizes() {
            if !bs.is_multiple_of(block.into()) {
                return wrong(
                    "--bs",
                    format!("{bs} is not a multiple of the device's block of {block} bytes"),
                );
            }
            let (spacing, of) = match self.block_align.filter(|_| self.rw.is_random()) {
                Some(align) => (align, "--blockalign"),
                None => {
                    let split = self.split().map(BlockSizeSplit::common_divisor);
                    (split.unwrap_or(bs), "--bs")
                }
            };
            if !spacing.is_multiple_of(block.into()) {
                return wrong(
                    "--blockalign",
                    format!("{spacing} is not a multiple of the device's block of {block} bytes"),
                );
            }
            if spacing > 0 && !self.offset.is_multiple_of(spacing) {
                return wrong(
                    "--offset",
                    format!("{} is not a multiple of {of}, {spacing} bytes", self.offset),
                );
            }
            if spacing > 0 && used / spacing < bs.div_ceil(spacing) && used >= bs {
                return wrong(
                    "--blockalign",
                    format!("{used} bytes have no room for {bs} from a multiple of {spacing} on"),
                );
            }
            if bs > MAX_IO.into() {
                return wrong(
                    "--bs",
                    format!("{bs} is longer than an I/O can be: at most {MAX_IO}"),
                );
            }
            if used < bs && self.size.is_none() {
                return wrong(
                    "--bs",
                    format!("{bs} is more than the device has: {size} bytes"),
                );
            }
            if used < bs {
                return wrong(
                    "--size",
                    format!("{used} bytes hold no block of {bs} bytes"),
                );
            }
        }
        if let RandomDistribution::ZonedAbs(zones) = &self.random_distribution
            && zones.bytes() > used
        {
            return wrong(
                "--random_distribution",
                format!(
                    "zones of {} bytes are more than the {used} that are used",
                    zones.bytes()
                ),
            );
        }
        let unit = match self.verify {
            Verify::None => None,
            Verify::Crc32c => Some(self.unit(used)?),
        };
        Ok(Area {
            offset: self.offset,
            bytes: used,
            unit,
        })
    }

    /// Returns the unit in which the jobs share `bytes`; fails if a job's share would be too small or too large.
    fn unit(&self, bytes: u64) -> Result<u64, JobError> {
        let wrong = |flag, problem| Err(JobError { flag, problem });
        let Some(unit) = self.bs.common_multiple() else {
            return wrong(
                "--bs",
                format!(
                    "{}: no share is a whole number of blocks of every size; name other sizes",
                    self.bs
                ),
            );
        };
        let each = bytes / unit / self.numjobs as u64;
        for bs in self.bs.iter() {
            if bytes / bs > MAX_VERIFIED {
                return wrong(
                    "--size",
                    format!("verification of more than {MAX_VERIFIED} blocks: name a smaller size"),
                );
            }
            if each * (unit / bs) < self.iodepth as u64 {
                return wrong(
                    "--size",
                    format!(
                        "{} blocks of {bs} bytes are too few to verify {} jobs of depth {}: no two I/Os may meet on a block",
                        bytes / bs,
                        self.numjobs,
                        self.iodepth
                    ),
                );
            }
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tests::job;
    use crate::{BlockSizes, ReadWrite};
    use proptest::prelude::*;

    #[test]
    fn verified_jobs_share_the_area_without_overlap_or_gap() {
        let area = Area {
            offset: 0,
            bytes: 100 * 4096 + 512,
            unit: Some(4096),
        };
        let shares: Vec<_> = (0..3).map(|i| area.share(i, 3, 4096)).collect();
        assert_eq!(shares, [0..33, 33..66, 66..100]);
    }

    #[test]
    fn jobs_that_do_not_verify_have_all_of_it_in_their_own_blocks() {
        let area = job().area(100 * 4096 + 512, 512).unwrap();
        assert_eq!(area.share(1, 3, 4096), 0..100);
        assert_eq!(area.share(2, 3, 8192), 0..50);
    }

    #[test]
    fn an_offset_comes_before_the_first_block() {
        let job = |offset, size| Job {
            offset,
            size,
            ..job()
        };
        let area = job(8192, None).area(100 * 4096, 512).unwrap();
        assert_eq!(area.share(0, 1, 4096), 2..100);
        let area = job(8192, Some(40960)).area(100 * 4096, 512).unwrap();
        assert_eq!(area.share(0, 1, 4096), 2..12);
        for (offset, size) in [(100 * 4096, None), (512, None), (8192, Some(99 * 4096))] {
            let error = job(offset, size).area(100 * 4096, 512).unwrap_err();
            assert!(["--offset", "--size"].contains(&error.flag), "{error:?}");
        }
    }

    #[test]
    fn random_ios_begin_at_multiples_of_blockalign() {
        let job = |rw, block_align| Job {
            rw,
            bs: 512.into(),
            block_align,
            ..job()
        };
        let random = job(ReadWrite::RandRead, Some(4096));
        let area = random.area(100 * 4096 + 512, 512).unwrap();
        assert_eq!(area.share(0, 1, random.spacing(0)), 0..100);
        // Sequential I/Os follow each other without a gap, as in fio.
        assert_eq!(job(ReadWrite::Read, Some(4096)).spacing(0), 512);
        let refused = |job: Job, bytes| job.area(bytes, 512).unwrap_err().flag;
        assert_eq!(
            refused(job(ReadWrite::RandRead, Some(1000)), 1 << 20),
            "--blockalign"
        );
        assert_eq!(
            refused(job(ReadWrite::RandRead, Some(4096)), 2048),
            "--blockalign"
        );
        let late = Job {
            offset: 512,
            ..random
        };
        assert_eq!(refused(late, 1 << 20), "--offset");
    }

    #[test]
    fn zones_in_bytes_are_of_the_area() {
        let job = Job {
            random_distribution: "zoned_abs:50/64k:50/64k".parse().unwrap(),
            ..job()
        };
        assert!(job.area(128 << 10, 512).is_ok());
        let error = job.area(127 << 10, 512).unwrap_err();
        assert_eq!(error.flag, "--random_distribution");
    }

    fn sizes() -> impl Strategy<Value = BlockSizes> {
        let blocks = prop::collection::vec(1_u64..=32, 1..5);
        blocks.prop_map(|blocks| {
            let bytes: Vec<_> = blocks.iter().map(|blocks| blocks * 512).collect();
            bytes.try_into().expect("one at the least")
        })
    }

    proptest! {
        #[test]
        fn verified_shares_of_any_sizes_do_not_overlap(
            bs in sizes(),
            numjobs in 1_usize..20,
            iodepth in 1_usize..9,
            size in 1_u64..100_000_000,
        ) {
            let job = Job { bs, numjobs, iodepth, verify: Verify::Crc32c, ..job() };
            let Ok(area) = job.area(size, 512) else {
                return Ok(());
            };
            let mut end = 0;
            for index in 0..numjobs {
                let bs = job.bs.of_job(index);
                let share = area.share(index, numjobs, bs);
                prop_assert!(share.end - share.start >= iodepth as u64, "job {index}: {share:?}");
                // The bytes of each job begin where those of the job before end.
                prop_assert_eq!(share.start * bs, end);
                end = share.end * bs;
            }
            prop_assert!(end <= size);
        }
    }
}
