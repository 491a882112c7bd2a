//! A thread's turn on its CPU.

use crate::cpu::{Cause, Cpu, Got};
use crate::device::Device;
use crate::step_costs::StepCosts;
use crate::times::Doing;
use joulio_units::Nanos;

/// A hardware thread during one thread's turn, with everything else that the turn uses.
pub(crate) struct Seat<'w, 'a> {
    pub(crate) cpu: &'w mut Cpu,
    pub(crate) beside: Beside<'w>,
    pub(crate) costs: &'w StepCosts,
    pub(crate) devices: &'w mut [Device<'a>],
}

/// The other hardware threads of a core. Their activity is known up to the time at which each becomes free, and
/// does not change during a turn.
pub(crate) struct Beside<'w> {
    /// Time from which on all of them are idle.
    idle_from: Nanos,
    threads: Threads<'w>,
}

enum Threads<'w> {
    None,
    One(&'w Cpu),
    /// Numbers of the other CPUs of the core, and all CPUs with lower numbers than the thread's own and with higher
    /// ones.
    Several(&'w [usize], [&'w [Cpu]; 2]),
}

impl<'w> Beside<'w> {
    /// The other hardware threads of a core whose jobs are all on one.
    const NONE: Beside<'w> = Beside {
        idle_from: Nanos::ZERO,
        threads: Threads::None,
    };

    /// Separates CPU number `own` from the others, of which those numbered `beside` belong to the same core.
    #[inline(always)]
    pub(crate) fn apart(
        cpus: &'w mut [Cpu],
        own: usize,
        beside: &'w [usize],
    ) -> (&'w mut Cpu, Beside<'w>) {
        let (own, idle_from, threads) = match beside {
            [] => return (&mut cpus[own], Beside::NONE),
            [one] => {
                let (before, after) = cpus.split_at_mut(own.max(*one));
                let (own, one) = match own < *one {
                    true => (&mut before[own], &after[0]),
                    false => (&mut after[0], &before[*one]),
                };
                (own, one.free, Threads::One(one))
            }
            _ => Beside::several(cpus, own, beside),
        };
        (own, Beside { idle_from, threads })
    }

    #[cold]
    fn several(
        cpus: &'w mut [Cpu],
        own: usize,
        beside: &'w [usize],
    ) -> (&'w mut Cpu, Nanos, Threads<'w>) {
        let free = beside.iter().map(|other| cpus[*other].free).max();
        let (before, rest) = cpus.split_at_mut(own);
        let (own, after) = rest.split_first_mut().expect("a thread's CPU is there");
        let threads = Threads::Several(beside, [before, after]);
        (own, free.unwrap_or_default(), threads)
    }

    /// Returns how long `time` of code that begins at `at` takes beside the activity of the other hardware threads.
    #[inline(never)]
    fn slowed(&self, at: Nanos, time: Nanos, costs: &StepCosts) -> Nanos {
        let of = |cpu: &Cpu| cpu.doing(at).map_or(1.0, |doing| costs.smt[doing as usize]);
        let slowdown = match &self.threads {
            Threads::None => 1.0,
            Threads::One(one) => of(one),
            Threads::Several(numbers, [before, after]) => {
                let cpu = |&number: &usize| match before.get(number) {
                    Some(cpu) => of(cpu),
                    None => of(&after[number - before.len() - 1]),
                };
                numbers.iter().map(cpu).fold(1.0, f64::max)
            }
        };
        match slowdown == 1.0 {
            true => time,
            false => time.scaled(slowdown),
        }
    }
}

impl<'w, 'a> Seat<'w, 'a> {
    /// Returns the seat of a thread that is alone on its core.
    #[inline(always)]
    pub(crate) fn alone(
        cpu: &'w mut Cpu,
        costs: &'w StepCosts,
        devices: &'w mut [Device<'a>],
    ) -> Seat<'w, 'a> {
        Seat {
            cpu,
            beside: Beside::NONE,
            costs,
            devices,
        }
    }

    /// Gives the CPU to `job`, at `at` or after the threads that requested it earlier.
    #[inline(always)]
    pub(crate) fn take(&mut self, job: usize, at: Nanos, cause: Cause) -> Got {
        self.cpu.take(job, at, cause, self.costs)
    }

    /// Returns true if the other hardware threads of the core are idle from `at` on.
    #[inline]
    pub(crate) fn alone_from(&self, at: Nanos) -> bool {
        at >= self.beside.idle_from
    }

    /// Executes the work of the job's path; returns the time at which it ends.
    #[inline]
    pub(crate) fn work(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.run(at, time, self.costs.work)
    }

    /// Executes work of the kernel; returns the time at which it ends.
    #[inline]
    pub(crate) fn kernel(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.run(at, time, Doing::Kernel)
    }

    /// Executes the kernel's work `before` the CPU becomes idle, and switches from a thread to the idle task, or to
    /// another thread. Returns the time at which that ends.
    #[inline(always)]
    pub(crate) fn switch(&mut self, at: Nanos, before: Nanos) -> Nanos {
        let (switch, uncharged) = (self.costs.switch, self.costs.switch_uncharged);
        if !self.alone_from(at) {
            return self.switch_beside(at, before);
        }
        let end = self.cpu.spend(at, before.plus(switch), Doing::Kernel);
        self.cpu.uncharge(end, uncharged);
        end
    }

    #[inline(never)]
    fn switch_beside(&mut self, at: Nanos, before: Nanos) -> Nanos {
        let from = self.kernel(at, before);
        let end = self.kernel(from, self.costs.switch);
        self.cpu.uncharge(end, self.uncharged(end - from));
        end
    }

    /// Handles the event that woke a CPU, switches to the thread, and does the kernel's work `after` that, from the
    /// time in `got` on; returns the time at which that ends.
    #[inline(always)]
    pub(crate) fn wake(&mut self, got: Got, handler: Nanos, after: Nanos) -> Nanos {
        let (wake, uncharged) = (self.costs.wake, self.costs.wake_uncharged);
        if !self.alone_from(got.at) {
            return self.wake_beside(got, handler, after);
        }
        let time = handler.plus(wake).plus(after);
        let end = self.cpu.spend(got.at, time, Doing::Kernel);
        if got.idle {
            self.cpu.uncharge(end - after, uncharged);
        }
        end
    }

    #[inline(never)]
    fn wake_beside(&mut self, got: Got, handler: Nanos, after: Nanos) -> Nanos {
        let handled = self.kernel(got.at, handler);
        let woken = self.kernel(handled, self.costs.wake);
        if got.idle {
            self.cpu.uncharge(woken, self.uncharged(woken - handled));
        }
        self.kernel(woken, after)
    }

    /// Returns the part of a transition of `time` that the system charges to no thread.
    fn uncharged(&self, time: Nanos) -> Nanos {
        time.scaled(self.costs.uncharged_share)
    }

    /// Spends `time` on polls, which wait for memory and are not slowed down by another thread of the core.
    #[inline]
    pub(crate) fn spin(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.cpu.spend(at, time, Doing::Spin)
    }

    /// Runs code, which is slower beside another active thread of the core; returns the time at which it ends.
    #[inline]
    fn run(&mut self, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        let time = match self.alone_from(at) {
            true => time,
            false => self.beside.slowed(at, time, self.costs),
        };
        let end = self.cpu.spend(at, time, doing);
        self.cpu.works();
        end
    }
}
