//! A redb database on an NVMe namespace: a file of a volume is its storage.
//!
//!     cargo run --release -p joulio-volume --example redb

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_volume::{BlockStore, FormatOptions, NvmeStore, Volume, VolumeError, VolumeFile};
use redb::{Database, StorageBackend, TableDefinition};
use std::error::Error;
use std::fmt::Debug;
use std::io;

/// A file of a volume in the form of redb's storage.
#[derive(Debug)]
pub struct Storage<S: BlockStore>(pub VolumeFile<S>);

impl<S: BlockStore + Debug + 'static> StorageBackend for Storage<S> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.size())
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        match self.0.read_at(offset, &mut bytes).map_err(other)? {
            done if done == len => Ok(bytes),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len).map_err(other)
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        self.0.sync().map_err(other)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data).map_err(other)
    }
}

fn other(error: VolumeError) -> io::Error {
    io::Error::other(error)
}

const ORDERS: TableDefinition<'_, u64, &str> = TableDefinition::new("orders");

/// Writes some orders, opens the database again, and reads them.
///
/// # Errors
/// The device, the volume or the database failed.
pub fn main() -> Result<(), Box<dyn Error>> {
    let device = EmulatedDevice::spawn(&Options::new(DeviceProfile::builtin("instant")?))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let store = NvmeStore::new(controller, 1, || AnyPolicy::INTERRUPT)?;
    Volume::format(&store, FormatOptions::default())?;
    let volume = Volume::open(store)?;

    let storage = Storage(volume.create("orders.redb")?);
    let database = Database::builder().create_with_backend(storage)?;
    let writing = database.begin_write()?;
    {
        let mut orders = writing.open_table(ORDERS)?;
        for number in 0..1000 {
            orders.insert(number, format!("order {number}").as_str())?;
        }
    }
    writing.commit()?;
    drop(database);

    let storage = Storage(volume.open_file("orders.redb")?);
    let database = Database::builder().create_with_backend(storage)?;
    let orders = database.begin_read()?.open_table(ORDERS)?;
    let found = orders.get(999)?.ok_or("order 999 is missing")?;
    assert_eq!(found.value(), "order 999");
    println!(
        "{} bytes on the volume, {}",
        volume.size_of("orders.redb")?,
        found.value()
    );
    Ok(())
}
