//! Processes that are killed at any write or flush, with power cuts in between.

use crate::coin::Coin;
use crate::power_cuts::{Model, NAMES, Op, apply, contents, formatted, op};
use joulio_volume::{
    BlockStore, MemoryStore, ReadPart, StoreError, Volume, VolumeError, WritePart,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store whose process is killed after a number of writes and flushes.
struct Killed<'a> {
    store: &'a MemoryStore,
    left: AtomicU32,
}

impl<'a> Killed<'a> {
    fn after(store: &'a MemoryStore, calls: u32) -> Killed<'a> {
        let left = AtomicU32::new(calls);
        Killed { store, left }
    }

    fn live(&self) -> Result<(), StoreError> {
        let less = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        let lived = self.left.fetch_update(order, order, less);
        lived.map(|_| ()).map_err(|_| StoreError::ReadOnly)
    }
}

impl BlockStore for Killed<'_> {
    fn block_size(&self) -> u32 {
        self.store.block_size()
    }

    fn blocks(&self) -> u64 {
        self.store.blocks()
    }

    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError> {
        self.store.read(parts)
    }

    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError> {
        self.live()?;
        self.store.write(parts)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.live()?;
        self.store.flush()
    }
}

#[test]
fn a_removal_that_is_in_the_cache_is_durable_before_its_units_are_used() {
    let store = formatted(512);
    let volume = Volume::open(&store).expect("opened");
    let file = volume.create("a").expect("made");
    file.append(&[1; 8192]).expect("written");
    file.sync().expect("synced");
    // A flush when it is opened, a flush before the record, and the record, which is the last.
    let killed = Volume::open(Killed::after(&store, 3)).expect("opened");
    let removed = killed.remove("a");
    assert!(matches!(removed, Err(VolumeError::Store(_))), "{removed:?}");

    let volume = Volume::open(&store).expect("opened");
    assert!(!volume.exists("a"), "its record is in the cache");
    let free = volume.space().free;
    let file = volume.create("b").expect("made");
    file.append(&vec![2; free as usize]).expect("written");
    // Writes to the journal are lost, and those to the units are not.
    let units_start = (4096 + 2 * (64 << 10)) / 512;
    let cut = store.after_power_cut(|lba| lba >= units_start);
    let after = Volume::open(cut).expect("opened after a power cut");
    assert!(!after.exists("a"), "b has its units");
}

impl Model {
    /// Updates the model: the process was killed during `op`.
    fn killed(&mut self, op: &Op) {
        let any = |kept: &mut Option<Vec<u8>>| *kept = None;
        match *op {
            Op::Write { file, .. } | Op::Append { file, .. } | Op::Truncate { file, .. } => {
                self.synced.entry(file).and_modify(any);
            }
            Op::Remove { file } => drop(self.synced.remove(&file)),
            Op::Rename { from, to } => {
                self.synced.entry(to).and_modify(any);
                if from != to {
                    self.synced.remove(&from);
                }
            }
            Op::Sync { .. } => {}
        }
    }

    /// Compares the volume that was opened with the model; from then on the files that were found count as durable.
    fn opened<S: BlockStore>(&mut self, volume: &Volume<S>) {
        self.check(volume);
        let there = (0..NAMES.len()).filter(|&file| volume.exists(NAMES[file]));
        self.now = there
            .map(|file| (file, contents(volume, NAMES[file])))
            .collect();
        self.sync();
    }
}

proptest! {
    #[test]
    fn what_was_synced_or_opened_survives(
        block in prop_oneof![Just(512_u32), Just(4096)],
        lives in prop::collection::vec(
            (prop::collection::vec(op(), 0..30), 0..60_u32, any::<bool>()),
            1..12,
        ),
        seed in any::<u64>(),
    ) {
        let mut store = formatted(block);
        let mut model = Model::default();
        let mut coin = Coin::new(seed);
        for (ops, calls, power_cut) in &lives {
            match Volume::open(Killed::after(&store, *calls)) {
                Ok(volume) => {
                    model.opened(&volume);
                    for op in ops {
                        if let Err(error) = apply(&volume, op) {
                            prop_assert!(matches!(error, VolumeError::Store(_)), "{}", error);
                            model.killed(op);
                            break;
                        }
                        model.apply(op);
                    }
                }
                Err(error) => prop_assert!(matches!(error, VolumeError::Store(_)), "{}", error),
            }
            if *power_cut {
                store = coin.cut_power(&store);
            }
        }
        model.opened(&Volume::open(&store).expect("opened"));
    }
}
