//! Devices that contain something other than a volume.

use joulio_volume::{
    BlockStore, FormatOptions, MemoryStore, ReadPart, Volume, VolumeError, WritePart,
};
use proptest::prelude::*;

fn formatted() -> MemoryStore {
    let store = MemoryStore::new(512, 2048);
    let options = FormatOptions {
        journal: Some(64 << 10),
        ..FormatOptions::default()
    };
    Volume::format(&store, options).expect("formatted");
    store
}

#[test]
fn a_device_without_a_volume_says_so() {
    let store = MemoryStore::new(512, 2048);
    assert!(matches!(Volume::open(&store), Err(VolumeError::NotAVolume)));
    assert_eq!(store.counts(), (0, 0), "nothing was written");
    let small = MemoryStore::new(512, 16);
    let error = Volume::format(&small, FormatOptions::default());
    assert!(matches!(error, Err(VolumeError::TooSmall { .. })));
    for (unit, journal) in [(1000, None), (1 << 30, None), (65_536, Some(3))] {
        let options = FormatOptions {
            unit,
            journal,
            ..FormatOptions::default()
        };
        let error = Volume::format(&store, options);
        assert!(matches!(error, Err(VolumeError::Size { .. })), "{error:?}");
    }
    assert_eq!(store.counts(), (0, 0), "nothing was written");
}

#[test]
fn a_volume_is_overwritten_only_by_an_explicit_word() {
    let store = formatted();
    let volume = Volume::open(&store).expect("opened");
    volume.create("a").expect("made").sync().expect("synced");
    let again = Volume::format(&store, FormatOptions::default());
    assert!(matches!(again, Err(VolumeError::AlreadyAVolume)));
    assert_eq!(Volume::open(&store).expect("opened").names(""), ["a"]);
    let options = FormatOptions {
        overwrite: true,
        ..FormatOptions::default()
    };
    Volume::format(&store, options).expect("formatted");
    assert!(Volume::open(&store).expect("opened").names("").is_empty());
}

#[test]
fn another_format_or_size_is_refused() {
    let store = formatted();
    let smaller = store.after_power_cut(|_| true);
    let mut first = vec![0; 4096];
    let mut parts = [ReadPart {
        offset: 0,
        into: &mut first,
    }];
    smaller.read(&mut parts).expect("read");
    let mut later = first.clone();
    later[8] = 2;
    let from = &later;
    smaller
        .write(&[WritePart { lba: 0, from }])
        .expect("written");
    assert!(matches!(
        Volume::open(&smaller),
        Err(VolumeError::Version { found: 2, .. })
    ));
    let half = MemoryStore::new(512, 1024);
    half.write(&[WritePart {
        lba: 0,
        from: &first,
    }])
    .expect("written");
    assert!(matches!(Volume::open(&half), Err(VolumeError::Damaged(_))));
}

/// Returns the store with one byte of block `lba` changed.
fn damaged(store: &MemoryStore, lba: u64) -> MemoryStore {
    let store = store.after_power_cut(|_| true);
    let mut block = [0; 512];
    let (offset, into) = (lba * 512, &mut block[..]);
    store.read(&mut [ReadPart { offset, into }]).expect("read");
    block[100] ^= 1;
    let from = &block;
    store.write(&[WritePart { lba, from }]).expect("written");
    store
}

#[test]
fn a_journal_whose_last_record_alone_is_torn_opens_and_any_other_is_damaged() {
    let store = formatted();
    let volume = Volume::open(&store).expect("opened");
    // Each record takes a block, after the snapshot in block 8, since the names are long.
    for name in ["a", "b", "c"] {
        volume.create(&name.repeat(200)).expect("made");
        volume.sync().expect("synced");
    }
    let names = volume.names("");
    let torn = Volume::open(damaged(&store, 8 + 3)).expect("opened");
    assert_eq!(torn.names(""), names[..2]);
    for lba in [8 + 1, 8 + 2] {
        let opened = Volume::open(damaged(&store, lba)).map(|volume| volume.names(""));
        assert!(
            matches!(opened, Err(VolumeError::Damaged(_))),
            "{lba}: {opened:?}"
        );
    }
    // The journal has switched to the other region, in block 8 + 128, and has a record there.
    let block = |lba: u64| {
        let mut block = vec![0; 512];
        let (offset, into) = (lba * 512, &mut block[..]);
        store.read(&mut [ReadPart { offset, into }]).expect("read");
        block
    };
    let (first, mut renames) = (block(8 + 128), 0);
    while block(8 + 128) == first {
        let name = |number: u32| format!("{number:0>200}");
        match renames {
            0 => volume.rename(&names[0], &name(1)).expect("renamed"),
            _ => volume
                .rename(&name(renames), &name(renames + 1))
                .expect("renamed"),
        }
        renames += 1;
    }
    // The snapshot alone could be torn, but not with a record after it.
    let before = Volume::open(damaged(&store, 8 + 128)).expect("opened");
    assert_eq!(before.names("").len(), 3);
    volume.create("d").expect("made");
    volume.sync().expect("synced");
    let opened = Volume::open(damaged(&store, 8 + 128)).map(|volume| volume.names(""));
    assert!(matches!(opened, Err(VolumeError::Damaged(_))), "{opened:?}");
}

proptest! {
    /// Whatever bytes are in the superblock and the journal, opening does not panic, loop, or allocate without
    /// limit.
    #[test]
    fn any_bytes_open_or_are_refused(
        changes in prop::collection::vec((0_usize..140 << 10, any::<u8>()), 1..40),
    ) {
        let store = formatted();
        let volume = Volume::open(&store).expect("opened");
        for name in ["a", "b"] {
            volume.create(name).expect("made").append(&[1; 5000]).expect("written");
            volume.sync().expect("synced");
        }
        drop(volume);
        let mut bytes = vec![0; 140 << 10];
        store.read(&mut [ReadPart { offset: 0, into: &mut bytes }]).expect("read");
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        store.write(&[WritePart { lba: 0, from: &bytes }]).expect("written");
        if let Ok(volume) = Volume::open(&store) {
            for name in volume.names("") {
                let file = volume.open_file(&name).expect("opened");
                let mut bytes = vec![0; file.size().min(1 << 20) as usize];
                file.read_at(0, &mut bytes).expect("read");
            }
        }
    }
}
