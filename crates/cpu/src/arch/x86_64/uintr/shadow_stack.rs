//! Shadow stacks, as the kernel reports them.

/// Returns whether the kernel gave the calling thread a shadow stack (Documentation/arch/x86/shstk.rst).
pub(super) fn has_shadow_stack() -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    names_shadow_stack(&status)
}

fn names_shadow_stack(status: &str) -> bool {
    let line = |line: &str| line.strip_prefix("x86_Thread_features:").map(str::to_owned);
    let features = status.lines().find_map(line).unwrap_or_default();
    features.split_whitespace().any(|word| word == "shstk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_stack_is_seen_where_it_is_on() {
        let on = "Name:\tx\nx86_Thread_features:\tshstk wrss \nx86_Thread_features_locked:\t\n";
        assert!(names_shadow_stack(on));
        let off = "x86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss \n";
        assert!(!names_shadow_stack(off) && !names_shadow_stack(""));
    }
}
