//! Power states of the controller: features 02h and 0Ch on the 960 EVO, in simulated time.

use crate::common::{Host, Pair, ram, transfer};
use joulio_device::{Device, DmaMemory};
use joulio_emulator::{EmulatedDevice, Fault, Options, PowerUse};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::feature::{ApstEntry, ApstTable, FeatureId, PowerManagement};
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{Command, NvmOpcode};
use joulio_units::Nanos;
use proptest::prelude::*;
use zerocopy::{FromZeros, IntoBytes};

const MS: u64 = 1_000_000;

/// Options of a 960 EVO whose reads all take 69 us.
fn options() -> Options {
    let mut profile = DeviceProfile::builtin("samsung-960-evo").unwrap();
    profile.service.spread.value = 0.0;
    profile.service.tail = None;
    let mut options = Options::new(profile);
    options.namespaces = vec![ram(512)];
    options
}

struct Evo {
    host: Host,
    pair: Pair,
    buffer: DmaMemory,
}

impl Evo {
    fn new() -> Evo {
        let mut host = Host::stepped(&options());
        let pair = host.pair(1, 8, None);
        let buffer = host.buffer(4096);
        Evo { host, pair, buffer }
    }

    /// Makes a 960 EVO with the transitions that Linux sets.
    fn with_linux() -> Evo {
        let mut evo = Evo::new();
        evo.set_table(&linux(), 1);
        evo
    }

    fn set_table(&mut self, table: &ApstTable, enabled: u32) {
        let page = self.host.buffer(4096);
        page.write(0, table.as_bytes());
        let feature = FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION;
        let mut set = Command::set_features(feature, enabled);
        set.prp1.set(page.iova().0);
        self.host.must(set);
    }

    /// Returns the power state that Get Features shows at `now`.
    fn state(&mut self, now: u64) -> u8 {
        self.host.step(now);
        let get = Command::get_features(FeatureId::POWER_MANAGEMENT);
        PowerManagement::from(self.host.must(get).dw0.get()).ps()
    }

    /// Returns the time at which a read of 4 KiB that comes at `now` finishes.
    fn read(&mut self, now: u64) -> u64 {
        self.host.step(now);
        self.pair
            .submit(1, transfer(NvmOpcode::READ, 0, 8, &self.buffer));
        let finish = self.host.step(now).next.unwrap().0;
        assert!(self.pair.peek().is_none());
        self.host.step(finish);
        assert!(self.pair.reap().unwrap().status().is_success());
        finish
    }

    fn residency(&self) -> [u64; 32] {
        self.host.device.activity().power_states.map(|time| time.0)
    }
}

/// Makes the table of Linux: idle times of 50 times entry and exit latency together, in milliseconds rounded up
/// (`nvme_configure_apst`).
fn linux() -> ApstTable {
    let mut table = ApstTable::new_zeroed();
    let to = |state: u8, us: u64| {
        let ms = (us * 50).div_ceil(1_000) as u32;
        ApstEntry::new().with_itps(state).with_itpt(ms).into()
    };
    for entry in &mut table.entries[..3] {
        entry.set(to(3, 210 + 1_500));
    }
    table.entries[3].set(to(4, 2_200 + 6_000));
    table
}

#[test]
fn idle_time_takes_it_down_and_an_io_pays_for_the_way_up() {
    let mut evo = Evo::with_linux();
    assert_eq!(evo.read(0), 69_000);
    assert_eq!(evo.state(69_000 + 86 * MS - 1), 0);
    assert_eq!(evo.state(69_000 + 86 * MS), 3);
    // PS3 in 210 us; then 410 ms to PS4.
    let ps3 = 69_000 + 86 * MS + 210_000;
    assert_eq!(evo.state(ps3 + 410 * MS - 1), 3);
    assert_eq!(evo.state(ps3 + 410 * MS), 4);
    // Awake a read takes 69 us: asleep exactly 6 ms more, and then it is awake.
    let later = 1_000 * MS;
    assert_eq!(evo.read(later), later + 6 * MS + 69_000);
    assert_eq!(evo.state(later + 7 * MS), 0);
    assert_eq!(evo.read(later + 7 * MS), later + 7 * MS + 69_000);
    // From PS3 1.5 ms.
    assert_eq!(evo.read(later + 200 * MS), later + 201 * MS + 569_000);
}

#[test]
fn an_io_waits_for_the_rest_of_the_entry_too() {
    let mut evo = Evo::with_linux();
    assert_eq!(evo.read(0), 69_000);
    // The entry begins at 86.069 ms and takes 210 us; the exit 1.5 ms.
    let entering = 86 * MS + 69_000 + 10_000;
    assert_eq!(evo.read(entering), entering + 200_000 + 1_500_000 + 69_000);
}

#[test]
fn ios_of_one_wake_up_wait_for_it_together() {
    let mut evo = Evo::new();
    evo.host
        .must(Command::set_features(FeatureId::POWER_MANAGEMENT, 4));
    evo.host.step(10 * MS);
    for cid in 0..3 {
        let read = transfer(NvmOpcode::READ, 0, 8, &evo.buffer);
        evo.pair.submit(cid, read);
        evo.host.step(10 * MS + u64::from(cid));
    }
    // Read at the same time: 69 us after the exit of 6 ms, but for their turns on the link.
    let first = evo.host.step(10 * MS + 2).next.unwrap().0;
    assert_eq!(first, 16 * MS + 69_000);
    evo.host.step(first + 3_000);
    assert_eq!(evo.pair.reap_all().len(), 3);
}

#[test]
fn a_capped_state_serves_slower() {
    let mut evo = Evo::new();
    evo.host
        .must(Command::set_features(FeatureId::POWER_MANAGEMENT, 2));
    // 5.3 W of reading under a cap of 4.08 W.
    let stretched = (69_000.0 * 5.3 / 4.08_f64).round() as u64;
    assert_eq!(evo.read(0), stretched);
    assert_eq!(evo.state(MS), 2);
}

#[test]
fn residency_is_where_it_was_and_adds_up() {
    let mut evo = Evo::with_linux();
    evo.read(0);
    evo.read(1_000 * MS);
    evo.host.step(1_010 * MS);
    let residency = evo.residency();
    assert_eq!(residency.iter().sum::<u64>(), 1_010 * MS);
    // Down at 86.069 ms, in PS3 at + 0.21 until + 410 and the 3.7 ms of the way to PS4, and up at
    // one second: transitions count to the shallower state.
    let awake = 86 * MS + 69_000 + 210_000;
    let dozing = 410 * MS + 1_500_000 + 2_200_000;
    let asleep = 1_000 * MS - awake - dozing;
    assert_eq!(residency[..5], [awake + 10 * MS, 0, 0, dozing, asleep]);
}

#[test]
fn a_reset_is_power_state_0_and_no_table() {
    let mut evo = Evo::with_linux();
    assert_eq!(evo.state(1_000 * MS), 4);
    evo.host.device.write32(CC, 0);
    evo.host.enable();
    assert_eq!(evo.state(1_000 * MS), 0);
    assert_eq!(evo.state(9_000 * MS), 0);
    assert!(evo.residency()[4] > 0);
}

#[test]
fn a_table_that_is_switched_off_does_nothing() {
    let mut evo = Evo::new();
    evo.set_table(&linux(), 0);
    assert_eq!(evo.state(10_000 * MS), 0);
    evo.set_table(&linux(), 1);
    assert_eq!(evo.state(20_000 * MS), 4);
}

#[test]
fn no_table_keeps_the_controller_busy() {
    let mut evo = Evo::new();
    let mut table = ApstTable::new_zeroed();
    for (from, entry) in table.entries.iter_mut().enumerate() {
        // Round and round, each millisecond, for a century.
        let to = ApstEntry::new()
            .with_itps((from as u8 + 4) % 5)
            .with_itpt(1);
        entry.set(to.into());
    }
    evo.set_table(&table, 1);
    let century = 3_155_760_000_000 * MS;
    assert_eq!(evo.state(century), 4);
    assert_eq!(evo.residency().iter().sum::<u64>(), century);
}

/// Waits until the thread is parked: each park but the present one has ended in a wake.
fn wait_for_park(host: &Host) {
    loop {
        let activity = host.device.activity();
        if activity.parks == activity.wakes + 1 {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_reset_leaves_the_idle_time_before_it_to_the_state_that_it_was_in() {
    let resets: [fn(&EmulatedDevice); 3] = [
        |device| device.write32(CC, 0),
        |device| device.reset_function().unwrap(),
        |device| device.inject(Fault::Removed),
    ];
    for reset in resets {
        let mut host = Host::spawned(&options());
        host.must(Command::set_features(FeatureId::POWER_MANAGEMENT, 4));
        wait_for_park(&host);
        let mut before = host.device.power();
        while before.residency[4].0 < MS {
            std::thread::yield_now();
            before = host.device.power();
        }
        reset(&host.device);
        let after = host.device.power();
        assert_eq!((before.state, after.state), (4, 0));
        assert!(after.residency[4] >= before.residency[4], "{after:?}");
        assert!(after.residency[0] >= before.residency[0], "{after:?}");
    }
}

#[test]
fn a_parked_thread_dozes_by_the_clock_and_does_nothing_for_it() {
    let mut host = Host::spawned(&options());
    host.must(Command::set_features(FeatureId::POWER_MANAGEMENT, 4));
    wait_for_park(&host);
    let quiet = host.device.activity();
    let before = host.device.power();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let after = host.device.power();
    assert_eq!((before.state, after.state), (4, 4));
    // In PS4 it draws 5 mW, and its way there of 2.2 ms counts to PS0.
    let whole = |power: PowerUse| power.residency.iter().map(|time| time.0).sum::<u64>();
    assert!(whole(after) - whole(before) >= 5 * MS);
    assert!(after.residency[4].0 >= 2 * MS);
    assert!(after.idle_energy > before.idle_energy);
    assert_eq!(host.device.activity(), quiet);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whenever I/Os come and whatever the host requests: the times in the states add up to the whole time, and a read
    /// takes its service time, and at most one entry and one exit more.
    #[test]
    fn no_time_is_lost(
        events in proptest::collection::vec((0_u64..600 * MS, 0_u32..12), 1..30),
    ) {
        let mut evo = Evo::with_linux();
        let mut now = 0;
        for (gap, what) in events {
            now += gap;
            if what < 5 {
                evo.host.step(now);
                evo.host.must(Command::set_features(FeatureId::POWER_MANAGEMENT, what));
            } else {
                let finish = evo.read(now);
                prop_assert!(finish >= now + 69_000);
                prop_assert!(finish <= now + 9_700_000 + 89_634);
                now = finish;
            }
            let whole = evo.residency().iter().sum::<u64>();
            prop_assert_eq!(Nanos(whole), Nanos(now));
        }
    }
}
