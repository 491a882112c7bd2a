//! Times of a core by activity.

use joulio_model::machine::costs::IdleState;
use joulio_model::{FrequencyRatio, Residency};
use joulio_units::Nanos;
use std::ops::AddAssign;

/// Times of a core by state. The rest of the window is spent in C6: after the end of a job, or on a CPU without a
/// job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTimes {
    /// Polling, or running code of the driver and the workload.
    pub spin: Nanos,
    /// Running in the kernel.
    pub kernel: Nanos,
    /// Waiting in `tpause`.
    pub paused: Nanos,
    /// Waiting in `umwait`.
    pub monitored: Nanos,
    /// Running a thread of another program.
    pub neighbour: Nanos,
    /// Handling interrupts of other queues and devices.
    pub other_irq: Nanos,
    /// Polling for work in the idle task.
    pub polled_idle: Nanos,
    /// Halted in C1.
    pub c1: Nanos,
    /// Halted in C1E.
    pub c1e: Nanos,
    /// Powered off in C6.
    pub c6: Nanos,
    /// Part of `kernel` that ran in the idle task: handlers that ended an idle state, and most of the transitions
    /// into and out of idle states.
    pub uncharged: Nanos,
    /// Time in which several hardware threads of the core ran; zero for a hardware thread.
    pub together: Nanos,
    /// Wake-ups from an idle state by an interrupt.
    pub wakes: u64,
    /// Wake-ups from an idle state by a timer.
    pub timer_wakes: u64,
    /// Entries into each idle state, in the order of [`IdleState::ALL`].
    pub entered: [u64; IdleState::ALL.len()],
    /// Interrupts of other queues and devices.
    pub other_irqs: u64,
}

/// Activity of a CPU while it is not idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Spin,
    Kernel,
    Pause,
    Monitor,
    /// Running another program's thread.
    Neighbour,
    /// Running the handler of an interrupt of another queue or device.
    OtherIrq,
}

impl Doing {
    pub(crate) const ALL: [Doing; 6] = [
        Doing::Spin,
        Doing::Kernel,
        Doing::Pause,
        Doing::Monitor,
        Doing::Neighbour,
        Doing::OtherIrq,
    ];
    pub(crate) const COUNT: usize = Doing::ALL.len();
}

impl CoreTimes {
    pub(crate) fn doing(&mut self, doing: Doing) -> &mut Nanos {
        match doing {
            Doing::Spin => &mut self.spin,
            Doing::Kernel => &mut self.kernel,
            Doing::Pause => &mut self.paused,
            Doing::Monitor => &mut self.monitored,
            Doing::Neighbour => &mut self.neighbour,
            Doing::OtherIrq => &mut self.other_irq,
        }
    }

    pub(crate) fn idling(&mut self, state: IdleState) -> &mut Nanos {
        match state {
            IdleState::Poll => &mut self.polled_idle,
            IdleState::C1 => &mut self.c1,
            IdleState::C1e => &mut self.c1e,
            IdleState::C6 => &mut self.c6,
        }
    }

    /// Returns the time in the idle state `state`.
    pub fn idle_in(&self, state: IdleState) -> Nanos {
        let mut times = *self;
        *times.idling(state)
    }

    /// Returns the time in which the CPU executed instructions for the jobs: without another program's threads, and
    /// without handlers of interrupts of other queues and devices.
    pub fn busy(&self) -> Nanos {
        self.spin + self.kernel + self.paused + self.monitored + self.polled_idle
    }

    /// Returns the time in which the CPU executed instructions.
    fn running(&self) -> Nanos {
        self.busy() + self.neighbour + self.other_irq
    }

    /// Returns the time in which the CPU executed the jobs' code, without the idle task; polls count as code.
    pub(crate) fn working(&self) -> Nanos {
        self.spin + self.kernel
    }

    /// Returns the time that the system charges to threads: CPU time as systems usually report it.
    pub fn charged(&self) -> Nanos {
        self.busy() - self.uncharged - self.polled_idle
    }

    /// Returns the sum of all times.
    pub fn total(&self) -> Nanos {
        self.running() + self.c1 + self.c1e + self.c6
    }

    /// Returns the times of a physical core in `window`, from those of its hardware threads.
    ///
    /// A core is awake while any of its hardware threads is. Their overlap is not known: they are assumed to be
    /// independent. So a core with threads that are busy for the fractions b and c of the window is busy for the
    /// fraction `1 - (1 - b)(1 - c)` of it. The idle rest is divided in the ratio of the threads' idle states.
    pub(crate) fn of_core(threads: &[CoreTimes], window: Nanos) -> CoreTimes {
        let mut sum = CoreTimes::default();
        threads.iter().for_each(|thread| sum += *thread);
        if threads.len() < 2 || window == Nanos::ZERO {
            return sum;
        }
        let whole = window.seconds();
        let idle = |t: &CoreTimes| 1.0 - (t.running().seconds() / whole).min(1.0);
        let awake = whole * (1.0 - threads.iter().map(idle).product::<f64>());
        let share = |part: Nanos, of: Nanos, to: f64| match of {
            Nanos::ZERO => Nanos::ZERO,
            of => Nanos::from_seconds(part.seconds() / of.seconds() * to),
        };
        let (busy, halted) = (sum.running(), sum.c1 + sum.c1e + sum.c6);
        let together = (busy.seconds() - awake).max(0.0);
        let rest = halted.seconds().min(whole - awake);
        CoreTimes {
            spin: share(sum.spin, busy, awake),
            kernel: share(sum.kernel, busy, awake),
            paused: share(sum.paused, busy, awake),
            monitored: share(sum.monitored, busy, awake),
            neighbour: share(sum.neighbour, busy, awake),
            other_irq: share(sum.other_irq, busy, awake),
            polled_idle: share(sum.polled_idle, busy, awake),
            c1: share(sum.c1, halted, rest),
            c1e: share(sum.c1e, halted, rest),
            c6: share(sum.c6, halted, rest),
            together: Nanos::from_seconds(together),
            ..sum
        }
    }

    /// Returns the times in the form of the power model, which is named by causes instead of states: time in C1E is
    /// its blocked time, time in C1 its slept time, and C6 is part of its base. `frequency` is the ratio of the
    /// core's clock while it ran to the profile's reference; `None`: the reference. While several hardware threads
    /// of the core ran at once, each beyond the first adds `smt_watts_share` of the core's watts.
    pub fn residency(&self, frequency: Option<FrequencyRatio>, smt_watts_share: f64) -> Residency {
        let together = self.together.seconds() / self.running().seconds().max(1e-9);
        Residency {
            spin: self.spin + self.neighbour + self.polled_idle,
            kernel: self.kernel + self.other_irq,
            blocked: self.c1e,
            slept: self.c1,
            paused: self.paused,
            monitored: self.monitored,
            smt_share: smt_watts_share * together,
            wakes: self.wakes,
            timer_wakes: self.timer_wakes,
            frequency: frequency.or(FrequencyRatio::new(1.0)),
        }
    }
}

impl AddAssign for CoreTimes {
    fn add_assign(&mut self, other: CoreTimes) {
        self.spin += other.spin;
        self.kernel += other.kernel;
        self.paused += other.paused;
        self.monitored += other.monitored;
        self.neighbour += other.neighbour;
        self.other_irq += other.other_irq;
        self.polled_idle += other.polled_idle;
        self.c1 += other.c1;
        self.c1e += other.c1e;
        self.c6 += other.c6;
        self.uncharged += other.uncharged;
        self.together += other.together;
        self.wakes += other.wakes;
        self.timer_wakes += other.timer_wakes;
        for (sum, entered) in self.entered.iter_mut().zip(other.entered) {
            *sum += entered;
        }
        self.other_irqs += other.other_irqs;
    }
}
