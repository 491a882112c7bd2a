//! CPUs of a test.

use super::error::SelftestError;
use joulio_cpu::allowed_cpus;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// CPUs that this process may use, and the CPU that the test waits on.
pub struct PinnedCpus {
    /// CPU to which the calling thread is bound.
    pub own: usize,
    allowed: Vec<usize>,
}

impl PinnedCpus {
    /// Binds the calling thread to `own`, or to the CPU that it runs on.
    pub fn take(own: Option<usize>) -> Result<PinnedCpus, SelftestError> {
        let allowed = allowed_cpus().map_err(SelftestError::Affinity)?;
        let own = own.unwrap_or_else(sched_getcpu);
        let cpus = PinnedCpus { own, allowed };
        cpus.check("--cpu", own)?;
        pin(own)?;
        Ok(cpus)
    }

    /// Returns `wanted`, or any CPU other than the thread's own.
    pub fn other(&self, wanted: Option<usize>) -> Result<usize, SelftestError> {
        if let Some(wanted) = wanted {
            self.check("--store-cpu", wanted)?;
            if wanted == self.own {
                return Err(SelftestError::SameCpu(wanted));
            }
        }
        let other = |&cpu: &usize| cpu != self.own && wanted.is_none_or(|wanted| wanted == cpu);
        let mut allowed = self.allowed.iter().copied();
        allowed.find(other).ok_or(SelftestError::OneCpu(self.own))
    }

    fn check(&self, flag: &'static str, cpu: usize) -> Result<(), SelftestError> {
        match self.allowed.contains(&cpu) {
            true => Ok(()),
            false => Err(SelftestError::CpuNotAllowed { flag, cpu }),
        }
    }
}

/// Binds the calling thread to `cpu`.
pub fn pin(cpu: usize) -> Result<(), SelftestError> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| SelftestError::Pin { cpu, errno })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_cpu_is_another_that_may_be_used() {
        let cpus = PinnedCpus {
            own: 2,
            allowed: vec![2, 5],
        };
        assert_eq!(cpus.other(None).ok(), Some(5));
        assert_eq!(cpus.other(Some(5)).ok(), Some(5));
        let why = cpus.other(Some(2)).err().map(|error| error.to_string());
        assert_eq!(
            why.unwrap(),
            "--store-cpu: CPU 2 is the one that the test waits on: name another"
        );
        assert!(cpus.other(Some(4)).is_err());
        let alone = PinnedCpus {
            own: 2,
            allowed: vec![2],
        };
        let why = alone.other(None).err().map(|error| error.to_string());
        assert_eq!(
            why.unwrap(),
            "this test needs a second CPU, and may use only CPU 2"
        );
    }
}
