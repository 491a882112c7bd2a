//! One wait, step by step, as the twin models it: one I/O in flight, a core of its own, the user-space driver.
//!
//! The twin keeps sums but no steps. This is the same arithmetic for one I/O, with its steps; the tests compare both.

use joulio_model::machine::costs::Costs;
use joulio_model::{CoreState, MachineProfile};
use serde::Serialize;

/// Completion mode of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownMode {
    /// Spins.
    Poll,
    /// Sleeps with a timer for half of the mean time, then spins.
    Hybrid,
    /// Blocks for an interrupt.
    Interrupt,
    /// Pauses in TPAUSE until a user interrupt.
    Uintr,
}

/// Activity of the core in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// Submission and completion, which every mode has.
    Work,
    /// Polls without a result.
    Spin,
    /// Runs in the kernel: timers, context switches, interrupt handlers.
    Kernel,
    /// The core is idle.
    Idle,
    /// The core leaves an idle state: it draws the idle state's watts and runs nothing.
    Exit,
    /// Pauses in TPAUSE.
    Pause,
    /// Runs with cold caches.
    Cold,
}

/// Step of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShownStep {
    /// Activity of the core.
    pub doing: Doing,
    /// Length in nanoseconds.
    pub ns: f64,
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownWait {
    /// Steps from the submission to the end of the completion, in their order.
    pub steps: Vec<ShownStep>,
    /// Nanoseconds from the first step to the doorbell.
    pub rung: f64,
    /// Nanoseconds from the first step to the device's completion.
    pub finished: f64,
    /// Nanoseconds from the first step to the poll that finds the completion.
    pub seen: f64,
    /// Nanoseconds from the first step to the time for which the timer was set; `None`: the mode has no timer.
    pub timer_at: Option<f64>,
    /// Joules of the wake-up, in addition to those of the steps.
    pub wake_joules: f64,
    /// Watts in the idle state.
    pub idle_watts: f64,
}

/// Machine for one wait, with figures from its profile.
#[derive(Debug)]
pub struct ShownMachine<'a> {
    costs: &'a Costs,
    profile: &'a MachineProfile,
}

/// Times of an I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownIo {
    /// Nanoseconds that the device takes.
    pub device_ns: f64,
    /// Nanoseconds that the device took for earlier I/Os, from which hybrid has learnt.
    pub usual_ns: f64,
    /// Nanoseconds by which a timer fires late.
    pub late_ns: f64,
}

/// Collects steps.
#[derive(Default)]
struct Steps(Vec<ShownStep>);

impl Steps {
    fn add(&mut self, doing: Doing, ns: f64) {
        match self.0.last_mut() {
            Some(last) if last.doing == doing => last.ns += ns,
            _ if ns > 0.0 => self.0.push(ShownStep { doing, ns }),
            _ => {}
        }
    }

    fn now(&self) -> f64 {
        self.0.iter().map(|step| step.ns).sum()
    }
}

impl<'a> ShownMachine<'a> {
    /// Returns the machine of `profile`; `None` if it has no costs, or no TPAUSE and user interrupts.
    pub fn new(profile: &'a MachineProfile) -> Option<ShownMachine<'a>> {
        let costs = profile.costs.as_ref()?;
        costs.user_interrupt_ns.as_ref()?;
        profile.core_watts.pause_c02.as_ref()?;
        Some(ShownMachine { costs, profile })
    }

    /// Returns the watts of a core in each state except idle states.
    pub fn watts(&self) -> [(Doing, f64); 5] {
        let watts = |state| self.profile.core_watts(state).0;
        [
            (Doing::Work, watts(CoreState::Spin)),
            (Doing::Spin, watts(CoreState::Spin)),
            (Doing::Kernel, watts(CoreState::Kernel)),
            (Doing::Pause, watts(CoreState::PauseC02)),
            (Doing::Cold, watts(CoreState::Spin)),
        ]
    }

    /// Computes the wait for `io` in `mode`.
    pub fn wait(&self, mode: ShownMode, io: ShownIo) -> ShownWait {
        let usual = ShownIo {
            device_ns: io.usual_ns,
            ..io
        };
        let (mut learnt, mut idle) = (io.usual_ns, 0.0);
        // Times that hybrid learns include its own delays, and so do the idle times that the governor sees; repeating
        // the wait makes both converge.
        if mode != ShownMode::Poll {
            for _ in 0..64 {
                let (wait, length) = self.one(mode, usual, learnt, idle);
                (learnt, idle) = (wait.seen - wait.rung, length);
            }
        }
        self.one(mode, io, learnt, idle).0
    }

    /// Returns a wait of a core that expects to be idle for `typical`, and the length of its idle time.
    fn one(&self, mode: ShownMode, io: ShownIo, learnt: f64, typical: f64) -> (ShownWait, f64) {
        let costs = self.costs;
        let mut steps = Steps::default();
        steps.add(
            Doing::Work,
            costs.user.submit_ns.value.round() + self.data(),
        );
        let rung = steps.now();
        let finished = rung + io.device_ns;
        let mut wait = ShownWait {
            steps: Vec::new(),
            rung,
            finished,
            seen: 0.0,
            timer_at: None,
            wake_joules: 0.0,
            idle_watts: 0.0,
        };
        let poll = costs.poll_ns.value;
        let mut length = 0.0;
        steps.add(Doing::Spin, poll);
        match mode {
            ShownMode::Poll => {}
            ShownMode::Hybrid => {
                let timer_at = rung + (learnt / 2.0).ceil();
                wait.timer_at = Some(timer_at);
                if timer_at > steps.now() {
                    let half = (costs.timer_ns.value / 2.0).floor();
                    steps.add(Doing::Kernel, costs.crossing_ns.value + half);
                    steps.add(Doing::Kernel, costs.switch_ns.value);
                    let fires =
                        (timer_at + costs.timer_slack_ns.value + io.late_ns).max(steps.now());
                    length = fires - steps.now();
                    self.idle(&mut steps, &mut wait, (length, length.min(typical)));
                    steps.add(
                        Doing::Kernel,
                        costs.timer_ns.value - half + costs.wake_ns.value,
                    );
                    if length > 0.0 {
                        wait.wake_joules = self.profile.wake.timer_joules.value;
                    }
                    if steps.now() < finished {
                        steps.add(Doing::Spin, poll);
                    }
                }
            }
            ShownMode::Interrupt => {
                let half = (costs.user.block_ns.value / 2.0).floor();
                steps.add(Doing::Spin, poll);
                steps.add(Doing::Kernel, half + costs.switch_ns.value);
                let raised = finished.max(steps.now());
                length = raised - steps.now();
                self.idle(&mut steps, &mut wait, (length, typical));
                steps.add(
                    Doing::Kernel,
                    costs.interrupt_ns.value + costs.wake_ns.value,
                );
                steps.add(Doing::Kernel, costs.user.block_ns.value - half);
                if length > 0.0 {
                    wait.wake_joules = self.profile.wake.interrupt_joules.value;
                }
            }
            ShownMode::Uintr => {
                let raised = finished.max(steps.now());
                steps.add(Doing::Pause, raised - steps.now());
                let handler = costs.user_interrupt_ns.as_ref().map_or(0.0, |ns| ns.value);
                steps.add(Doing::Work, handler);
            }
        }
        // Polls until the completion is there, in whole polls.
        let left = (finished - steps.now()).max(0.0);
        steps.add(Doing::Spin, (left / poll).ceil() * poll);
        wait.seen = steps.now();
        if length > 0.0 {
            steps.add(Doing::Cold, self.cold(length));
        }
        steps.add(Doing::Work, costs.user.complete_ns.value);
        wait.steps = steps.0;
        (wait, length)
    }

    /// Returns the time for moving the data of 4 KiB.
    fn data(&self) -> f64 {
        (self.costs.kib_ns.value * 4.0).round()
    }

    /// Adds steps for idling for `length`, in the deepest idle state that pays for the `expected` length, and for
    /// leaving it.
    fn idle(&self, steps: &mut Steps, wait: &mut ShownWait, (length, expected): (f64, f64)) {
        if length <= 0.0 {
            return;
        }
        let states = &self.costs.idle;
        let pays = states
            .iter()
            .rev()
            .find(|state| state.chosen().value <= expected);
        let Some(state) = pays.or(states.first()) else {
            return;
        };
        let enter = state.enter_ns.as_ref().map_or(0.0, |ns| ns.value);
        steps.add(Doing::Kernel, enter);
        steps.add(Doing::Idle, (length - enter).max(0.0));
        let path = self.costs.user.exit_ns.as_ref().map_or(0.0, |ns| ns.value);
        steps.add(Doing::Exit, state.exit_ns.value + path);
        wait.idle_watts = self.profile.core_watts(state.state.into()).0;
    }

    /// Returns the time lost to cold caches after an idle time of `length`.
    fn cold(&self, length: f64) -> f64 {
        let some = |figure: &Option<joulio_model::Figure>| figure.as_ref().map_or(0.0, |f| f.value);
        let least = self.costs.cold_ns.value;
        let grows = (some(&self.costs.cold_max_ns) - least).max(0.0);
        let half = some(&self.costs.cold_half_ns);
        match grows > 0.0 {
            true => least + (grows * length / (length + half)).floor(),
            false => least,
        }
    }
}

#[cfg(test)]
impl ShownWait {
    /// Returns the nanoseconds from the first step to the end of the completion: the I/O's latency.
    pub fn latency(&self) -> f64 {
        self.steps.iter().map(|step| step.ns).sum()
    }

    /// Returns the joules of the core, with `watts` in each state.
    pub fn joules(&self, watts: &[(Doing, f64)]) -> f64 {
        let of = |doing: Doing| match doing {
            Doing::Idle | Doing::Exit => self.idle_watts,
            other => watts
                .iter()
                .find(|(one, _)| *one == other)
                .map_or(0.0, |(_, w)| *w),
        };
        let steps = self
            .steps
            .iter()
            .map(|step| of(step.doing) * step.ns * 1e-9);
        steps.sum::<f64>() + self.wake_joules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_model::DeviceProfile;
    use joulio_twin::{TwinRun, TwinSetup, run_policy};
    use joulio_units::Nanos;
    use joulio_workload::{CompletionMode, EngineName, Job, Method};

    /// Returns a device that always takes `us` microseconds.
    fn device(us: f64) -> DeviceProfile {
        let mut device = DeviceProfile::builtin("optane-900p").unwrap();
        let service = &mut device.service;
        service.spread.value = 0.0;
        service.tail = None;
        for point in service.read.iter_mut() {
            point.us.value = us;
        }
        device
    }

    fn twin(machine: &MachineProfile, mode: CompletionMode, us: f64) -> TwinRun {
        let job = Job {
            ramp_time: Nanos::from_millis(1_500),
            ..Job::random_reads(2_000)
        };
        let method = Method {
            engine: EngineName::Nvme,
            mode,
        };
        let devices = [device(us)];
        let setup = TwinSetup::new(machine, &devices);
        run_policy(&job, method, &setup, |_| mode.policy().unwrap()).unwrap()
    }

    #[test]
    fn every_mode_takes_the_time_and_the_energy_that_the_twin_has() {
        let mut profile = MachineProfile::builtin("generic-server").unwrap();
        let modes = [
            (ShownMode::Poll, CompletionMode::Poll),
            (ShownMode::Hybrid, CompletionMode::Hybrid),
            (ShownMode::Interrupt, CompletionMode::Interrupt),
            (ShownMode::Uintr, CompletionMode::Uintr),
        ];
        for late_us in [0.0, 2.0, 8.0] {
            profile.costs.as_mut().unwrap().timer_slack_ns.value = late_us * 1e3;
            let mut here = profile.clone();
            here.costs.as_mut().unwrap().timer_slack_ns.value = 0.0;
            let machine = ShownMachine::new(&here).unwrap();
            for us in [3.0, 8.0, 20.0, 80.0] {
                for (mode, twins) in modes {
                    let run = twin(&profile, twins, us);
                    let io = ShownIo {
                        device_ns: us * 1e3,
                        usual_ns: us * 1e3,
                        late_ns: late_us * 1e3,
                    };
                    let wait = machine.wait(mode, io);
                    let all = run.all();
                    let mean = all.mean().unwrap();
                    let what = format!("{mode:?}, {us} us, {late_us} us late");
                    // The twin's joules are relative to C6, and include the workload's own time.
                    let c6 = here.core_watts(CoreState::C6).0;
                    let app = here.costs.as_ref().unwrap().app_ns.value * 1e-9;
                    let spin = here.core_watts(CoreState::Spin).0;
                    let cores = wait.joules(&machine.watts()) - c6 * wait.latency() * 1e-9;
                    let cores = cores + (spin - c6) * app;
                    let twins = (run.parts.cores + run.parts.wakes).0 / run.ios() as f64;
                    assert!(
                        (cores - twins).abs() < 0.01 * twins,
                        "{what}: {cores} J and {twins}"
                    );
                    assert!(
                        (wait.latency() - mean).abs() < 0.01 * mean,
                        "{what}: {} and {mean}",
                        wait.latency()
                    );
                }
            }
        }
    }
}
