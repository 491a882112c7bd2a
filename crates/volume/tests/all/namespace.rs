//! Volumes on an emulated controller, used by many threads.

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_volume::{
    BlockStore, FormatOptions, MemoryStore, NvmeStore, ReadPart, StoreError, Volume, VolumeError,
    WritePart,
};
use std::sync::Arc;
use std::thread;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn store(queues: u16, policy: fn() -> AnyPolicy) -> Result<NvmeStore<EmulatedDevice>> {
    let device = EmulatedDevice::spawn(&Options::new(DeviceProfile::builtin("instant")?))?;
    let options = ControllerOptions {
        queues,
        ..ControllerOptions::default()
    };
    Ok(NvmeStore::new(
        Controller::open(device, options)?,
        1,
        policy,
    )?)
}

#[test]
fn threads_wait_for_a_queue_where_others_of_the_controller_have_the_rest() -> Result<()> {
    let device = EmulatedDevice::spawn(&Options::new(DeviceProfile::builtin("instant")?))?;
    let options = ControllerOptions {
        queues: 2,
        ..ControllerOptions::default()
    };
    let controller = Arc::new(Controller::open(device, options)?);
    let _elsewhere = controller.create_queue_pair(4)?;
    let store = NvmeStore::new(Arc::clone(&controller), 1, || AnyPolicy::POLL)?;
    Volume::format(&store, FormatOptions::default())?;
    let volume = Volume::open(store)?;
    thread::scope(|scope| {
        for number in 0..4 {
            let volume = volume.clone();
            scope.spawn(move || {
                let file = volume.create(&format!("file {number}")).expect("made");
                for _ in 0..50 {
                    file.append(&[number; 5000]).expect("written");
                    file.sync().expect("synced");
                }
            });
        }
    });
    assert_eq!(volume.names("file").len(), 4);
    // Without any, the result is an error, and not an endless wait.
    drop(volume);
    let _both = controller.create_queue_pair(4)?;
    let none = NvmeStore::new(controller, 1, || AnyPolicy::POLL);
    assert!(matches!(none, Err(StoreError::Driver(_))));
    Ok(())
}

#[test]
fn a_namespace_has_one_volume_of_a_process() -> Result<()> {
    let device = EmulatedDevice::spawn(&Options::new(DeviceProfile::builtin("instant")?))?;
    let controller = Arc::new(Controller::open(device, ControllerOptions::default())?);
    let store = || NvmeStore::new(Arc::clone(&controller), 1, || AnyPolicy::POLL);
    Volume::format(&store()?, FormatOptions::default())?;
    let volume = Volume::open(store()?)?;
    let file = volume.create("a")?;
    file.append(b"first")?;
    volume.sync()?;
    let overwrite = FormatOptions {
        overwrite: true,
        ..FormatOptions::default()
    };
    let refused = [
        Volume::open(store()?).err(),
        Volume::format(&store()?, overwrite).err(),
    ];
    for refused in refused {
        assert!(
            matches!(refused, Some(VolumeError::Store(StoreError::InUse(1)))),
            "{refused:?}"
        );
    }
    // A user that only reads may open it.
    assert_eq!(Volume::open(store()?.read_only())?.names(""), ["a"]);
    // An open file keeps the volume open too.
    drop(volume);
    assert!(Volume::open(store()?).is_err());
    drop(file);
    assert_eq!(Volume::open(store()?)?.names(""), ["a"]);
    Ok(())
}

#[test]
fn threads_share_a_volume_with_fewer_queues_than_threads() -> Result<()> {
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        let store = store(2, policy)?;
        Volume::format(&store, FormatOptions::default())?;
        let volume = Volume::open(store)?;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u8)
                .map(|number| {
                    let volume = volume.clone();
                    scope.spawn(move || {
                        let file = volume.create(&format!("file {number}")).expect("made");
                        for round in 0..40_u32 {
                            let bytes = vec![number ^ round as u8; 1000 + 311 * round as usize];
                            file.append(&bytes).expect("written");
                            if round % 10 == 0 {
                                file.sync().expect("synced");
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
        });
        for number in 0..4_u8 {
            let file = volume.open_file(&format!("file {number}"))?;
            let mut bytes = vec![0; file.size() as usize];
            file.read_at(0, &mut bytes)?;
            let mut bytes = &bytes[..];
            for round in 0..40_u32 {
                let (now, later) = bytes.split_at(1000 + 311 * round as usize);
                assert!(now.iter().all(|&byte| byte == number ^ round as u8));
                bytes = later;
            }
            assert!(bytes.is_empty());
        }
    }
    Ok(())
}

#[test]
fn a_volume_that_is_only_read_refuses_writes_and_can_be_read() -> Result<()> {
    let store = store(1, || AnyPolicy::INTERRUPT)?;
    Volume::format(&store, FormatOptions::default())?;
    let volume = Volume::open(&store)?;
    volume.create("a")?.append(&[3; 300_000])?;
    volume.sync()?;
    drop(volume);
    let volume = Volume::open(store.read_only())?;
    let file = volume.open_file("a")?;
    let mut bytes = vec![0; 300_000];
    assert_eq!(file.read_at(0, &mut bytes)?, 300_000);
    assert!(bytes.iter().all(|&byte| byte == 3));
    let refused = file.append(b"x");
    assert!(
        matches!(refused, Err(VolumeError::Store(StoreError::ReadOnly))),
        "{refused:?}"
    );
    for refused in [
        file.truncate(0),
        volume.remove("a"),
        volume.rename("a", "b"),
        volume.create("b").map(drop),
        volume.open_or_create("b").map(drop),
    ] {
        assert!(
            matches!(refused, Err(VolumeError::Store(StoreError::ReadOnly))),
            "{refused:?}"
        );
    }
    assert_eq!(volume.names(""), ["a"]);
    assert_eq!(file.size(), 300_000);
    volume.sync()?;
    Ok(())
}

/// Tries parts that are outside the store, or are not whole blocks, after one that is valid.
fn refuses_what_is_not_on_it(store: &impl BlockStore) -> Result<()> {
    let (size, blocks) = (store.block_size() as usize, store.blocks());
    let block = vec![7; size];
    let good = WritePart {
        lba: 0,
        from: &block,
    };
    // The last is block 1 if the byte offset overflows 64 bits.
    for lba in [blocks, u64::MAX, u64::MAX / size as u64 + 2] {
        let refused = store.write(&[good, WritePart { lba, ..good }]);
        assert!(
            matches!(refused, Err(StoreError::Range { .. })),
            "{refused:?}"
        );
    }
    let part = WritePart {
        lba: 1,
        from: &block[1..],
    };
    let refused = store.write(&[good, part]);
    let Err(StoreError::PartialBlock { len, block }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((len, block as usize), (size - 1, size));
    let mut into = vec![1; 2 * size];
    for offset in [
        blocks * size as u64 - 1,
        u64::MAX - 1,
        u64::MAX - size as u64 + 1,
    ] {
        let into = &mut into;
        let refused = store.read(&mut [ReadPart { offset, into }]);
        assert!(
            matches!(refused, Err(StoreError::Range { .. })),
            "{refused:?}"
        );
    }
    let (offset, into) = (0, &mut into[..]);
    store.read(&mut [ReadPart { offset, into }])?;
    assert!(into.iter().all(|&byte| byte == 0), "nothing was written");
    Ok(())
}

#[test]
fn what_is_not_on_the_store_is_refused_as_a_whole() -> Result<()> {
    refuses_what_is_not_on_it(&MemoryStore::new(512, 64))?;
    refuses_what_is_not_on_it(&store(1, || AnyPolicy::INTERRUPT)?)
}
