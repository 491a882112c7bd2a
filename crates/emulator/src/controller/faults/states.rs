//! Faults of the controller itself, and timed faults.

use super::super::EmulatedController;
use super::Faults;
use crate::fault::{Draw, Fault, FaultPlan, Faulted};
use joulio_nvme_spec::Status;
use joulio_units::Nanos;

/// Namespace Attribute Notices in feature 0Bh (Base figure 326).
const NAMESPACE_NOTICES: u32 = 1 << 8;

impl EmulatedController {
    /// Commits `fault` now, or, if it is a fault of a command, on the next I/O command that is fetched.
    pub fn inject(&mut self, fault: Fault) {
        let enabled = self.registers.running();
        self.faults
            .get_or_insert_with(|| Faults::new(&FaultPlan::default(), enabled));
        self.befall(fault);
        if self.registers.running() {
            self.report_events();
            self.interrupts.settle(self.now, &self.guest);
        }
    }

    /// Replaces the faults that are still planned; permanent faults remain. Commands and times count as before: from
    /// power-on, and from when CC.EN was first set. Faults of earlier commands are skipped; faults whose time has
    /// passed happen at once. Where no fault was planned or injected before, commands count from now, and times too,
    /// or from when CC.EN is set next, if it is not set.
    pub fn plan_faults(&mut self, plan: &FaultPlan) {
        let draw = Draw::new(plan);
        match &mut self.faults {
            Some(faults) => faults.draw.replace(draw),
            None if plan.is_empty() => {}
            None => self.faults = Some(Faults::new(plan, self.registers.running())),
        }
    }

    /// Returns the counts of faults committed so far.
    pub(in crate::controller) fn faulted(&self) -> Faulted {
        self.faults
            .as_ref()
            .map_or_else(Faulted::default, |faults| faults.done)
    }

    /// Begins the faults when CC.EN is set for the first time.
    pub(in crate::controller) fn begin_faults(&mut self) {
        let Some(faults) = &mut self.faults else {
            return;
        };
        if !std::mem::replace(&mut faults.enabled, true) {
            self.meet_faults_due(Nanos::ZERO);
        }
    }

    /// Applies the timed faults that are due. The first step of an enabled controller starts the clock, since a
    /// register write carries no time.
    #[cold]
    pub(in crate::controller) fn meet_due_faults(&mut self) {
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.enabled) else {
            return;
        };
        let origin = *faults.origin.get_or_insert(self.now);
        self.meet_faults_due(self.now.since(origin));
    }

    fn meet_faults_due(&mut self, since: Nanos) {
        while let Some(fault) = self
            .faults
            .as_mut()
            .and_then(|faults| faults.draw.due(since))
        {
            self.befall(fault);
        }
    }

    /// Time of the next fault that begins or ends without a command of the host.
    #[inline]
    pub(crate) fn alarm(&self) -> Option<Nanos> {
        let faults = self.faults.as_ref()?;
        let timed = faults.origin.zip(faults.draw.next());
        let timed = timed.map(|(origin, after)| Nanos(origin.0.saturating_add(after.0)));
        let ends = self.withheld_until().filter(|_| self.registers.running());
        [timed, ends].into_iter().flatten().min()
    }

    /// Commits a fault of the controller, or keeps one of a command for the next command.
    pub(super) fn befall(&mut self, fault: Fault) {
        let Some(faults) = &mut self.faults else {
            return;
        };
        match fault {
            Fault::Cfs if !self.registers.failed() => {
                faults.done.cfs += 1;
                self.registers.fail();
            }
            Fault::Removed => self.vanish(),
            Fault::AdminStuck => faults.admin_stuck = true,
            Fault::NamespaceRemoved(nsid) => self.lose_namespace(nsid),
            Fault::Full => faults.full = true,
            Fault::StuckReset => faults.stuck_reset = true,
            Fault::StuckFlr => faults.stuck_flr = true,
            Fault::Cfs => {}
            of_a_command => faults.draw.arm(of_a_command),
        }
    }

    /// Removes the controller. The reset drops all queues, pending interrupts and pages of doorbells through which it
    /// could reach the host, and without registers it never gets new ones.
    fn vanish(&mut self) {
        if self.registers.is_removed() {
            return;
        }
        self.reset();
        self.registers.vanish();
        if let Some(faults) = &mut self.faults {
            faults.done.removed += 1;
        }
    }

    /// Makes a namespace inactive: its commands fail, and the host is notified if it has enabled that.
    fn lose_namespace(&mut self, nsid: u32) {
        let exists = self.namespace_index(nsid).is_some();
        let Some(faults) = self.faults.as_mut().filter(|_| exists) else {
            return;
        };
        if faults.namespaces_removed.contains(&nsid) {
            return;
        }
        faults.namespaces_removed.push(nsid);
        faults.changed.push(nsid);
        faults.changed.sort_unstable();
        faults.done.namespaces_removed += 1;
        let status = Status::INVALID_NAMESPACE.do_not_retry();
        for (sqid, cid) in self.in_service.take_namespace(nsid) {
            self.log_failure(sqid, cid, nsid, 0, status);
            self.complete(sqid, cid, Err(status));
        }
        if self.features.event_configuration & NAMESPACE_NOTICES != 0 {
            self.events.namespace_changed();
        }
    }

    /// Whether namespace `nsid`, which exists, is inactive.
    pub(in crate::controller) fn is_inactive(&self, nsid: u32) -> bool {
        self.faults
            .as_ref()
            .is_some_and(|faults| faults.namespaces_removed.contains(&nsid))
    }

    /// Returns the namespaces that have changed since this was last forgotten, ascending.
    pub(in crate::controller) fn changed_namespaces(&self) -> &[u32] {
        self.faults.as_ref().map_or(&[], |faults| &faults.changed)
    }

    /// Forgets the changed namespaces, which the host has read.
    pub(in crate::controller) fn forget_changed_namespaces(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.changed.clear();
        }
    }

    /// Whether admin commands do not complete.
    #[inline]
    pub(in crate::controller) fn is_admin_stuck(&self) -> bool {
        self.faults
            .as_ref()
            .is_some_and(|faults| faults.admin_stuck)
    }

    /// Whether an admin command that is fetched is never completed.
    pub(in crate::controller) fn leaves_admin_command(&mut self) -> bool {
        let stuck = self.is_admin_stuck();
        if let Some(faults) = &mut self.faults {
            faults.done.admin_stuck += u64::from(stuck);
        }
        stuck
    }

    /// Whether the controller ignores that CC.EN is cleared.
    pub(in crate::controller) fn ignores_reset(&mut self) -> bool {
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.stuck_reset) else {
            return false;
        };
        faults.done.stuck_resets += 1;
        true
    }
    /// Whether the controller ignores a function-level reset.
    pub(crate) fn ignores_function_reset(&mut self) -> bool {
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.stuck_flr) else {
            return false;
        };
        faults.done.stuck_flrs += 1;
        true
    }
}
