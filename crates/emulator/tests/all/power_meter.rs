//! The power that the controller reports: feature 25h, log 25h and the SMART log, on the 960 EVO in simulated time. It
//! draws 2 W idle, 5.3 W reading, 5.7 W writing, 40 mW in PS3, 5 mW in PS4; 23 reads of 4 KiB at a time take 69 us
//! each.

use crate::common::{Host, Pair, bytes, ram, transfer};
use joulio_device::{Device, DmaMemory};
use joulio_emulator::Options;
use joulio_model::DeviceProfile;
use joulio_nvme_spec::feature::{
    ApstEntry, ApstTable, FeatureId, PowerManagement, PowerMeasurement,
};
use joulio_nvme_spec::identify::{Cns, IdentifyController};
use joulio_nvme_spec::log::{LogId, PowerMeasurementLog, SmartHealth};
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use proptest::prelude::*;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const READ: u64 = 69_000;

struct Evo {
    host: Host,
    pair: Pair,
    buffer: DmaMemory,
}

impl Evo {
    /// Makes a controller whose reads all take 69 us.
    fn new() -> Evo {
        Evo::but(|_| {})
    }

    /// Makes a 960 EVO with its profile changed by `change`.
    fn but(change: impl FnOnce(&mut DeviceProfile)) -> Evo {
        let mut profile = DeviceProfile::builtin("samsung-960-evo").unwrap();
        // So many are busy as there are I/Os, whatever their addresses.
        profile.service.parallelism.value = 23.0;
        profile.service.channel_share = None;
        profile.service.spread.value = 0.0;
        profile.service.tail = None;
        change(&mut profile);
        let mut options = Options::new(profile);
        options.namespaces = vec![ram(512)];
        let mut host = Host::stepped(&options);
        let pair = host.pair(1, 64, None);
        let buffer = host.buffer(4096);
        Evo { host, pair, buffer }
    }

    fn measure(&mut self, now: u64, act: u8, smt: u16) -> Status {
        self.host.step(now);
        let value = PowerMeasurement::new().with_act(act).with_smt(smt);
        let set = Command::set_features(FeatureId::POWER_MEASUREMENT, value.into());
        self.host.admin(set).status()
    }

    fn start(&mut self, now: u64) {
        assert!(self.measure(now, PowerMeasurement::START, 0).is_success());
    }

    fn stop(&mut self, now: u64) {
        assert!(self.measure(now, PowerMeasurement::STOP, 0).is_success());
    }

    fn read_log(&mut self, now: u64, id: LogId, len: usize) -> Vec<u8> {
        self.host.step(now);
        let page = self.host.buffer(4096);
        let mut command = Command::get_log_page(id, NamespaceId::ALL, len);
        command.prp1.set(page.iova().0);
        self.host.must(command);
        bytes(&page, 0, len)
    }

    fn log(&mut self, now: u64) -> PowerMeasurementLog {
        let page = self.read_log(now, LogId::POWER_MEASUREMENT, 64);
        PowerMeasurementLog::read_from_bytes(&page).unwrap()
    }

    fn smart(&mut self, now: u64) -> SmartHealth {
        let page = self.read_log(now, LogId::SMART_HEALTH, 512);
        SmartHealth::read_from_bytes(&page).unwrap()
    }

    /// Returns the SMART log's interval power in microwatts.
    fn power(&mut self, now: u64) -> Option<u64> {
        self.smart(now).power().microwatts()
    }

    fn set_state(&mut self, now: u64, ps: u8) {
        self.host.step(now);
        let value = PowerManagement::new().with_ps(ps);
        let set = Command::set_features(FeatureId::POWER_MANAGEMENT, value.into());
        self.host.must(set);
    }

    /// Sets the autonomous transitions: to PS3 after 86 ms idle, from there to PS4 after 410 ms.
    fn set_transitions(&mut self, now: u64) {
        let mut table = ApstTable::new_zeroed();
        let to = |state: u8, ms: u32| ApstEntry::new().with_itps(state).with_itpt(ms).into();
        for entry in &mut table.entries[..3] {
            entry.set(to(3, 86));
        }
        table.entries[3].set(to(4, 410));
        self.set_table(now, &table);
    }

    fn set_table(&mut self, now: u64, table: &ApstTable) {
        self.host.step(now);
        let page = self.host.buffer(4096);
        page.write(0, table.as_bytes());
        let mut set = Command::set_features(FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION, 1);
        set.prp1.set(page.iova().0);
        self.host.must(set);
    }

    /// Submits `count` I/Os at `now`; returns the time at which the last of them is over.
    fn work(&mut self, now: u64, opcode: NvmOpcode, count: u16) -> u64 {
        self.host.step(now);
        for cid in 0..count {
            self.pair.submit(cid, transfer(opcode, 0, 8, &self.buffer));
        }
        let mut at = now;
        while let Some(next) = self.host.step(at).next {
            at = next.0;
        }
        let done = std::iter::from_fn(|| self.pair.reap());
        let done: Vec<_> = done.map(|done| done.status()).collect();
        assert_eq!(done.len(), usize::from(count));
        assert!(done.iter().all(|status| status.is_success()));
        at
    }
}

fn average(log: &PowerMeasurementLog) -> Option<u64> {
    log.average().microwatts()
}

fn maximum(log: &PowerMeasurementLog) -> Option<u64> {
    log.maximum().microwatts()
}

#[test]
fn identify_says_that_it_measures() {
    let mut evo = Evo::new();
    let mut identify = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    identify.prp1.set(evo.buffer.iova().0);
    evo.host.must(identify);
    let page = bytes(&evo.buffer, 0, 4096);
    let page = IdentifyController::read_from_bytes(&page).unwrap();
    assert!(page.attributes().pms() && !page.attributes().pls());
    assert_eq!(page.msmt.get(), u16::MAX);
}

#[test]
fn idle_it_draws_what_the_profile_says() {
    let mut evo = Evo::new();
    assert_eq!(evo.power(0), None);
    assert_eq!(evo.smart(9 * MS).lifetime_energy.get(), 0);
    assert_eq!(evo.power(10 * MS), Some(2_000_000));
    assert_eq!(evo.power(5 * S), Some(2_000_000));
    assert_eq!(evo.smart(5 * S).lifetime_energy.get(), 1);
    // 2 Wh are 7200 J, and half an hour more is the third.
    assert_eq!(evo.smart(3_600 * S).lifetime_energy.get(), 2);
    assert_eq!(evo.smart(3_600 * S + 10 * MS).lifetime_energy.get(), 3);
}

#[test]
fn asleep_it_draws_the_power_of_its_state() {
    let mut evo = Evo::new();
    evo.set_state(0, 4);
    // The way there takes 2.2 ms, in which it draws what PS0 does.
    assert_eq!(evo.power(S), Some(9_400));
    assert_eq!(evo.power(S + 10 * MS), Some(5_000));
    assert_eq!(evo.power(3_000 * S), Some(5_000));
}

#[test]
fn the_interval_is_the_latest_second_and_no_longer() {
    let mut evo = Evo::new();
    evo.set_state(10 * S, 3);
    // Half of the second before in PS0 and on the way, 210 us; half in PS3.
    let mean: f64 = 2.0 * 500.21 + 0.04 * 499.79;
    let microwatts = (mean * 10.0).round() as u64 * 100;
    assert_eq!(evo.power(10 * S + 500 * MS), Some(microwatts));
    assert_eq!(evo.power(11 * S + 10 * MS), Some(40_000));
}

#[test]
fn reading_costs_the_share_of_the_device_that_is_busy() {
    let mut evo = Evo::new();
    evo.start(0);
    let mut at = 0;
    for _ in 0..1_000 {
        at = evo.work(at, NvmOpcode::READ, 1);
    }
    assert_eq!(at, 1_000 * READ);
    // A thousand reads on one of 23 servers, each 3.3 W / 23 above idling.
    let work = 3.3 * 1_000.0 * READ as f64 / 1e9 / 23.0;
    let microwatts = |watts: f64| Some((watts * 1e4).round() as u64 * 100);
    assert_eq!(evo.power(S), microwatts(2.0 + work));
    let log = evo.log(S);
    assert_eq!(
        (log.count.get(), average(&log)),
        (1, microwatts(2.0 + work))
    );
    let log = evo.log(4 * S);
    assert_eq!(
        (log.count.get(), average(&log)),
        (4, microwatts(2.0 + work / 4.0))
    );
    assert_eq!(maximum(&log), microwatts(2.0 + work));
    assert_eq!(log.maximum_at.milliseconds(), 1_000);
}

#[test]
fn a_read_costs_its_server_for_as_long_as_it_holds_it() {
    let mut evo = Evo::but(|profile| {
        let mut share = profile.service.floor.clone();
        (share.value, share.band) = (0.6, None);
        profile.service.channel_share = Some(share);
    });
    evo.start(0);
    let mut at = 0;
    for _ in 0..1_000 {
        at = evo.work(at, NvmOpcode::READ, 1);
    }
    assert_eq!(at, 1_000 * READ);
    let work = 0.6 * 3.3 * 1_000.0 * READ as f64 / 1e9 / 23.0;
    let microwatts = ((2.0 + work) * 1e4).round() as u64 * 100;
    assert_eq!(evo.power(S), Some(microwatts));
}

#[test]
fn all_busy_it_draws_its_active_power_and_no_more() {
    for (opcode, watts) in [(NvmOpcode::READ, 5.3), (NvmOpcode::WRITE, 5.7)] {
        let mut evo = Evo::new();
        evo.start(0);
        let mut at = 0;
        while at < S {
            // As many as it can do at a time, and their turns on the link.
            at = evo.work(at, opcode, 46);
        }
        let drawn = average(&evo.log(2 * S)).unwrap() as f64 / 1e6 * 2.0 - 2.0;
        assert!(drawn <= watts + 1e-3 && drawn > watts * 0.9, "{drawn} W");
    }
}

#[test]
fn a_capped_state_draws_its_cap_for_longer() {
    let work = |ps| {
        let mut evo = Evo::new();
        evo.set_state(0, ps);
        evo.start(0);
        for read in 0..10_000 {
            evo.work(read * 90_000, NvmOpcode::READ, 1);
        }
        average(&evo.log(S)).unwrap()
    };
    // On one server of 23: 3.3 W beyond idling for 69 us; or 2.08 W for 5.3 / 4.08 times as long.
    let share = 10_000.0 * READ as f64 / 1e9 / 23.0;
    let microwatts = |watts: f64| (watts * 1e4).round() as u64 * 100;
    assert_eq!(work(0), microwatts(2.0 + share * 3.3));
    assert_eq!(work(2), microwatts(2.0 + share * 2.08 * 5.3 / 4.08));
}

/// Changes the profile to serve one I/O at a time, where a read costs 228 uJ beyond idling.
fn alone(profile: &mut DeviceProfile) {
    profile.service.parallelism.value = 1.0;
}

#[test]
fn an_io_counts_to_the_second_that_it_ends_in() {
    let mut evo = Evo::but(alone);
    evo.start(0);
    assert_eq!(evo.work(S - READ, NvmOpcode::READ, 1), S);
    evo.host.step(5 * S);
    let log = evo.log(5 * S);
    assert_eq!(maximum(&log), Some(2_000_200));
    assert_eq!(log.maximum_at.milliseconds(), 1_000);
}

#[test]
fn work_is_paid_for_in_the_state_that_it_was_done_in() {
    let mut evo = Evo::but(alone);
    evo.start(0);
    let end = evo.work(0, NvmOpcode::READ, 60);
    assert!(end < 10 * MS);
    evo.set_state(end, 2);
    let work = 60.0 * READ as f64 / 1e9 * 3.3;
    let expected = ((2.0 + work) * 1e4).round() as u64 * 100;
    assert_eq!(average(&evo.log(S)), Some(expected));
}

#[test]
fn an_io_that_takes_longer_than_a_sample_is_paid_for_whole() {
    // A disk's: 25 ms, one at a time.
    let mut evo = Evo::but(|profile| {
        alone(profile);
        profile.service.read[0].us.value = 25_000.0;
        profile.service.read[1].us.value = 25_000.0;
    });
    evo.start(0);
    let mut at = 0;
    while at < S {
        at = evo.work(at, NvmOpcode::READ, 1);
    }
    assert_eq!(at, S);
    assert_eq!(average(&evo.log(S)), Some(5_300_000));
}

#[test]
fn whichever_part_is_busy_it_draws_no_more_than_the_costlier() {
    // A hundred times as slow, so that few I/Os do. Writes that fill the link and need few
    // servers, beside reads that fill the other servers.
    let mut evo = Evo::but(|profile| {
        let service = &mut profile.service;
        let points = service.read.iter_mut().chain(&mut service.write);
        points.for_each(|point| point.us.value *= 100.0);
        service.write_bandwidth.as_mut().unwrap().value /= 100.0;
    });
    evo.start(0);
    let opcode = |cid: u16| {
        if cid < 9 {
            NvmOpcode::WRITE
        } else {
            NvmOpcode::READ
        }
    };
    for cid in 0..23 {
        evo.pair
            .submit(cid, transfer(opcode(cid), 0, 8, &evo.buffer));
    }
    let (mut at, mut done) = (0, [0; 2]);
    while at < 2 * S {
        at = evo.host.step(at).next.unwrap().0;
        for cid in evo.pair.reap_all() {
            done[usize::from(cid.0 < 9)] += 1;
            evo.pair
                .submit(cid.0, transfer(opcode(cid.0), 0, 8, &evo.buffer));
        }
    }
    // Both alone would be more than a whole device.
    let reads = done[0] as f64 * 6.9e-3 / 23.0;
    let writes = done[1] as f64 * 4096.0 / 1.352e7;
    assert!(reads + writes > 1.2 * 2.0, "{reads} {writes}");
    let drawn = average(&evo.log(at)).unwrap();
    assert!((5_400_000..=5_700_000).contains(&drawn), "{drawn} uW");
}

#[test]
fn a_state_that_draws_more_than_a_shallower_one_is_found_in_a_rest() {
    let mut evo = Evo::but(|profile| {
        for (state, watts) in profile.power.states[3..].iter_mut().zip([0.001, 0.005]) {
            let mut idle = state.max_power_watts.clone();
            idle.value = watts;
            state.idle_watts = Some(idle);
        }
    });
    let mut table = ApstTable::new_zeroed();
    table.entries[3].set(ApstEntry::new().with_itps(4).with_itpt(5_000).into());
    evo.set_table(0, &table);
    evo.set_state(0, 3);
    evo.start(S);
    let log = evo.log(1_000 * S);
    assert_eq!(maximum(&log), Some(5_000));
    // PS3 in 210 us, after 5 s down to PS4 in 3.7 ms: the seventh second is whole.
    assert_eq!(log.maximum_at.milliseconds(), 7_000);
}

#[test]
fn a_measurement_counts_its_seconds_and_stops_when_requested() {
    let mut evo = Evo::new();
    assert_eq!(evo.log(0).generation, 0);
    evo.start(500 * MS);
    let log = evo.log(1_499 * MS);
    assert_eq!((log.generation, log.count.get()), (1, 0));
    assert_eq!((average(&log), maximum(&log)), (None, None));
    assert!(log.attributes().enabled() && log.attributes().estimated());
    assert!(!log.attributes().non_contiguous());
    assert_eq!(log.percent_error(), None);
    assert_eq!((log.size.get(), log.histogram_descriptors.get()), (64, 0));
    assert_eq!(log.histogram_bin_milliwatts.get(), 250);

    let log = evo.log(1_500 * MS);
    assert_eq!((log.count.get(), average(&log)), (1, Some(2_000_000)));
    evo.set_state(1_500 * MS, 4);
    evo.stop(4_700 * MS);
    let log = evo.log(9 * S);
    assert_eq!((log.generation, log.count.get()), (1, 4));
    // A second of 2 W, and three less the way to PS4 of 5 mW.
    let energy = 2.0 + 2.0 * 0.0022 + 0.005 * 2.9978;
    assert_eq!(
        average(&log),
        Some((energy / 4.0 * 1e4_f64).round() as u64 * 100)
    );
    assert_eq!(maximum(&log), Some(2_000_000));
    assert!(!log.attributes().enabled());
    assert_eq!(log.stopped.milliseconds(), 4_700);
    assert_eq!(log.maximum_at.milliseconds(), 1_500);

    evo.start(10 * S);
    let log = evo.log(10 * S);
    assert_eq!(
        (log.generation, log.count.get(), average(&log)),
        (2, 0, None)
    );
    assert_eq!(log.stopped.milliseconds(), 0);
}

#[test]
fn a_measurement_stops_by_itself_after_its_minutes() {
    let mut evo = Evo::new();
    assert!(evo.measure(S, PowerMeasurement::START, 2).is_success());
    let get = Command::get_features(FeatureId::POWER_MEASUREMENT);
    assert_eq!(evo.host.must(get).dw0.get(), 0x0002_0001);
    assert_eq!(evo.log(S).minutes_left.get(), 2);
    assert_eq!(evo.log(62 * S).minutes_left.get(), 1);
    let log = evo.log(900 * S);
    assert_eq!((log.count.get(), log.minutes_left.get()), (120, 0));
    assert_eq!(log.stopped.milliseconds(), 121_000);
    assert_eq!(evo.host.must(get).dw0.get(), 0x0002_0000);
}

#[test]
fn generations_count_starts_and_roll_over() {
    let mut evo = Evo::new();
    for _ in 0..255 {
        evo.start(0);
    }
    evo.stop(0);
    assert_eq!(evo.log(0).generation, 255);
    evo.start(0);
    assert_eq!(evo.log(0).generation, 0);
}

#[test]
fn a_reset_ends_a_measurement() {
    let mut evo = Evo::new();
    evo.start(0);
    evo.host.step(3 * S);
    evo.host.device.write32(CC, 0);
    evo.host.enable();
    let log = evo.log(9 * S);
    assert_eq!((log.generation, log.count.get()), (1, 0));
    assert!(!log.attributes().enabled());
    // Times are counted from the reset.
    evo.start(9 * S);
    assert_eq!(evo.log(10 * S).maximum_at.milliseconds(), 7_000);
}

#[test]
fn what_it_cannot_measure_is_refused() {
    let mut evo = Evo::new();
    let set = |value: u32| Command::set_features(FeatureId::POWER_MEASUREMENT, value);
    for value in [0x02, 0x0f, 0x11, 0xc1] {
        let status = evo.host.admin(set(value)).status();
        assert_eq!(status, Status::INVALID_FIELD.do_not_retry(), "{value:#x}");
    }
    assert_eq!(evo.log(0).generation, 0);
    let one = Command::get_log_page(LogId::POWER_MEASUREMENT, NamespaceId(1), 64);
    assert_eq!(evo.host.admin(one).status().kind(), Status::INVALID_FIELD);
}

#[test]
fn a_rest_of_years_is_metered_at_once_and_exactly() {
    let mut evo = Evo::new();
    evo.set_transitions(0);
    evo.start(0);
    let year = 365 * 86_400;
    let log = evo.log(100 * year * S);
    // All but the first half second in PS4: 496.21 ms and 3.7 ms of the way down.
    let first = 2.0 * 0.08621 + 0.04 * (0.41 + 0.0037) + 0.005 * (1.0 - 0.49991);
    assert_eq!(log.count.get(), (100 * year) as u32);
    assert_eq!(average(&log), Some(5_000));
    assert_eq!(maximum(&log), Some((first * 1e4_f64).round() as u64 * 100));
    assert_eq!(log.maximum_at.milliseconds(), 1_000);
    assert_eq!(evo.power(101 * year * S), Some(5_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However often the log is read meanwhile, and whatever the host does, the log is the same, and its energy is that
    /// of the power states and the work.
    #[test]
    fn asking_changes_nothing(
        events in proptest::collection::vec((0_u64..3_000 * MS, 0_u8..9), 1..40),
    ) {
        let run = |asking: bool| {
            let mut evo = Evo::new();
            evo.set_transitions(0);
            evo.start(0);
            let mut now = 0;
            for &(gap, what) in &events {
                if asking {
                    for part in 1..4 {
                        evo.log(now + gap * part / 4);
                        evo.power(now + gap * part / 4);
                    }
                }
                now += gap;
                match what {
                    0..5 => evo.set_state(now, what),
                    5..7 => now = evo.work(now, NvmOpcode::READ, 20),
                    _ => now = evo.work(now, NvmOpcode::WRITE, 20),
                }
            }
            let end = now.div_ceil(S) * S;
            let log = evo.log(end);
            let idle = evo.host.device.power().idle_energy.0;
            (log, evo.power(end), idle)
        };
        let (log, power, idle) = run(true);
        let (other, same, _) = run(false);
        prop_assert_eq!(log.as_bytes(), other.as_bytes());
        prop_assert_eq!(power, same);
        let drawn = average(&log).unwrap_or(0) as f64 / 1e6 * f64::from(log.count.get());
        let count = events.iter().filter(|event| event.1 >= 5).count() as f64;
        // 20 writes are at most 20 reads' time at 3.7 W, and 100 uW is the unit.
        let max = count * 20.0 * 3.7 * 69e-6 + 1e-4 * f64::from(log.count.get());
        prop_assert!(drawn >= idle - max && drawn <= idle + max, "{} {}", drawn, idle);
        prop_assert!(maximum(&log) >= average(&log));
    }
}
