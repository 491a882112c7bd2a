//! The costs of a profile, in whole nanoseconds, for one job.

use crate::job::{Path, TwinJob};
use crate::times::Doing;
use joulio_model::machine::costs::{Costs, IdleState};
use joulio_model::{Figure, MachineProfile};
use joulio_units::Nanos;
use joulio_wait::{StepKind, StepSet};

/// What each step takes.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    pub(crate) app: Nanos,
    /// A whole system call, without what it does.
    pub(crate) crossing: Nanos,
    /// Into the kernel, and out of it again, for a path that is a system call.
    pub(crate) enter: Nanos,
    pub(crate) leave: Nanos,
    pub(crate) submit: Nanos,
    pub(crate) complete: Nanos,
    pub(crate) look: Nanos,
    pub(crate) switch: Nanos,
    pub(crate) interrupt: Nanos,
    pub(crate) wake: Nanos,
    /// Setting a timer, and taking its interrupt.
    pub(crate) timer_set: Nanos,
    pub(crate) timer_fires: Nanos,
    pub(crate) timer_slack: Nanos,
    pub(crate) cold: Nanos,
    /// Before and after a block, beyond the rest.
    pub(crate) block_before: Nanos,
    pub(crate) block_after: Nanos,
    pub(crate) slice: Nanos,
    pub(crate) smt_slowdown: f64,
    /// What the path's work is paid for as.
    pub(crate) work: Doing,
    pub(crate) idle: Vec<IdlePrice>,
    /// The steps that the machine has.
    pub(crate) can: StepSet,
    /// The longest `tpause` and `umwait`.
    pub(crate) pause: Nanos,
}

/// An idle state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdlePrice {
    pub(crate) state: IdleState,
    pub(crate) exit: Nanos,
    pub(crate) residency: Nanos,
}

/// Linux's limit of a user wait in TSC cycles (arch/x86/kernel/cpu/umwait.c).
const MOST_TSC: f64 = 100_000.0;

impl Prices {
    pub(crate) fn new(machine: &MachineProfile, costs: &Costs, job: &TwinJob) -> Prices {
        let ns = |figure: &Figure| Nanos(figure.value.round() as u64);
        let half = |figure: &Figure| {
            let whole = ns(figure);
            let first = Nanos(whole.0 / 2);
            (first, whole - first)
        };
        let (path, work) = match job.path {
            Path::Kernel => (&costs.kernel, Doing::Kernel),
            Path::User => (&costs.user, Doing::Spin),
        };
        let (enter, leave) = match job.path {
            Path::Kernel => half(&costs.crossing_ns),
            Path::User => (Nanos::ZERO, Nanos::ZERO),
        };
        let data = costs.kib_ns.value * f64::from(job.bs) / 1024.0;
        let (timer_set, timer_fires) = half(&costs.timer_ns);
        let (block_before, block_after) = half(&path.block_ns);
        let idle = costs.idle.iter().map(|idle| IdlePrice {
            state: idle.state,
            exit: ns(&idle.exit_ns),
            residency: ns(&idle.residency_ns),
        });
        let hertz = machine.frequency.as_ref().map(|law| &law.reference_hertz);
        let watts = &machine.core_watts;
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Sleep)
            .with(StepKind::Block);
        if watts.pause_c02.is_some() {
            can = can.with(StepKind::Pause);
        }
        if watts.monitor.is_some() {
            can = can.with(StepKind::Monitor);
        }
        Prices {
            app: ns(&costs.app_ns),
            crossing: ns(&costs.crossing_ns),
            enter,
            leave,
            submit: ns(&path.submit_ns) + Nanos(data.round() as u64),
            complete: ns(&path.complete_ns),
            look: ns(&costs.look_ns),
            switch: ns(&costs.switch_ns),
            interrupt: ns(&costs.interrupt_ns),
            wake: ns(&costs.wake_ns),
            timer_set,
            timer_fires,
            timer_slack: ns(&costs.timer_slack_ns),
            cold: ns(&costs.cold_ns),
            block_before,
            block_after,
            slice: ns(&costs.slice_ns),
            smt_slowdown: costs.smt_slowdown.value,
            work,
            idle: idle.collect(),
            can,
            pause: Nanos::from_seconds(MOST_TSC / hertz.map_or(2e9, |hertz| hertz.value)),
        }
    }
}
