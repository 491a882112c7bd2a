//! Summary of the waits that an adaptive policy chose in a run.

use joulio_workload::Counts;

/// Describes the waits of a run by what ended them, as "94 % of I/Os by a timer sleep, 6 % by a block"; `None` if it
/// did no I/O. A wait in which several I/Os complete counts once, so at depth the counted I/Os may be fewer than those
/// that were waited for in that way.
pub(super) fn text(counts: &Counts) -> Option<String> {
    let wait = &counts.wait;
    let ios = counts.all.ios;
    if ios == 0 {
        return None;
    }
    let steps = [
        (wait.sleeps, "a timer sleep then a poll"),
        (wait.blocks, "a block"),
        (wait.monitors, "a watch of the cache line"),
        (wait.pauses, "pauses"),
        (wait.user_interrupts, "user interrupts"),
    ];
    let mut left = 1.0;
    let mut shares: Vec<(f64, &str)> = Vec::new();
    for (count, what) in steps {
        let share = (count as f64 / ios as f64).min(left);
        left -= share;
        shares.push((share, what));
    }
    shares.push((left, "polling"));
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown = shares.iter().filter(|(share, _)| *share >= 0.005);
    let parts: Vec<_> = shown
        .enumerate()
        .map(|(index, (share, what))| {
            let of = if index == 0 { " of I/Os" } else { "" };
            format!("{:.0} %{of} by {what}", share * 100.0)
        })
        .collect();
    Some(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_workload::{DirectionResult, WaitCounters};

    #[test]
    fn shares_are_of_all_ios_and_the_largest_is_first() {
        let of = |ios, wait| {
            text(&Counts {
                all: DirectionResult {
                    ios,
                    ..DirectionResult::default()
                },
                wait,
                ..Counts::default()
            })
        };
        let wait = WaitCounters {
            sleeps: 940,
            blocks: 59,
            pauses: 1,
            ..WaitCounters::default()
        };
        assert_eq!(
            of(1_000, wait).as_deref(),
            Some("94 % of I/Os by a timer sleep then a poll, 6 % by a block")
        );
        // A wait may consist of many pauses.
        let wait = WaitCounters {
            pauses: 70_000,
            blocks: 250,
            ..WaitCounters::default()
        };
        assert_eq!(
            of(1_000, wait).as_deref(),
            Some("75 % of I/Os by pauses, 25 % by a block")
        );
        assert_eq!(
            of(10, WaitCounters::default()).as_deref(),
            Some("100 % of I/Os by polling")
        );
        assert_eq!(of(0, WaitCounters::default()), None);
    }
}
