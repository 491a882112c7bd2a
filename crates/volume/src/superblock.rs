//! The superblock: it marks a volume, and has the places of its parts.

use crate::layout::Layout;
use crate::{BlockStore, FormatOptions, ReadPart, VolumeError, WritePart};
use crc32c::crc32c;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of every volume.
const MAGIC: [u8; 8] = *b"joulioFS";

/// Version of the format that is written, the newest that is known.
const VERSION: u32 = 1;

/// Superblock, at byte 0.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Superblock {
    magic: [u8; 8],
    version: U32,
    block: U32,
    blocks: U64,
    region: U64,
    unit: U64,
    id: U64,
    reserved: U32,
    /// CRC-32C of the bytes before this field.
    checksum: U32,
}

impl Superblock {
    fn sum(&self) -> u32 {
        let bytes = self.as_bytes();
        crc32c(&bytes[..bytes.len() - size_of::<U32>()])
    }

    fn read(store: &impl BlockStore) -> Result<Superblock, VolumeError> {
        let mut bytes = [0; size_of::<Superblock>()];
        store.read(&mut [ReadPart {
            offset: 0,
            into: &mut bytes,
        }])?;
        Ok(zerocopy::transmute!(bytes))
    }

    /// Whether it begins like a superblock, complete or not.
    fn is_volume(&self) -> bool {
        self.magic == MAGIC
    }
}

/// Returns whether the store has a volume, of any format.
///
/// # Errors
/// The store could not be read.
pub(crate) fn exists(store: &impl BlockStore) -> Result<bool, VolumeError> {
    Ok(Superblock::read(store)?.is_volume())
}

/// Writes the superblock of `layout`, or, with `None`, erases the existing one.
///
/// # Errors
/// The store could not be written.
pub(crate) fn write(store: &impl BlockStore, layout: Option<&Layout>) -> Result<(), VolumeError> {
    let mut block = vec![0; Layout::superblock(store.block_size())];
    if let Some(layout) = layout {
        let mut superblock = Superblock {
            magic: MAGIC,
            version: VERSION.into(),
            block: store.block_size().into(),
            blocks: store.blocks().into(),
            region: layout.region.into(),
            unit: layout.unit.into(),
            id: layout.id.into(),
            reserved: 0.into(),
            checksum: 0.into(),
        };
        superblock.checksum = superblock.sum().into();
        block[..size_of::<Superblock>()].copy_from_slice(superblock.as_bytes());
    }
    store.write(&[WritePart {
        lba: 0,
        from: &block,
    }])?;
    Ok(store.flush()?)
}

/// Reads the layout of the volume on `store`.
///
/// # Errors
/// There is none, it is of a later format, or of a store of another size.
pub(crate) fn read(store: &impl BlockStore) -> Result<Layout, VolumeError> {
    let superblock = Superblock::read(store)?;
    if !superblock.is_volume() {
        return Err(VolumeError::NotAVolume);
    }
    let (found, known) = (superblock.version.get(), VERSION);
    if found > known {
        return Err(VolumeError::Version { found, known });
    }
    if superblock.checksum.get() != superblock.sum() {
        return Err(VolumeError::Damaged(
            "its superblock has another checksum".into(),
        ));
    }
    let (block, blocks) = (superblock.block.get(), superblock.blocks.get());
    if block != store.block_size() || blocks > store.blocks() {
        return Err(VolumeError::Damaged(format!(
            "it was made on a device of {blocks} blocks of {block} bytes, and this one has {} of {}",
            store.blocks(),
            store.block_size()
        )));
    }
    let options = FormatOptions {
        unit: superblock.unit.get(),
        journal: Some(superblock.region.get()),
        ..FormatOptions::default()
    };
    Layout::new(block, blocks, options, superblock.id.get())
}
