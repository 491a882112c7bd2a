//! Power cuts at any moment: what was synced is there, whatever of the rest is.

use crate::coin::Coin;
use joulio_volume::{
    BlockStore, FormatOptions, MemoryStore, ReadPart, StoreError, Volume, VolumeError, VolumeFile,
    WritePart,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Op {
    Write {
        file: usize,
        offset: u32,
        len: u32,
        byte: u8,
    },
    Append {
        file: usize,
        len: u32,
        byte: u8,
    },
    Truncate {
        file: usize,
        size: u32,
    },
    Rename {
        from: usize,
        to: usize,
    },
    Remove {
        file: usize,
    },
    Sync {
        file: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let file = 0..NAMES.len();
    prop_oneof![
        3 => (file.clone(), 0..20_000_u32, 1..9_000_u32, any::<u8>())
            .prop_map(|(file, offset, len, byte)| Op::Write { file, offset, len, byte }),
        3 => (file.clone(), 1..3_000_u32, any::<u8>())
            .prop_map(|(file, len, byte)| Op::Append { file, len, byte }),
        1 => (file.clone(), 0..20_000_u32).prop_map(|(file, size)| Op::Truncate { file, size }),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Op::Rename { from, to }),
        1 => file.clone().prop_map(|file| Op::Remove { file }),
        2 => file.prop_map(|file| Op::Sync { file }),
    ]
}

/// What the files are, and what of that a crash may not take away.
#[derive(Clone, Debug, Default)]
struct Model {
    now: BTreeMap<usize, Vec<u8>>,
    /// Files as they were at the last sync; `None`: changed since.
    synced: BTreeMap<usize, Option<Vec<u8>>>,
}

impl Model {
    fn touch(&mut self, file: usize) -> &mut Vec<u8> {
        self.synced.entry(file).and_modify(|kept| *kept = None);
        self.now.entry(file).or_default()
    }

    fn sync(&mut self) {
        let all = self.now.iter();
        self.synced = all
            .map(|(file, bytes)| (*file, Some(bytes.clone())))
            .collect();
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Write {
                file,
                offset,
                len,
                byte,
            } => {
                let bytes = self.touch(file);
                let (offset, end) = (offset as usize, (offset + len) as usize);
                bytes.resize(bytes.len().max(end), 0);
                bytes[offset..end].fill(byte);
            }
            Op::Append { file, len, byte } => {
                let bytes = self.touch(file);
                bytes.resize(bytes.len() + len as usize, byte);
            }
            Op::Truncate { file, size } => self.touch(file).resize(size as usize, 0),
            Op::Rename { from, to } => {
                if let Some(bytes) = self.now.remove(&from) {
                    self.now.insert(to, bytes);
                    self.sync();
                }
            }
            Op::Remove { file } => {
                if self.now.remove(&file).is_some() {
                    self.sync();
                }
            }
            Op::Sync { file } => {
                self.now.entry(file).or_default();
                self.sync();
            }
        }
    }
}

fn apply(volume: &Volume<MemoryStore>, op: &Op) {
    let file = |file: usize| -> VolumeFile<MemoryStore> {
        volume.open_or_create(NAMES[file]).expect("opened")
    };
    match *op {
        Op::Write {
            file: name,
            offset,
            len,
            byte,
        } => {
            let bytes = vec![byte; len as usize];
            file(name)
                .write_at(u64::from(offset), &bytes)
                .expect("written");
        }
        Op::Append {
            file: name,
            len,
            byte,
        } => {
            file(name)
                .append(&vec![byte; len as usize])
                .expect("written");
        }
        Op::Truncate { file: name, size } => file(name).truncate(u64::from(size)).expect("cut"),
        Op::Rename { from, to } => {
            if volume.exists(NAMES[from]) {
                volume.rename(NAMES[from], NAMES[to]).expect("renamed");
            }
        }
        Op::Remove { file } => {
            if volume.exists(NAMES[file]) {
                volume.remove(NAMES[file]).expect("removed");
            }
        }
        Op::Sync { file: name } => file(name).sync().expect("synced"),
    }
}

fn contents(volume: &Volume<MemoryStore>, name: &str) -> Vec<u8> {
    let file = volume.open_file(name).expect("opened");
    let mut bytes = vec![0; file.size() as usize];
    let done = file.read_at(0, &mut bytes).expect("read");
    assert_eq!(done, bytes.len());
    bytes
}

/// A store whose process ends after its first write: no flush comes after it.
struct Killed<'a> {
    store: &'a MemoryStore,
    written: AtomicBool,
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
        self.written.store(true, Ordering::Relaxed);
        self.store.write(parts)
    }

    fn flush(&self) -> Result<(), StoreError> {
        match self.written.load(Ordering::Relaxed) {
            false => self.store.flush(),
            true => Err(StoreError::ReadOnly),
        }
    }
}

#[test]
fn a_removal_that_a_killed_process_left_in_the_cache_is_durable_before_its_units_are_used() {
    let store = MemoryStore::new(512, 2048);
    let options = FormatOptions {
        unit: 4096,
        journal: Some(64 << 10),
        ..FormatOptions::default()
    };
    Volume::format(&store, options).expect("formatted");
    let volume = Volume::open(&store).expect("opened");
    let file = volume.create("a").expect("made");
    file.append(&[1; 8192]).expect("written");
    file.sync().expect("synced");
    let written = AtomicBool::new(false);
    let killed = Killed {
        store: &store,
        written,
    };
    let removed = Volume::open(killed).expect("opened").remove("a");
    assert!(matches!(removed, Err(VolumeError::Store(_))), "{removed:?}");

    let volume = Volume::open(&store).expect("opened");
    assert!(!volume.exists("a"), "its record is in the cache");
    let free = volume.space().free;
    let file = volume.create("b").expect("made");
    file.append(&vec![2; free as usize]).expect("written");
    // What went to the journal is lost, and what went to the units is not.
    let units_start = (4096 + 2 * (64 << 10)) / 512;
    let cut = store.after_power_cut(|lba| lba >= units_start);
    let after = Volume::open(cut).expect("opened after a power cut");
    assert!(!after.exists("a"), "b has its units");
}

proptest! {
    #[test]
    fn what_was_synced_survives(
        block in prop_oneof![Just(512_u32), Just(4096)],
        ops in prop::collection::vec(op(), 1..60),
        seed in any::<u64>(),
    ) {
        let store = MemoryStore::new(block, (8 << 20) / u64::from(block));
        let options = FormatOptions { unit: 4096, journal: Some(64 << 10), ..FormatOptions::default() };
        Volume::format(&store, options).expect("formatted");
        let volume = Volume::open(store).expect("opened");
        let mut model = Model::default();
        let mut coin = Coin::new(seed);
        for op in &ops {
            apply(&volume, op);
            model.apply(op);
            for (file, bytes) in &model.now {
                prop_assert_eq!(&contents(&volume, NAMES[*file]), bytes, "without a crash");
            }
            let after = Volume::open(coin.cut_power(volume.store())).expect("opened after a power cut");
            for (file, kept) in &model.synced {
                let name = NAMES[*file];
                prop_assert!(after.exists(name), "{name} is gone");
                let bytes = contents(&after, name);
                if let Some(kept) = kept {
                    prop_assert_eq!(&bytes, kept, "{}", name);
                }
            }
            // It goes on from there.
            after.open_or_create("e").expect("made").append(b"more").expect("written");
            after.sync().expect("synced");
        }
    }
}
