//! Assignment of devices to jobs.

use crate::Job;
use serde::{Deserialize, Serialize};

/// A job's work on one of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Number of the device, from 0.
    pub device: usize,
    /// Number of this work in the whole run, from 0. It seeds the random numbers, so that a device gets the same
    /// I/Os from a job of its own and from a job with several devices.
    pub index: usize,
    /// Index among the jobs on the device, from 0.
    pub at: usize,
    /// Number of jobs on the device.
    pub jobs: usize,
}

impl Job {
    /// Returns the assignments of job `job` on `devices` devices; there is at least one of each. If there are as
    /// many jobs as devices or more, job i has device i modulo the number of devices. If there are fewer jobs,
    /// device i belongs to job i modulo the number of jobs, and a job does on each of its devices what it would do
    /// on it alone: queue depth, arrivals and number of I/Os are per device.
    pub fn assignments(&self, job: usize, devices: usize) -> Vec<Assignment> {
        if devices <= self.numjobs {
            let devices = devices.max(1);
            let device = job % devices;
            return vec![Assignment {
                device,
                index: job,
                at: job / devices,
                jobs: self.jobs_on(device, devices),
            }];
        }
        let all = (job..devices).step_by(self.numjobs.max(1));
        all.map(|device| Assignment {
            device,
            index: device,
            at: 0,
            jobs: 1,
        })
        .collect()
    }

    /// Returns the number of jobs on device `device` of `devices`.
    pub fn jobs_on(&self, device: usize, devices: usize) -> usize {
        match devices <= self.numjobs {
            true => (self.numjobs + devices - 1 - device) / devices.max(1),
            false => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignments(numjobs: usize, devices: usize) -> Vec<Vec<Assignment>> {
        let job = Job {
            numjobs,
            ..Job::random_reads(1)
        };
        (0..numjobs)
            .map(|index| job.assignments(index, devices))
            .collect()
    }

    fn devices_of(numjobs: usize, devices: usize) -> Vec<Vec<usize>> {
        let all = assignments(numjobs, devices).into_iter();
        all.map(|of| of.iter().map(|one| one.device).collect())
            .collect()
    }

    #[test]
    fn jobs_are_spread_over_devices_and_devices_over_fewer_jobs() {
        assert_eq!(devices_of(1, 1), [[0]]);
        assert_eq!(devices_of(3, 2), [[0], [1], [0]]);
        assert_eq!(devices_of(1, 3), [[0, 1, 2]]);
        assert_eq!(devices_of(2, 5), [vec![0, 2, 4], vec![1, 3]]);
    }

    #[test]
    fn every_device_has_its_jobs_and_every_index_is_used_once() {
        for numjobs in 1..9 {
            for devices in 1..9 {
                let all = assignments(numjobs, devices).concat();
                assert_eq!(all.len(), numjobs.max(devices));
                let mut indices: Vec<_> = all.iter().map(|one| one.index).collect();
                indices.sort_unstable();
                assert!(indices.into_iter().eq(0..all.len()));
                for device in 0..devices {
                    let there: Vec<_> = all.iter().filter(|one| one.device == device).collect();
                    let places = there.iter().map(|one| one.at);
                    assert!(places.eq(0..there.len()) && !there.is_empty());
                    assert!(there.iter().all(|one| one.jobs == there.len()));
                }
            }
        }
    }

    #[test]
    fn a_device_is_given_the_same_work_by_a_job_of_its_own_and_by_one_with_several() {
        let indices = |numjobs| {
            let mut all = assignments(numjobs, 7).concat();
            all.sort_unstable_by_key(|one| one.device);
            all.iter().map(|one| one.index).collect::<Vec<_>>()
        };
        assert_eq!(indices(1), indices(7));
        assert_eq!(indices(3), indices(7));
    }
}
