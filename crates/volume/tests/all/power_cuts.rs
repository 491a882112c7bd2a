//! Power cuts at any moment: synced data is there, whatever else is lost.

use crate::coin::Coin;
use joulio_volume::{BlockStore, FormatOptions, MemoryStore, Volume, VolumeError, VolumeFile};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
pub enum Op {
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

pub fn op() -> impl Strategy<Value = Op> {
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

/// Content of the files, and the part of it that a crash must not lose.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now: BTreeMap<usize, Vec<u8>>,
    /// Files as of the last sync; `None`: the file has changed since.
    pub synced: BTreeMap<usize, Option<Vec<u8>>>,
}

impl Model {
    fn touch(&mut self, file: usize) -> &mut Vec<u8> {
        self.synced.entry(file).and_modify(|kept| *kept = None);
        self.now.entry(file).or_default()
    }

    pub fn sync(&mut self) {
        let all = self.now.iter();
        self.synced = all
            .map(|(file, bytes)| (*file, Some(bytes.clone())))
            .collect();
    }

    pub fn apply(&mut self, op: &Op) {
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

pub fn apply<S: BlockStore>(volume: &Volume<S>, op: &Op) -> Result<(), VolumeError> {
    let open =
        |file: usize| -> Result<VolumeFile<S>, VolumeError> { volume.open_or_create(NAMES[file]) };
    match *op {
        Op::Write {
            file,
            offset,
            len,
            byte,
        } => open(file)?.write_at(offset.into(), &vec![byte; len as usize]),
        Op::Append { file, len, byte } => {
            let appended = open(file)?.append(&vec![byte; len as usize]);
            appended.map(|_| ())
        }
        Op::Truncate { file, size } => open(file)?.truncate(size.into()),
        Op::Rename { from, to } if volume.exists(NAMES[from]) => {
            volume.rename(NAMES[from], NAMES[to])
        }
        Op::Remove { file } if volume.exists(NAMES[file]) => volume.remove(NAMES[file]),
        Op::Rename { .. } | Op::Remove { .. } => Ok(()),
        Op::Sync { file } => open(file)?.sync(),
    }
}

pub fn contents<S: BlockStore>(volume: &Volume<S>, name: &str) -> Vec<u8> {
    let file = volume.open_file(name).expect("opened");
    let mut bytes = vec![0; file.size() as usize];
    let done = file.read_at(0, &mut bytes).expect("read");
    assert_eq!(done, bytes.len());
    bytes
}

/// Returns an empty volume with a small journal.
pub fn formatted(block: u32) -> MemoryStore {
    let store = MemoryStore::new(block, (8 << 20) / u64::from(block));
    let options = FormatOptions {
        unit: 4096,
        journal: Some(64 << 10),
        ..FormatOptions::default()
    };
    Volume::format(&store, options).expect("formatted");
    store
}

impl Model {
    /// Checks that everything that was synced is there.
    pub fn check<S: BlockStore>(&self, volume: &Volume<S>) {
        for (file, kept) in &self.synced {
            let name = NAMES[*file];
            assert!(volume.exists(name), "{name} is gone");
            let bytes = contents(volume, name);
            if let Some(kept) = kept {
                assert_eq!(&bytes, kept, "{name}");
            }
        }
    }
}

proptest! {
    #[test]
    fn what_was_synced_survives(
        block in prop_oneof![Just(512_u32), Just(4096)],
        ops in prop::collection::vec(op(), 1..60),
        seed in any::<u64>(),
    ) {
        let volume = Volume::open(formatted(block)).expect("opened");
        let mut model = Model::default();
        let mut coin = Coin::new(seed);
        for op in &ops {
            apply(&volume, op).expect("done");
            model.apply(op);
            for (file, bytes) in &model.now {
                prop_assert_eq!(&contents(&volume, NAMES[*file]), bytes, "without a crash");
            }
            let after = Volume::open(coin.cut_power(volume.store())).expect("opened after a power cut");
            model.check(&after);
            // The volume can be used after that.
            after.open_or_create("e").expect("made").append(b"more").expect("written");
            after.sync().expect("synced");
        }
    }
}
