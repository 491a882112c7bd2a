//! redb on a volume: the example, and power cuts after each transaction.

#[allow(dead_code, reason = "its main is of the example")]
#[path = "../../examples/redb.rs"]
mod example;

use crate::coin::Coin;
use example::Storage;
use joulio_volume::{FormatOptions, MemoryStore, Volume};
use redb::{Database, TableDefinition};
use std::error::Error;

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("table");

#[test]
fn the_example_runs() -> Result<(), Box<dyn Error>> {
    example::main()
}

#[test]
fn what_was_committed_survives_power_cuts() -> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new(512, 32 << 10);
    Volume::format(&store, FormatOptions::default())?;
    let volume = Volume::open(store)?;
    let database = Database::builder().create_with_backend(Storage(volume.create("db")?))?;
    let mut coin = Coin::new(1);
    for round in 0..40_u64 {
        let writing = database.begin_write()?;
        {
            let mut table = writing.open_table(TABLE)?;
            for at in 0..20 {
                table.insert(at * 7 % 100, round)?;
            }
            table.insert(1000 + round, round)?;
        }
        writing.commit()?;
        // A transaction that is not committed, of which any blocks may have reached the device.
        let open = database.begin_write()?;
        open.open_table(TABLE)?.insert(5000, round)?;
        let cut = coin.cut_power(volume.store());
        open.abort()?;
        let after = Volume::open(cut)?;
        let after = Database::builder().create_with_backend(Storage(after.open_file("db")?))?;
        let table = after.begin_read()?.open_table(TABLE)?;
        assert_eq!(
            table.get(1000 + round)?.map(|found| found.value()),
            Some(round)
        );
        assert!(table.get(5000)?.is_none());
        for at in 0..20 {
            assert_eq!(
                table.get(at * 7 % 100)?.map(|found| found.value()),
                Some(round)
            );
        }
        assert_eq!(table.range(1000..)?.count() as u64, round + 1);
    }
    Ok(())
}
