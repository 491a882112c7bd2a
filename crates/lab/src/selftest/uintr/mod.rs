//! `joulio selftest uintr`: every raised interrupt is seen, at whatever instruction of the thread it arrives.

mod consumer;
mod delivery;
pub(super) mod setup;
mod sweep;

use super::error::SelftestError;
use super::pinned::PinnedCpus;
use super::report::{Parts, Tested};
use super::waits::{DEPTHS, MeasuredWait, SLICE, state};
use delivery::{RaisedWhen, Trial};
use joulio_cpu::uintr::Bystander;
use joulio_cpu::{Depth, Tsc};
use joulio_units::Nanos;
pub use setup::SetupError;

use setup::UintrSetup;

/// Longest time from setting a timer to its interrupt: about as long as a device takes.
const SOON: Nanos = Nanos::from_micros(50);
/// Longest time from setting a timer to its interrupt beside another process: long enough for the other process to run
/// in between.
const WHILE_AWAY: Nanos = Nanos::from_millis(4);

/// Tests user interrupts on the calling thread's CPU.
pub fn test(rounds: u32, cpus: &PinnedCpus) -> Result<Tested, SelftestError> {
    let cpu = u32::try_from(cpus.own).unwrap_or(u32::MAX);
    // Unavailable user interrupts are reported before any test begins.
    drop(UintrSetup::new(cpu, Depth::C02).map_err(SelftestError::NoUserInterrupts)?);
    let mut parts = Parts::default();
    for depth in DEPTHS {
        let mut setup = setup(cpu, depth)?;
        for (how, by) in [
            (RaisedWhen::Now, "itself"),
            (RaisedWhen::Within(SOON), "a timer"),
        ] {
            let trial = Trial {
                name: format!("uintr {}, raised by {by}", state(depth)),
                rounds,
                how,
                away: false,
            };
            delivery::test(&mut setup, &trial, &mut parts)?;
        }
    }
    let swept = setup(cpu, Depth::C02)?;
    sweep::wait(&swept, &mut parts)?;
    sweep::handler(&swept, &mut parts)?;
    sweep::pending(&swept, rounds, &mut parts)?;
    drop(swept);
    beside_another(cpu, rounds, &mut parts)?;
    Ok(Tested {
        parts,
        waits: waits(cpu),
    })
}

fn setup(cpu: u32, depth: Depth) -> Result<UintrSetup, SelftestError> {
    Ok(UintrSetup::new(cpu, depth)?)
}

/// Tests delivery with another process on the CPU: interrupts that arrive while it runs go to the kernel, and that
/// process is not affected by them.
fn beside_another(cpu: u32, rounds: u32, parts: &mut Parts) -> Result<(), SelftestError> {
    // The other process is started first, so that it inherits no open receiver.
    let bystander = Bystander::start().map_err(SelftestError::Bystander)?;
    let mut setup = setup(cpu, Depth::C02)?;
    let trial = Trial {
        name: "uintr, beside a busy process".into(),
        rounds,
        how: RaisedWhen::Within(WHILE_AWAY),
        away: true,
    };
    delivery::test(&mut setup, &trial, parts)?;
    let seen = bystander.seen();
    if let Some(check) = parts.checks.last_mut() {
        check.count("turns_of_the_other", seen.turns);
        check.count("interrupts_of_the_other", seen.interrupts);
        check.demand(seen.turns > 0, || "the other process never ran".into());
        check.demand(seen.interrupts == 0, || {
            let interrupts = seen.interrupts;
            format!("the other process got {interrupts} interrupts of this one")
        });
        check.demand(seen.alive, || "the other process died".into());
    }
    Ok(())
}

/// Returns waits that nothing ends. A thread has only one receiver at a time, so each is created when it is measured.
fn waits(cpu: u32) -> Vec<MeasuredWait> {
    let uintr = DEPTHS.map(|depth| {
        let mut made = None;
        MeasuredWait {
            name: format!("uintr {}", state(depth)),
            depth: Some(depth),
            wait: Box::new(move || {
                let setup = match &made {
                    Some(setup) => setup,
                    None => made.insert(setup(cpu, depth)?),
                };
                setup.receiver.clear();
                let until = Tsc::get().after(SLICE);
                setup.receiver.wait(until)?;
                Ok(())
            }),
        }
    });
    std::iter::once(MeasuredWait::spin()).chain(uintr).collect()
}
