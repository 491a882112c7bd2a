//! Groups of runs: completion modes, each with the settings that can change its results.

use joulio_nvme::wait::{Policy, StepKind};
use joulio_workload::{CompletionMode, EngineName, Method};

/// Methods, and the settings with each of which all of these methods are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CandidateGroup {
    /// Methods, at least one.
    pub methods: Vec<Method>,
    /// I/O schedulers; empty: the scheduler is left as it is.
    pub schedulers: Vec<String>,
    /// Deepest idle states; empty: the limit is left as it is.
    pub max_cstates: Vec<String>,
    /// Interrupt coalescing, as `--coalescing` takes it; empty: it is left as it is.
    pub coalescing: Vec<String>,
}

/// Returns the groups of candidates of `methods`, with each scheduler of `schedulers`, each deepest idle state of
/// `max_cstates`, and each interrupt coalescing of `coalescing`.
///
/// A scheduler affects the kernel's engines only, the deepest idle state only methods that sleep, coalescing only
/// methods that block. A method is not run with a setting that does not affect it.
pub fn groups(
    methods: &[Method],
    schedulers: &[String],
    max_cstates: &[String],
    coalescing: &[String],
) -> Vec<CandidateGroup> {
    let mut groups = Vec::new();
    let mut add = |group: CandidateGroup| {
        if !group.methods.is_empty() {
            groups.push(group);
        }
    };
    for kernel in [false, true] {
        let of = |takes: fn(Method) -> bool| -> Vec<Method> {
            let methods = methods.iter().copied();
            let methods = methods.filter(|method| method.engine.is_kernel() == kernel);
            methods.filter(|&method| takes(method)).collect()
        };
        let schedulers: Vec<_> = match kernel {
            true => schedulers.to_vec(),
            false => Vec::new(),
        };
        let plain = CandidateGroup {
            methods: of(|_| true),
            schedulers,
            ..CandidateGroup::default()
        };
        add(plain.clone());
        if !max_cstates.is_empty() {
            add(CandidateGroup {
                methods: of(idles),
                max_cstates: max_cstates.to_vec(),
                ..plain.clone()
            });
        }
        if !coalescing.is_empty() {
            add(CandidateGroup {
                methods: of(blocks),
                coalescing: coalescing.to_vec(),
                ..plain
            });
        }
    }
    groups
}

/// Returns true if a core may go idle while `method` waits.
fn idles(method: Method) -> bool {
    blocks(method)
        || match method.mode.policy() {
            Some(policy) if !method.engine.is_kernel() => policy.steps().has(StepKind::Sleep),
            _ => matches!(
                method.mode,
                CompletionMode::Hybrid | CompletionMode::HybridFixed(_)
            ),
        }
}

/// Returns true if `method` waits for the device's interrupt.
fn blocks(method: Method) -> bool {
    match method.engine {
        EngineName::Nvme => {
            let policy = method.mode.policy();
            policy.is_some_and(|policy| policy.steps().has(StepKind::Block))
        }
        _ => matches!(
            method.mode,
            CompletionMode::Interrupt | CompletionMode::SqPoll | CompletionMode::Adaptive
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(engine: EngineName, modes: &[CompletionMode]) -> Vec<Method> {
        modes.iter().map(|&mode| Method { engine, mode }).collect()
    }

    #[test]
    fn nothing_is_run_twice() {
        use CompletionMode::{Hybrid, Interrupt, Poll};
        let mut all = methods(EngineName::Nvme, &[Poll, Interrupt, Hybrid]);
        all.extend(methods(EngineName::IoUring, &[Poll, Interrupt]));
        let words =
            |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
        let groups = groups(
            &all,
            &words(&["none", "bfq"]),
            &words(&["C1"]),
            &words(&["8,100"]),
        );
        let of = |engine: EngineName, named: fn(&CandidateGroup) -> bool| -> Vec<String> {
            let all = groups.iter().filter(|group| named(group));
            let all = all.flat_map(|group| &group.methods);
            let all = all.filter(|method| method.engine == engine);
            all.map(|method| method.mode.to_string()).collect()
        };
        let plain: fn(&CandidateGroup) -> bool =
            |group| group.max_cstates.is_empty() && group.coalescing.is_empty();
        assert_eq!(of(EngineName::Nvme, plain), ["poll", "interrupt", "hybrid"]);
        assert_eq!(of(EngineName::IoUring, plain), ["poll", "interrupt"]);
        let capped: fn(&CandidateGroup) -> bool = |group| !group.max_cstates.is_empty();
        assert_eq!(of(EngineName::Nvme, capped), ["interrupt", "hybrid"]);
        assert_eq!(of(EngineName::IoUring, capped), ["interrupt"]);
        let coalesced: fn(&CandidateGroup) -> bool = |group| !group.coalescing.is_empty();
        assert_eq!(of(EngineName::Nvme, coalesced), ["interrupt"]);
        let scheduled = groups.iter().filter(|group| !group.schedulers.is_empty());
        let mut engines = scheduled.flat_map(|group| &group.methods);
        assert!(engines.all(|method| method.engine == EngineName::IoUring));
    }

    #[test]
    fn adaptive_waits_as_interrupt_does_on_the_kernels_engines_too() {
        use CompletionMode::{Adaptive, Poll};
        let all = methods(EngineName::IoUring, &[Poll, Adaptive]);
        let groups = groups(&all, &[], &["C1".into()], &["8,100".into()]);
        let adaptive = methods(EngineName::IoUring, &[Adaptive]);
        let mut set = groups.iter();
        assert!(set.next().is_some_and(|group| group.methods == all));
        assert!(set.all(|group| group.methods == adaptive));
        assert!(groups.iter().any(|group| group.max_cstates == ["C1"]));
        assert!(groups.iter().any(|group| group.coalescing == ["8,100"]));
    }
}
