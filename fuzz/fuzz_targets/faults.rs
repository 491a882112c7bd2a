//! Texts after `--faults`. A plan that can be parsed prints as a text that parses as the same plan; an invalid plan is
//! refused in one line.
#![no_main]

use arbitrary::Arbitrary;
use joulio_emulator::FaultPlan;
use joulio_fuzz::faults::AnyPlan;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a str),
    /// Parts that a plan may consist of.
    Parts(Vec<Part<'a>>),
    Plan(AnyPlan),
}

#[derive(Arbitrary, Debug)]
struct Part<'a> {
    kind: Kind<'a>,
    parameter: Option<Word<'a>>,
    when: Option<Word<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Kind<'a> {
    Known(u8),
    Any(&'a str),
}

/// A word in the place of a number.
#[derive(Arbitrary, Debug)]
enum Word<'a> {
    Time(u64, Option<u32>, u8),
    Rate(f64),
    Command(u64),
    Status(u8, u8, bool),
    Any(&'a str),
}

const KINDS: [&str; 18] = [
    "seed",
    "status",
    "drop",
    "late",
    "double",
    "reorder",
    "stale",
    "unknown",
    "lost-irq",
    "spurious-irq",
    "flip",
    "cfs",
    "removed",
    "admin-stuck",
    "namespace-removed",
    "full",
    "stuck-reset",
    "stuck-flr",
];

impl Part<'_> {
    fn text(&self) -> String {
        let mut text = match self.kind {
            Kind::Known(kind) => KINDS[usize::from(kind) % KINDS.len()].to_string(),
            Kind::Any(text) => text.to_string(),
        };
        for (sign, word) in [('=', &self.parameter), ('@', &self.when)] {
            if let Some(word) = word {
                text.push(sign);
                text.push_str(&word.text());
            }
        }
        text
    }
}

impl Word<'_> {
    fn text(&self) -> String {
        match *self {
            Word::Time(whole, fraction, unit) => {
                let fraction = fraction.map_or(String::new(), |digits| format!(".{digits}"));
                let unit = ["s", "ms", "us", "ns"][usize::from(unit % 4)];
                format!("{whole}{fraction}{unit}")
            }
            Word::Rate(rate) => rate.to_string(),
            Word::Command(number) => format!("#{number}"),
            Word::Status(sct, sc, dnr) => {
                format!("{sct:x}/{sc:x}{}", if dnr { "/dnr" } else { "" })
            }
            Word::Any(text) => text.to_string(),
        }
    }
}

fn read(text: &str) {
    match text.parse::<FaultPlan>() {
        Ok(plan) => check(&plan),
        Err(error) => {
            assert!(text.contains(&error.part), "{error}");
            assert!(!error.reason.is_empty());
        }
    }
}

fn check(plan: &FaultPlan) {
    let printed = plan.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(plan), "{printed}");
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Text(text) => read(text),
        Input::Parts(parts) => {
            let parts: Vec<String> = parts.iter().map(Part::text).collect();
            read(&parts.join(","));
        }
        Input::Plan(plan) => check(&plan.into()),
    }
});
