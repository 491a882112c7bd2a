//! Names, sizes and contents, without crashes.

use joulio_volume::{
    BlockStore, FileRead, FormatOptions, MemoryStore, ReadPart, StoreError, Volume, VolumeError,
    WritePart,
};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn volume(block: u32) -> Result<Volume<MemoryStore>> {
    let store = MemoryStore::new(block, (4 << 20) / u64::from(block));
    Volume::format(&store, FormatOptions::default())?;
    Ok(Volume::open(store)?)
}

fn contents<S: BlockStore>(volume: &Volume<S>, name: &str) -> Result<Vec<u8>> {
    let file = volume.open_file(name)?;
    let mut bytes = vec![0; file.size() as usize + 1];
    let done = file.read_at(0, &mut bytes)?;
    bytes.truncate(done);
    Ok(bytes)
}

#[test]
fn files_hold_what_was_written_at_any_offset() -> Result<()> {
    for block in [512, 4096] {
        let volume = volume(block)?;
        let file = volume.create("a")?;
        assert_eq!(file.append(b"0123456789")?, 0);
        file.write_at(3, b"abc")?;
        assert_eq!(file.append(b"end")?, 10);
        assert_eq!(contents(&volume, "a")?, b"012abc6789end");
        file.write_at(10_000, b"beyond")?;
        let mut expected = b"012abc6789end".to_vec();
        expected.resize(10_000, 0);
        expected.extend(b"beyond");
        assert_eq!(contents(&volume, "a")?, expected);
        let large: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
        file.write_at(511, &large)?;
        expected.truncate(511);
        expected.extend(&large);
        assert_eq!(contents(&volume, "a")?, expected);
        file.truncate(600)?;
        file.truncate(700)?;
        expected.truncate(600);
        expected.resize(700, 0);
        assert_eq!(
            contents(&volume, "a")?,
            expected,
            "what was cut off is gone"
        );
    }
    Ok(())
}

#[test]
fn reads_beside_each_other_end_at_the_end() -> Result<()> {
    let volume = volume(512)?;
    let file = volume.create("a")?;
    file.append(&[7; 1000])?;
    let (mut one, mut two, mut three) = ([0; 600], [0; 600], [0; 8]);
    let mut reads = [
        FileRead {
            offset: 0,
            into: &mut one,
            done: 0,
        },
        FileRead {
            offset: 600,
            into: &mut two,
            done: 0,
        },
        FileRead {
            offset: 1000,
            into: &mut three,
            done: 0,
        },
    ];
    file.read_many(&mut reads)?;
    assert_eq!(reads.each_ref().map(|read| read.done), [600, 400, 0]);
    assert_eq!((one, &two[..400]), ([7; 600], &[7; 400][..]));
    Ok(())
}

#[test]
fn names_are_found_replaced_and_removed() -> Result<()> {
    let volume = volume(512)?;
    for name in ["db/1", "db/2", "log"] {
        volume.create(name)?.append(name.as_bytes())?;
    }
    assert_eq!(volume.names("db/"), ["db/1", "db/2"]);
    volume.rename("db/1", "log")?;
    assert_eq!(contents(&volume, "log")?, b"db/1");
    assert_eq!(volume.names(""), ["db/2", "log"]);
    volume.rename("log", "log")?;
    let open = volume.open_file("db/2")?;
    volume.remove("db/2")?;
    assert!(!volume.exists("db/2"));
    open.append(b" lives on")?;
    let mut bytes = [0; 13];
    assert_eq!(open.read_at(0, &mut bytes)?, 13);
    assert_eq!(&bytes, b"db/2 lives on");

    assert!(matches!(
        volume.open_file("db/2"),
        Err(VolumeError::NotFound(_))
    ));
    assert!(matches!(volume.create("log"), Err(VolumeError::Exists(_))));
    assert!(matches!(volume.create(""), Err(VolumeError::Name(0))));
    assert!(matches!(
        volume.create(&"x".repeat(256)),
        Err(VolumeError::Name(256))
    ));
    assert!(matches!(
        volume.rename("none", "x"),
        Err(VolumeError::NotFound(_))
    ));
    Ok(())
}

#[test]
fn space_comes_back_when_the_last_handle_is_closed() -> Result<()> {
    let volume = volume(512)?;
    let all = volume.space();
    assert_eq!(all.free, all.total);
    let file = volume.create("a")?;
    let error = file.write_at(0, &vec![1; all.total as usize + 1]);
    assert!(
        matches!(error, Err(VolumeError::TooLarge { .. })),
        "{error:?}"
    );
    file.write_at(0, &vec![1; all.total as usize])?;
    let error = volume.create("b")?.append(b"x");
    assert!(
        matches!(error, Err(VolumeError::NoSpace { .. })),
        "{error:?}"
    );
    volume.remove("a")?;
    assert_eq!(volume.space().free, 0, "it is open");
    drop(file);
    volume.sync()?;
    assert_eq!(volume.space().free, all.free);
    volume.open_file("b")?.append(b"x")?;
    Ok(())
}

#[test]
fn a_full_journal_goes_over_to_the_other_region() -> Result<()> {
    let volume = volume(512)?;
    let file = volume.create("a")?;
    for round in 0..1000_u32 {
        file.write_at(u64::from(round), &round.to_le_bytes())?;
        file.sync()?;
        let name = format!("f{}", round % 7);
        volume
            .open_or_create(&name)?
            .write_at(0, &round.to_le_bytes())?;
        if round % 5 == 0 {
            volume.remove(&name)?;
        }
    }
    volume.sync()?;
    let (before, names) = (contents(&volume, "a")?, volume.names(""));
    drop(file);
    let cut = volume.store().after_power_cut(|_| false);
    let after = Volume::open(cut)?;
    assert_eq!(contents(&after, "a")?, before);
    assert_eq!(after.names(""), names);
    assert_eq!(after.space(), volume.space());
    Ok(())
}

#[test]
fn a_write_that_the_volume_has_no_room_for_keeps_none_of_it() -> Result<()> {
    let volume = volume(512)?;
    let small = volume.create("small")?;
    small.append(b"x")?;
    let before = volume.space();
    let large = volume.create("large")?;
    let whole = vec![1; before.total as usize];
    for refused in [large.write_at(0, &whole), large.truncate(before.total)] {
        assert!(
            matches!(refused, Err(VolumeError::NoSpace { .. })),
            "{refused:?}"
        );
    }
    assert_eq!((volume.space(), large.size()), (before, 0));
    large.append(&whole[..before.free as usize])?;
    assert_eq!(volume.space().free, 0);
    // Space that another file gave up is available to the next without a sync by the caller.
    large.truncate(0)?;
    assert_eq!(volume.space().free, 0);
    small.append(&[2; 100_000])?;
    assert_eq!(small.size(), 100_001);
    volume.sync()?;
    let cut = volume.store().after_power_cut(|_| false);
    assert_eq!(Volume::open(cut)?.size_of("small")?, 100_001);
    Ok(())
}

/// Returns a volume with the smallest journal.
fn small_journal() -> Result<MemoryStore> {
    let store = MemoryStore::new(512, 16 << 10);
    let options = FormatOptions {
        unit: 4096,
        journal: Some(64 << 10),
        ..FormatOptions::default()
    };
    Volume::format(&store, options)?;
    Ok(store)
}

#[test]
fn a_directory_that_the_journal_has_no_room_for_is_refused_before_it_is_changed() -> Result<()> {
    // One sync for each, and one for all: the records of their creation alone are smaller than a snapshot with all
    // of them.
    for (name, each) in [(200, true), (4, false)] {
        let volume = Volume::open(small_journal()?)?;
        let mut made = 0;
        let error = loop {
            match volume.create(&format!("{made:0>name$}")) {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
            if each {
                volume.sync()?;
            }
        };
        assert!(
            matches!(error, VolumeError::DirectoryTooLarge { .. }),
            "{error}"
        );
        volume.sync()?;
        let long = "y".repeat(250);
        let renamed = volume.rename(&format!("{:0>name$}", 0), &long);
        assert!(
            matches!(renamed, Err(VolumeError::DirectoryTooLarge { .. })),
            "{renamed:?}"
        );
        let cut = volume.store().after_power_cut(|_| false);
        let after = Volume::open(cut)?;
        assert_eq!(after.names("").len(), made);
        // There is space again, for as many as there were.
        for number in 0..made {
            after.remove(&format!("{number:0>name$}"))?;
        }
        after.create(&long)?.append(b"x")?;
        after.sync()?;
        assert_eq!(after.names(""), [long]);
    }
    Ok(())
}

#[test]
fn extents_that_the_journal_has_no_room_for_are_refused() -> Result<()> {
    let volume = Volume::open(small_journal()?)?;
    let mut number = 0;
    while volume.create(&format!("{number:0>100}")).is_ok() {
        number += 1;
    }
    let before = volume.space();
    // The directory has room for the sizes of the existing files, but not for an extent of each.
    let refused = (0..number).find_map(|number| {
        let file = volume.open_file(&format!("{number:0>100}")).expect("made");
        file.append(b"x").err()
    });
    assert!(
        matches!(refused, Some(VolumeError::DirectoryTooLarge { .. })),
        "{refused:?}"
    );
    volume.sync()?;
    let used = (0..number).filter(|number| {
        let size = volume.size_of(&format!("{number:0>100}"));
        size.is_ok_and(|size| size > 0)
    });
    assert_eq!(
        volume.space().free,
        before.free - 4096 * used.count() as u64
    );
    Ok(())
}

/// A store whose next flush, if it is to wait, begins together with another thread and takes a while.
struct Slow {
    store: MemoryStore,
    waits: AtomicBool,
    begun: Barrier,
}

impl BlockStore for Slow {
    fn block_size(&self) -> u32 {
        self.store.block_size()
    }

    fn blocks(&self) -> u64 {
        self.store.blocks()
    }

    fn read(&self, parts: &mut [ReadPart<'_>]) -> std::result::Result<(), StoreError> {
        self.store.read(parts)
    }

    fn write(&self, parts: &[WritePart<'_>]) -> std::result::Result<(), StoreError> {
        self.store.write(parts)
    }

    fn flush(&self) -> std::result::Result<(), StoreError> {
        if self.waits.swap(false, Ordering::Relaxed) {
            self.begun.wait();
            thread::sleep(Duration::from_millis(100));
        }
        self.store.flush()
    }
}

#[test]
fn space_that_a_commit_under_way_frees_is_waited_for() -> Result<()> {
    let store = MemoryStore::new(512, 8192);
    Volume::format(&store, FormatOptions::default())?;
    let (waits, begun) = (AtomicBool::new(false), Barrier::new(2));
    let volume = Volume::open(Slow {
        store,
        waits,
        begun,
    })?;
    let small = volume.create("small")?;
    let free = volume.space().free as usize;
    volume.create("large")?.append(&vec![1; free])?;
    volume.sync()?;
    volume.store().waits.store(true, Ordering::Relaxed);
    thread::scope(|scope| {
        let removed = scope.spawn(|| volume.remove("large"));
        volume.store().begun.wait();
        let appended = small.append(b"x");
        removed.join().expect("no panic")?;
        appended.map(drop)
    })?;
    Ok(())
}
