//! Properties of the power states, on the 960 EVO: PS0 to PS2 are operational, PS3 takes 210 us to enter and 1.5 ms
//! to leave, PS4 2.2 ms and 6 ms.

use crate::common::{assert_close, device};
use joulio_model::{DeviceProfile, PowerStates, Transition, Transitions};
use joulio_units::{Direction, Nanos};
use proptest::prelude::*;

fn evo() -> DeviceProfile {
    device("samsung-960-evo")
}

fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

/// Returns the transitions that Linux sets (`nvme_configure_apst`, its rule before primary and secondary timeouts):
/// after 50 times the sum of entry and exit, in whole milliseconds rounded up.
fn linux() -> Transitions {
    let mut table = [None; 32];
    let doze = Some(Transition {
        to: 3,
        after: Nanos::from_millis(86), // 50 x (210 + 1500) us = 85.5 ms
    });
    table[..3].fill(doze);
    table[3] = Some(Transition {
        to: 4,
        after: Nanos::from_millis(410), // 50 x (2200 + 6000) us
    });
    table
}

#[test]
fn an_idle_device_goes_down_step_by_step() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&linux(), Nanos::ZERO);
    assert_eq!(power.current(us(85_999)), 0);
    assert_eq!(power.current(us(86_000)), 3);
    // Entered at 86.21 ms; 410 ms of idle time in the state count from then.
    assert_eq!(power.current(us(86_210 + 409_999)), 3);
    assert_eq!(power.current(us(86_210 + 410_000)), 4);
    assert_eq!(power.current(Nanos::MAX), 4);
}

#[test]
fn io_keeps_it_awake() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&linux(), Nanos::ZERO);
    for i in 0..100 {
        let at = us(i * 50_000);
        assert_eq!(power.submitted(at), at);
        power.idle_since(at + us(69));
    }
    assert_eq!(power.current(us(99 * 50_000 + 69 + 86_000)), 3);
}

#[test]
fn leaving_costs_the_exit_latency_and_the_rest_of_the_entry() {
    for (at, ready) in [
        (86_000, 86_210 + 1_500), // entering has just begun
        (86_100, 86_210 + 1_500),
        (86_210, 86_210 + 1_500),
        (200_000, 200_000 + 1_500),
        // From PS3 to PS4 takes PS3's exit and PS4's entry.
        (496_210, 496_210 + 1_500 + 2_200 + 6_000),
        (600_000, 600_000 + 6_000),
    ] {
        let mut power = PowerStates::new(&evo(), Nanos::ZERO);
        power.apst(&linux(), Nanos::ZERO);
        assert_eq!(power.submitted(us(at)), us(ready), "an I/O at {at} us");
        assert_eq!(power.current(us(at)), 0);
        // A second I/O waits for the same wake-up, and not for another.
        assert_eq!(power.submitted(us(at) + Nanos(1)), us(ready));
    }
}

#[test]
fn the_host_may_send_it_anywhere() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    assert!(power.set(4, us(1_000)));
    assert_eq!(power.current(us(1_000)), 4);
    assert!(power.set(1, us(10_000)));
    assert_eq!(power.submitted(us(10_000)), us(16_000));
    assert!(power.set(3, us(20_000)));
    // Back to the last operational state.
    assert_eq!(power.submitted(us(30_000)), us(31_500));
    assert_eq!(power.current(us(30_000)), 1);
    assert!(!power.set(5, us(40_000)));
    assert_eq!(power.current(us(40_000)), 1);
}

#[test]
fn a_doze_waits_for_the_io_under_way() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    assert_eq!(power.submitted(Nanos::ZERO), Nanos::ZERO);
    power.idle_since(us(100));
    assert!(power.set(3, us(10)));
    // The transition has not begun: the next I/O finds the device awake.
    assert_eq!(power.submitted(us(50)), us(50));
    power.idle_since(us(120));
    assert!(power.set(3, us(60)));
    assert_eq!(power.submitted(us(130)), us(120 + 210 + 1_500));
}

#[test]
fn a_cap_below_the_active_power_stretches_service() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    for (ps, cap) in [(0, f64::INFINITY), (1, 5.09), (2, 4.08)] {
        power.set(ps, Nanos::ZERO);
        let reads = (5.3_f64 / cap).max(1.0);
        assert_close(power.stretch(Direction::Read), reads, 1e-9);
        let writes = (5.7_f64 / cap).max(1.0);
        assert_close(power.stretch(Direction::Write), writes, 1e-9);
        assert_eq!(power.stretch(Direction::Other), 1.0);
    }
    // Asleep, the device keeps the speed of the state to which it will wake.
    power.set(4, us(1));
    assert_close(power.stretch(Direction::Read), 5.3 / 4.08, 1e-9);
}

#[test]
fn every_device_is_at_full_pace_in_power_state_0() {
    for name in DeviceProfile::names() {
        let power = PowerStates::new(&device(name), Nanos::ZERO);
        assert_eq!(power.stretch(Direction::Read), 1.0, "{name}");
        assert_eq!(power.stretch(Direction::Write), 1.0, "{name}");
    }
}

#[test]
fn idle_energy_is_that_of_the_states_it_was_in() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&linux(), Nanos::ZERO);
    let hour = Nanos::from_seconds(3_600.0);
    let residency = power.residency(hour);
    // The entry is charged to the state that it leaves; PS3's time includes the transition to PS4.
    let (awake, dozing) = (us(86_210), us(410_000 + 1_500 + 2_200));
    assert_eq!(residency[0], awake);
    assert_eq!(residency[3], dozing);
    assert_eq!(residency[4], hour - awake - dozing);
    let joules = 2.0 * awake.seconds() + 0.04 * dozing.seconds();
    let joules = joules + 0.005 * residency[4].seconds();
    assert_close(power.idle_energy(hour).0, joules, 1e-9);
}

#[test]
fn a_reset_is_power_state_0_without_a_table() {
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&linux(), Nanos::ZERO);
    power.set(2, Nanos::ZERO);
    power.reset(us(1_000_000));
    assert_eq!(power.submitted(us(1_000_000)), us(1_000_000));
    assert_eq!(power.current(us(9_000_000)), 0);
    assert!(power.residency(us(1_000_000))[4] > Nanos::ZERO);
}

#[test]
fn a_table_that_goes_round_is_not_followed() {
    let mut table = [None; 32];
    let to = |to, ms| {
        Some(Transition {
            to,
            after: Nanos::from_millis(ms),
        })
    };
    (table[0], table[3], table[4]) = (to(3, 1), to(3, 1), to(3, 1));
    (table[1], table[2]) = (to(2, 1), to(4, 0));
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&table, Nanos::ZERO);
    assert_eq!(power.current(Nanos::MAX), 3);
    let mut power = PowerStates::new(&evo(), Nanos::ZERO);
    power.apst(&table, Nanos::ZERO);
    power.set(1, Nanos::ZERO);
    // A transition to an operational state, and one after no time: neither is made.
    assert_eq!(power.current(Nanos::MAX), 1);
}

/// An event in the use of a device.
#[derive(Clone, Debug)]
enum Event {
    Io { lasts: u64 },
    Set(u8),
    Apst(Vec<(u8, u64)>),
    Reset,
}

/// Returns the microseconds between two events: within one transition, across several, or across idle times.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..10, 0_u64..3_000, 0_u64..200_000]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u64..5_000).prop_map(|lasts| Event::Io { lasts }),
        2 => (0_u8..7).prop_map(Event::Set),
        1 => proptest::collection::vec((0_u8..8, 0_u64..50), 0..8).prop_map(Event::Apst),
        1 => Just(Event::Reset),
    ]
}

proptest! {
    /// Whatever happens, and whatever table a host sets: no time is lost or counted twice, an I/O always wakes the
    /// device, and it waits for at most two transitions.
    #[test]
    fn residency_adds_up_to_the_whole_time(
        start in 0_u64..1_000,
        events in proptest::collection::vec((gap(), event()), 1..60),
    ) {
        let mut power = PowerStates::new(&evo(), us(start));
        let mut now = us(start);
        for (gap, event) in events {
            now += us(gap);
            match event {
                Event::Io { lasts } => {
                    let ready = power.submitted(now);
                    prop_assert!(ready >= now);
                    // The longest transition down, and the longest up again.
                    prop_assert!(ready - now <= us(1_500 + 2_200 + 6_000));
                    prop_assert!(power.current(now) < 3);
                    power.idle_since(ready + us(lasts));
                }
                Event::Set(ps) => {
                    prop_assert_eq!(power.set(ps, now), ps < 5);
                    prop_assert!(ps >= 5 || power.current(now) == ps);
                }
                Event::Apst(rows) => {
                    let mut table = [None; 32];
                    for (entry, (to, ms)) in table.iter_mut().zip(rows) {
                        *entry = Some(Transition { to, after: Nanos::from_millis(ms) });
                    }
                    power.apst(&table, now);
                }
                Event::Reset => {
                    power.reset(now);
                    prop_assert_eq!(power.current(now), 0);
                }
            }
            let later = now + us(gap);
            for at in [now, later] {
                let whole: u64 = power.residency(at).iter().map(|time| time.0).sum();
                prop_assert_eq!(Nanos(whole), at - us(start));
            }
        }
    }
}
