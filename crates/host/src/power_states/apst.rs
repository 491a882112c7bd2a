//! Autonomous power state transitions, by idle time (Base 5.27.1.10).

use joulio_nvme::IdleStates;
use joulio_nvme_spec::feature::{ApstEntry, ApstTable};
use joulio_nvme_spec::identify::PowerStateDescriptor;
use serde::Serialize;

/// Greatest latency in microseconds, as nvme_core.default_ps_max_latency_us: states with a longer exit are left out.
const MAX_LATENCY_US: u64 = 100_000;
/// nvme_core.apst_primary_latency_tol_us and apst_primary_timeout_ms: a state whose entry and exit take at most the
/// former is entered after the latter.
const PRIMARY: (u64, u32) = (15_000, 100);
/// nvme_core.apst_secondary_latency_tol_us and apst_secondary_timeout_ms, with the same meaning.
const SECONDARY: (u64, u32) = (100_000, 2_000);

/// A transition from one power state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ApstTransition {
    /// Power state that it leaves.
    pub from: u8,
    /// Power state that it enters (ITPS).
    pub to: u8,
    /// Milliseconds of idle time before it (ITPT).
    pub after_ms: u32,
}

/// Returns the transitions in a table, from its first `states` power states. Entries without a time are none.
pub fn transitions(table: &ApstTable, states: usize) -> Vec<ApstTransition> {
    let entries = table.entries.iter().take(states);
    let entries = entries.map(|entry| ApstEntry::from(entry.get()));
    let numbered = (0_u8..).zip(entries);
    let some = numbered.filter(|(_, entry)| entry.itpt() > 0);
    some.map(|(from, entry)| ApstTransition {
        from,
        to: entry.itps(),
        after_ms: entry.itpt(),
    })
    .collect()
}

/// Returns whether a drive with that number of power states may go to power state `ps` by itself.
fn may_enter(ps: u8, states: usize, allowed: IdleStates) -> bool {
    match allowed {
        IdleStates::All => true,
        IdleStates::NotDeepest => usize::from(ps) + 1 < states,
        IdleStates::None => false,
    }
}

/// Returns whether the drive has transitions in `table`, all of them to power states that are allowed.
pub fn is_usable(table: &ApstTable, states: usize, allowed: IdleStates) -> bool {
    let found = transitions(table, states);
    let usable = |one: &ApstTransition| may_enter(one.to, states, allowed);
    !found.is_empty() && found.iter().all(usable)
}

/// Makes the table that Linux makes by default (nvme_configure_apst, from 5.14 on): after 100 ms to the deepest
/// non-operational state with a short latency; then, or if there is none, after 2 s to the deepest with a longer one.
/// Power states that are not allowed are left out.
pub fn as_linux_has_it(states: &[PowerStateDescriptor], allowed: IdleStates) -> ApstTable {
    let mut table = ApstTable::default();
    let mut target = ApstEntry::new();
    // What the states deeper than this one are for: they have it already.
    let mut taken = None;
    let numbered = (0_u8..).zip(states).zip(&mut table.entries);
    let numbered: Vec<_> = numbered.collect();
    for ((index, state), entry) in numbered.into_iter().rev() {
        entry.set(target.into());
        if !may_enter(index, states.len(), allowed) {
            continue;
        }
        let leaving = u64::from(state.exlat.get());
        if !state.power_state_flags().nops() || leaving > MAX_LATENCY_US {
            continue;
        }
        let both = leaving + u64::from(state.enlat.get());
        let tier = [PRIMARY, SECONDARY].into_iter().find(|tier| both <= tier.0);
        // After the primary nothing shallower is wanted, not even as a secondary.
        let wanted = tier.filter(|&tier| taken != Some(PRIMARY) && taken != Some(tier));
        if let Some((_, after_ms)) = wanted {
            taken = tier;
            target = ApstEntry::new().with_itps(index).with_itpt(after_ms);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_nvme_spec::identify::PowerStateFlags;

    fn state(nops: bool, enlat: u32, exlat: u32) -> PowerStateDescriptor {
        PowerStateDescriptor {
            flags: PowerStateFlags::new().with_nops(nops).into(),
            enlat: enlat.into(),
            exlat: exlat.into(),
            ..Default::default()
        }
    }

    fn allowed(states: &[PowerStateDescriptor], allowed: IdleStates) -> Vec<(u8, u8, u32)> {
        let found = transitions(&as_linux_has_it(states, allowed), states.len());
        let found = found.iter().map(|one| (one.from, one.to, one.after_ms));
        found.collect()
    }

    fn found(states: &[PowerStateDescriptor]) -> Vec<(u8, u8, u32)> {
        allowed(states, IdleStates::All)
    }

    #[test]
    fn linux_goes_to_the_deepest_state_that_is_soon_left() {
        // The 960 EVO, as Linux 6.1 has it.
        let awake = state(false, 0, 0);
        let sleeps = [state(true, 210, 1_500), state(true, 2_200, 6_000)];
        let states = [awake, awake, awake, sleeps[0], sleeps[1]];
        let to = |from| (from, 4, 100);
        assert_eq!(found(&states), [to(0), to(1), to(2), to(3)]);
    }

    #[test]
    fn linux_goes_on_later_to_a_state_that_takes_longer() {
        let (awake, short) = (state(false, 0, 0), state(true, 5_000, 10_000));
        let long = state(true, 10_000, 40_000);
        assert_eq!(found(&[awake, short, long]), [(0, 1, 100), (1, 2, 2_000)]);
        assert_eq!(found(&[awake, long, long]), [(0, 2, 2_000), (1, 2, 2_000)]);
        let longer = state(true, 0, 100_001);
        assert_eq!(found(&[awake, short, longer]), [(0, 1, 100)]);
        assert_eq!(found(&[awake, state(true, 60_000, 60_000)]), []);
    }

    #[test]
    fn a_state_that_the_drive_does_not_come_back_from_is_left_out() {
        let (awake, short) = (state(false, 0, 0), state(true, 210, 1_500));
        let states = [awake, short, short];
        assert_eq!(found(&states), [(0, 2, 100), (1, 2, 100)]);
        assert_eq!(allowed(&states, IdleStates::NotDeepest), [(0, 1, 100)]);
        assert_eq!(allowed(&states, IdleStates::None), []);
        // One power state is the deepest too.
        assert_eq!(allowed(&[short], IdleStates::NotDeepest), []);
        let [all, not_deepest] =
            [IdleStates::All, IdleStates::NotDeepest].map(|set| as_linux_has_it(&states, set));
        let usable = |table: &ApstTable, set| is_usable(table, states.len(), set);
        assert!(usable(&all, IdleStates::All) && usable(&not_deepest, IdleStates::All));
        assert!(usable(&not_deepest, IdleStates::NotDeepest));
        assert!(!usable(&all, IdleStates::NotDeepest));
        assert!(!usable(&not_deepest, IdleStates::None));
        assert!(!usable(&ApstTable::default(), IdleStates::All));
    }

    #[test]
    fn no_table_of_a_device_makes_it_panic() {
        let states = [state(true, u32::MAX, u32::MAX); 32];
        for set in [IdleStates::All, IdleStates::NotDeepest, IdleStates::None] {
            assert!(allowed(&states, set).is_empty());
            assert!(allowed(&[], set).is_empty());
        }
        let mut table = ApstTable::default();
        for entry in &mut table.entries {
            entry.set(u64::MAX);
        }
        assert_eq!(transitions(&table, 256).len(), 32);
        assert_eq!(transitions(&table, 2)[1].to, 31);
    }
}
