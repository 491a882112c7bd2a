//! The cost of a policy's own code: calls as in a closed loop on a device in virtual time, made from functions that
//! an instruction counter can separate from the rest.
//!
//! `benches/policy-instructions` runs it under callgrind: policy_cost MODE DEPTH IOS.

use joulio_units::{Direction, Nanos};
use joulio_wait::{Adaptive, AnyPolicy, Class, Outstanding, Policy, Step, StepKind, StepSet};
use std::hint::black_box;
use std::process::ExitCode;

/// Commands in flight: times of submission and completion, in nanoseconds.
struct Out(Vec<(u64, u64)>);

impl Outstanding for Out {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for (submitted, _) in &self.0 {
            each(class(), Nanos(*submitted));
        }
    }
}

fn class() -> Class {
    Class::new(Direction::Read, 4_096)
}

#[inline(never)]
fn counted_plan(policy: &mut AnyPolicy, out: &Out, now: u64) -> Step {
    policy.plan(out, Adaptive::STEPS, Nanos(now))
}

#[inline(never)]
fn counted_submitted(policy: &mut AnyPolicy, now: u64) {
    policy.submitted(class(), Nanos(now));
}

#[inline(never)]
fn counted_completed(policy: &mut AnyPolicy, submitted: u64, now: u64) {
    policy.completed(class(), Nanos(submitted), Nanos(now));
}

/// Returns a time between 8 and 12 us, in no particular order.
fn service(drawn: &mut u64) -> u64 {
    *drawn = drawn
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    8_000 + (*drawn >> 33) % 4_000
}

fn run(policy: &mut AnyPolicy, depth: usize, ios: u64) -> u64 {
    let (mut now, mut drawn, mut done, mut waits) = (1_000_000, 1, 0, 0);
    let mut out = Out(Vec::with_capacity(depth));
    while done < ios {
        while out.0.len() < depth {
            counted_submitted(policy, now);
            out.0.push((now, now + service(&mut drawn)));
            // Each submission takes the software some time.
            now += 150;
        }
        let mut index = 0;
        while index < out.0.len() {
            let (submitted, completed) = out.0[index];
            if completed > now {
                index += 1;
                continue;
            }
            counted_completed(policy, submitted, now);
            out.0.swap_remove(index);
            done += 1;
        }
        if out.0.len() < depth {
            continue;
        }
        let step = counted_plan(policy, &out, now);
        waits += 1;
        let first = out.0.iter().map(|io| io.1).min().unwrap_or(now);
        now = match step.kind {
            // A timer, which fires late.
            StepKind::Sleep => step.until.0 + 1_200,
            StepKind::Block => first + 3_000,
            _ => first.min(step.until.0),
        };
    }
    waits
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let policy = match words.first().map(String::as_str) {
        Some("poll") => Some(AnyPolicy::POLL),
        Some("adaptive") => Some(AnyPolicy::Adaptive(Adaptive::generic())),
        _ => None,
    };
    let (Some(mut policy), Some(depth @ 1..), Some(ios)) = (policy, number(1), number(2)) else {
        eprintln!("usage: policy_cost poll|adaptive DEPTH IOS");
        return ExitCode::from(2);
    };
    let waits = run(black_box(&mut policy), depth as usize, ios);
    let steps: StepSet = policy.steps();
    println!("{ios} I/Os in {waits} waits, steps {steps:?}");
    ExitCode::SUCCESS
}
