//! Costs of a profile for one job, in whole nanoseconds.

use crate::TwinError;
use crate::device;
use crate::path::Path;
use crate::setup::{DispatchThread, TwinSetup};
use crate::times::Doing;
use joulio_job::{Job, Method};
use joulio_model::machine::costs::{Costs, IdleState, SchedulerCosts};
use joulio_model::{CoreState, Figure, MachineProfile};
use joulio_units::{Nanos, Watts};
use joulio_wait::{Adaptive, IdleCost, StepKind, StepSet, WaitCosts};

/// Tick of a kernel with CONFIG_HZ=250, as in Debian and Ubuntu.
const DEFAULT_TICK: Nanos = Nanos::from_millis(4);

/// Times that each step takes, and the other costs of a machine's path.
#[derive(Clone, Debug)]
pub(crate) struct StepCosts {
    pub(crate) app: Nanos,
    /// Time of a system call that does nothing.
    pub(crate) crossing: Nanos,
    /// Time to enter the kernel, and to leave it, on a path whose I/O is a system call.
    pub(crate) enter: Nanos,
    pub(crate) leave: Nanos,
    /// Time from the caller to the doorbell, by load.
    pub(crate) submit: Vec<Nanos>,
    /// Number of commands per I/O, by load.
    pub(crate) parts: Vec<u32>,
    /// Time between the doorbell and the first poll.
    pub(crate) rung: Nanos,
    /// Times of the scheduler on a busy core, and on one that was idle; `None`: no scheduler.
    pub(crate) scheduler: Option<[SchedulerTimes; 2]>,
    pub(crate) complete: Nanos,
    pub(crate) poll: Nanos,
    pub(crate) switch: Nanos,
    pub(crate) interrupt: Nanos,
    pub(crate) wake: Nanos,
    /// Time to set a timer, and time of its interrupt's handler.
    pub(crate) timer_set: Nanos,
    pub(crate) timer_fires: Nanos,
    pub(crate) timer_slack: Nanos,
    /// Time that a cold start adds after idle time, by the length of the idle time.
    pub(crate) cold: ColdStart,
    /// Fraction of switches and wake-ups that the system charges to no thread.
    pub(crate) uncharged_share: f64,
    /// Parts of `switch` and `wake` that the system charges to no thread.
    pub(crate) switch_uncharged: Nanos,
    pub(crate) wake_uncharged: Nanos,
    /// Time of a user interrupt, which is delivered straight to the thread.
    pub(crate) user_interrupt: Nanos,
    /// Time to leave a pause.
    pub(crate) pause_exit: Nanos,
    /// Time before and after a block, in addition to the other costs.
    pub(crate) block_before: Nanos,
    pub(crate) block_after: Nanos,
    pub(crate) slice: Nanos,
    pub(crate) tick: Nanos,
    /// Factors on the time of code, by the activity of the other hardware thread of its core.
    pub(crate) smt: [f64; Doing::COUNT],
    /// Fraction of a core's watts that its other hardware thread adds.
    pub(crate) smt_watts_share: f64,
    /// Activity as which the path's work is counted.
    pub(crate) work: Doing,
    pub(crate) idle: Vec<IdleStateTimes>,
    /// The steps that the machine has.
    pub(crate) can: StepSet,
    /// Longest time of one `tpause` or `umwait`.
    pub(crate) pause: Nanos,
}

/// Time that a cold start adds: at least `least`, approaching `least + grows`, and halfway there after `half` of
/// idle time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColdStart {
    least: Nanos,
    grows: Nanos,
    half: Nanos,
}

impl ColdStart {
    pub(crate) fn after(self, idle: Nanos) -> Nanos {
        if self.grows == Nanos::ZERO || idle == Nanos::ZERO {
            return self.least;
        }
        let [grows, idle, half] = [self.grows, idle, self.half].map(|time| time.0);
        let grown = match grows.checked_mul(idle) {
            Some(product) => product / (idle + half),
            None => (u128::from(grows) * u128::from(idle) / u128::from(idle + half)) as u64,
        };
        self.least.plus(Nanos(grown))
    }
}

/// Times that a scheduler takes for a read and for a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerTimes {
    /// Time before the doorbell.
    pub(crate) before: [Nanos; 2],
    /// Time under the lock that the device's queues share.
    pub(crate) locked: [Nanos; 2],
    /// Time at the completion.
    pub(crate) after: [Nanos; 2],
}

impl SchedulerTimes {
    fn new(costs: &SchedulerCosts, slowdown: f64) -> SchedulerTimes {
        let whole = [&costs.read_ns, &costs.write_ns].map(|figure| figure.value * slowdown);
        let locked = costs.locked_share.value;
        SchedulerTimes {
            before: whole.map(|whole| Nanos::nearest(whole * (1.0 - locked) / 2.0)),
            locked: whole.map(|whole| Nanos::nearest(whole * locked)),
            after: whole.map(|whole| Nanos::nearest(whole * (1.0 - locked) / 2.0)),
        }
    }
}

/// An idle state with its times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleStateTimes {
    pub(crate) state: IdleState,
    pub(crate) enter: Nanos,
    pub(crate) exit: Nanos,
    /// Expected idle time from which on the governor chooses the state.
    pub(crate) chosen: Nanos,
}

/// Linux's limit of a user-level wait, in TSC cycles (arch/x86/kernel/cpu/umwait.c).
const MAX_TSC: f64 = 100_000.0;

impl StepCosts {
    /// Returns the time from a thread's decision to sleep until the CPU is idle.
    pub(crate) fn to_sleep(&self) -> Nanos {
        self.to_timer() + self.switch
    }

    /// Returns the time from a thread's decision to sleep until the timer is set.
    pub(crate) fn to_timer(&self) -> Nanos {
        let work = match self.work {
            // The kernel's path already runs in the kernel.
            Doing::Kernel => Nanos::ZERO,
            _ => self.crossing,
        };
        work + self.timer_set
    }

    /// Returns the costs by which a policy plans on `machine`, at its reference frequency.
    pub(crate) fn wait_costs(&self, machine: &MachineProfile) -> WaitCosts {
        let watts = |state| machine.core_watts(state);
        let some = |figure: &Option<Figure>| figure.as_ref().map_or(0.0, |figure| figure.value);
        let idle = self.idle.iter().map(|idle| IdleCost {
            chosen: idle.chosen,
            exit: idle.exit,
            watts: watts(idle.state.into()),
        });
        WaitCosts {
            poll: self.poll,
            sleep_before: self.to_sleep(),
            sleep_after: self.timer_slack + self.timer_fires + self.wake,
            block_before: self.poll + self.block_before + self.switch,
            block_after: self.interrupt + self.wake + self.block_after,
            cold: [
                self.cold.least,
                self.cold.least + self.cold.grows,
                self.cold.half,
            ],
            pause_exit: self.pause_exit,
            user_interrupt: self.user_interrupt,
            around: self.app
                + self.submit.first().copied().unwrap_or_default()
                + self.leave
                + self.complete,
            spin: watts(CoreState::Spin),
            kernel: watts(CoreState::Kernel),
            pause: watts(CoreState::PauseC02),
            monitor: watts(CoreState::Monitor),
            package: Watts(some(&machine.uncore_watts) + some(&machine.uncore_active_watts)),
            wall: Watts(machine.base_watts.value + some(&machine.uncore_active_watts)),
            idle: idle.collect(),
            timer: machine.wake.timer_joules.joules(),
            interrupt: machine.wake.interrupt_joules.joules(),
        }
    }

    /// Returns the time to deliver `count` completions.
    pub(crate) fn complete_all(&self, count: usize) -> Nanos {
        Nanos(self.complete.0 * count as u64)
    }

    /// Returns the costs of a job. At a lower frequency code takes longer. Polls do not, since they wait for
    /// memory; nor do times that other clocks determine: timer slack, slices, idle states, and pauses.
    pub(crate) fn new(
        setup: &TwinSetup<'_>,
        costs: &Costs,
        job: &Job,
        on: Path,
    ) -> Result<StepCosts, TwinError> {
        let machine = setup.machine;
        let pace = setup.frequency.map_or(1.0, |ratio| 1.0 / ratio.get());
        let ns = |figure: &Figure| Nanos::nearest(figure.value * pace);
        let some = |figure: &Option<Figure>| figure.as_ref().map_or(Nanos::ZERO, ns);
        let fixed_ns = |figure: &Figure| Nanos::nearest(figure.value);
        let fixed_some = |figure: &Option<Figure>| figure.as_ref().map_or(Nanos::ZERO, fixed_ns);
        let share = |figure: &Option<Figure>| figure.as_ref().map_or(1.0, |figure| figure.value);
        let uncharged_share = 1.0 - share(&costs.charged_share);
        let half = |figure: &Figure| {
            let whole = ns(figure);
            let first = Nanos(whole.0 / 2);
            (first, whole - first)
        };
        let (path, work) = match on {
            Path::Kernel => (&costs.kernel, Doing::Kernel),
            Path::Uring => (costs.uring.as_ref().unwrap_or(&costs.kernel), Doing::Kernel),
            Path::Sqpoll => {
                let uring = costs.sqpoll.as_ref().or(costs.uring.as_ref());
                (uring.unwrap_or(&costs.kernel), Doing::Kernel)
            }
            Path::User => (&costs.user, Doing::Spin),
        };
        let (enter, leave) = match on {
            Path::Kernel | Path::Uring => half(&costs.crossing_ns),
            Path::Sqpoll | Path::User => (Nanos::ZERO, Nanos::ZERO),
        };
        let mut fixed = ns(&path.submit_ns);
        if setup.file_system {
            fixed += some(&costs.file_system_ns);
        }
        if setup.dispatch == DispatchThread::Kworker {
            fixed += ns(&costs.wake_ns) + ns(&costs.switch_ns);
        }
        let devices = setup.devices.iter();
        let parts = |bytes| {
            let of_each = devices.clone().map(|profile| device::parts(profile, bytes));
            of_each.max().unwrap_or(1)
        };
        let submit = job.all_loads().into_iter().map(|load| {
            let data = costs.kib_ns.value * pace * f64::from(load.bs) / 1024.0;
            Nanos(fixed.0 * u64::from(parts(load.bs))) + Nanos::nearest(data)
        });
        let scheduler = scheduler(costs, setup.scheduler)?.map(|scheduler| {
            let cold = share(&costs.cold_slowdown);
            [1.0, cold].map(|slowdown| SchedulerTimes::new(scheduler, slowdown * pace))
        });
        let least = ns(&costs.cold_ns);
        let cold = ColdStart {
            least,
            grows: some(&costs.cold_max_ns).since(least),
            half: fixed_some(&costs.cold_half_ns),
        };
        let (timer_set, timer_fires) = half(&costs.timer_ns);
        let (block_before, block_after) = half(&path.block_ns);
        let allowed = costs.idle_up_to(setup.max_cstate).iter();
        let idle = allowed.map(|idle| IdleStateTimes {
            state: idle.state,
            enter: some(&idle.enter_ns),
            exit: fixed_ns(&idle.exit_ns) + fixed_some(&path.exit_ns),
            chosen: fixed_ns(idle.chosen()),
        });
        let hertz = machine.frequency.as_ref().map(|law| &law.reference_hertz);
        let watts = &machine.core_watts;
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Sleep)
            .with(StepKind::Block);
        if watts.monitored().is_some() {
            can = can.with(StepKind::Pause).with(StepKind::Monitor);
        }
        if costs.user_interrupt_ns.is_some() {
            can = can.with(StepKind::UserInterrupt);
        }
        Ok(StepCosts {
            app: ns(&costs.app_ns),
            crossing: ns(&costs.crossing_ns),
            enter,
            leave,
            submit: submit.collect(),
            parts: job.all_loads().iter().map(|load| parts(load.bs)).collect(),
            rung: match on {
                Path::Uring => ns(&costs.crossing_ns),
                _ => Nanos::ZERO,
            },
            scheduler,
            complete: ns(&path.complete_ns),
            poll: fixed_ns(&costs.poll_ns),
            switch: ns(&costs.switch_ns),
            interrupt: ns(&costs.interrupt_ns),
            wake: ns(&costs.wake_ns),
            timer_set,
            timer_fires,
            timer_slack: fixed_ns(&costs.timer_slack_ns),
            cold,
            uncharged_share,
            switch_uncharged: ns(&costs.switch_ns).scaled(uncharged_share),
            wake_uncharged: ns(&costs.wake_ns).scaled(uncharged_share),
            user_interrupt: some(&costs.user_interrupt_ns),
            pause_exit: fixed_some(&costs.pause_exit_ns),
            block_before,
            block_after,
            slice: fixed_ns(&costs.slice_ns),
            tick: costs.tick_ns.as_ref().map_or(DEFAULT_TICK, fixed_ns),
            smt: smt(costs),
            smt_watts_share: costs
                .smt_watts_share
                .as_ref()
                .map_or(0.0, |share| share.value),
            work,
            idle: idle.collect(),
            can,
            pause: Nanos::from_seconds(MAX_TSC / hertz.map_or(2e9, |hertz| hertz.value)),
        })
    }
}

/// Returns the costs by which a policy plans, on the machine of `setup` for `job` with `method`.
///
/// # Errors
/// [`TwinError`], if the machine has no costs or lacks the job's scheduler.
pub fn wait_costs(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
) -> Result<WaitCosts, TwinError> {
    Ok(step_costs(job, method, setup)?.wait_costs(setup.machine))
}

/// Returns the adaptive policy for `job` with `method`. It may use all steps of the machine except user interrupts,
/// which a thread must be given first.
pub(crate) fn adaptive(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
) -> Result<Adaptive, TwinError> {
    let costs = step_costs(job, method, setup)?;
    let steps = costs.can.without(StepKind::UserInterrupt);
    let costs = costs.wait_costs(setup.machine);
    Ok(Adaptive::new(costs, job.goal, job.numjobs, steps))
}

/// Returns the costs of `method` on the machine of `setup`.
fn step_costs(job: &Job, method: Method, setup: &TwinSetup<'_>) -> Result<StepCosts, TwinError> {
    let machine = setup.machine;
    let costs = machine.costs.as_ref().ok_or_else(|| TwinError::NoCosts {
        machine: machine.name.clone(),
    })?;
    StepCosts::new(setup, costs, job, Path::of(method))
}

/// Returns the factors on the time of code, by the activity of the other hardware thread of its core. `tpause` and
/// `umwait` slow nothing down: C0.2 leaves the core to the other thread (SDM, TPAUSE).
fn smt(costs: &Costs) -> [f64; Doing::COUNT] {
    let work = &costs.smt_slowdown;
    let spin = costs.smt_spin_slowdown.as_ref().unwrap_or(work);
    Doing::ALL.map(|doing| match doing {
        Doing::Pause | Doing::Monitor => 1.0,
        Doing::Spin => spin.value.max(1.0),
        Doing::Kernel | Doing::Neighbour | Doing::OtherIrq => work.value.max(1.0),
    })
}

/// Returns the costs of the job's scheduler.
fn scheduler<'a>(
    costs: &'a Costs,
    name: Option<&str>,
) -> Result<Option<&'a SchedulerCosts>, TwinError> {
    let Some(name) = name else {
        return Ok(None);
    };
    let known = costs.scheduler.get(name);
    if known.is_none() && name == "none" {
        return Ok(None);
    }
    known.map(Some).ok_or_else(|| TwinError::Job {
        field: "scheduler",
        problem: match costs.scheduler.is_empty() {
            true => "the machine's profile has no [costs.scheduler]: leave it out".into(),
            false => {
                let names: Vec<_> = costs.scheduler.keys().map(String::as_str).collect();
                format!(
                    "'{name}' is not in the machine's profile: it has {}",
                    names.join(", ")
                )
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_job::{CompletionMode, EngineName};

    #[test]
    fn a_machine_with_mwaitx_waits_for_a_time_by_it_too() {
        let mut machine = MachineProfile::builtin("generic-server").unwrap();
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Adaptive,
        };
        let watts = &mut machine.core_watts;
        (watts.monitor, watts.pause_c01) = (watts.pause_c02.take(), None);
        machine.validate().unwrap();
        let setup = TwinSetup::new(&machine, &[]);
        let costs = step_costs(&Job::random_reads(1), method, &setup).unwrap();
        assert!(costs.can.has(StepKind::Pause) && costs.can.has(StepKind::Monitor));
        let costs = costs.wait_costs(&machine);
        assert_eq!(costs.pause, costs.monitor);
        assert!(costs.pause < costs.spin, "{costs:?}");
    }

    #[test]
    fn the_costs_of_a_machine_that_is_not_known_are_those_of_the_generic_server() {
        let machine = MachineProfile::builtin("generic-server").unwrap();
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Adaptive,
        };
        let setup = TwinSetup::new(&machine, &[]);
        let costs = wait_costs(&Job::random_reads(1), method, &setup).unwrap();
        assert_eq!(costs, WaitCosts::generic());
    }
}
