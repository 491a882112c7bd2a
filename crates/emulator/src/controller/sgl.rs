//! SGLs as checked pieces of memory (Base 4.1.2).

use super::data::DataWalker;
use crate::guest::{GuestMemory, PAGE, Segment};
use joulio_nvme_spec::sgl::SglType;
use joulio_nvme_spec::{SglDescriptor, Status};
use zerocopy::FromBytes;

const DESCRIPTOR: u32 = size_of::<SglDescriptor>() as u32;

/// Alignment of segments in bytes: a quad word.
const SEGMENT_ALIGNMENT: u64 = 8;

/// Unit in bytes of address and length of data blocks: a dword (SGLS bits 1:0 are 10b).
const GRANULARITY: u64 = 4;

/// Maximum number of descriptors of an SGL in memory, beyond one for every page of data. It limits the cost of
/// descriptors of 0 bytes, and of segments with one descriptor.
const MAX_DESCRIPTORS: u64 = 256;

const BAD_SEGMENT: Status = Status::INVALID_SGL_SEGMENT.do_not_retry();
const BAD_COUNT: Status = Status::INVALID_SGL_COUNT.do_not_retry();
const BAD_LENGTH: Status = Status::INVALID_SGL_LENGTH.do_not_retry();
const BAD_TYPE: Status = Status::INVALID_SGL_TYPE.do_not_retry();
const BAD_GRANULARITY: Status = Status::INVALID_SGL_GRANULARITY.do_not_retry();

/// Limits of the rest of a walk.
struct Left {
    /// Bytes of data that the list has yet to describe.
    bytes: u64,
    /// Descriptors that it may still use for them.
    descriptors: u64,
}

impl DataWalker {
    /// Finds the `len` bytes that the SGL beginning with `first` describes: neither fewer nor more.
    pub(super) fn walk_sgl(
        &mut self,
        guest: &GuestMemory,
        first: SglDescriptor,
        len: u32,
    ) -> Result<&[Segment], Status> {
        self.segments.clear();
        let mut left = Left {
            bytes: u64::from(len),
            descriptors: MAX_DESCRIPTORS + u64::from(len).div_ceil(PAGE),
        };
        let mut segment = self.take(guest, first, &mut left)?;
        while let Some(descriptor) = segment {
            segment = self.read_segment(guest, descriptor, &mut left)?;
        }
        if left.bytes > 0 {
            return Err(BAD_LENGTH);
        }
        Ok(&self.segments)
    }

    /// Adds a data descriptor to the list; returns any other, which describes the next segment.
    fn take(
        &mut self,
        guest: &GuestMemory,
        descriptor: SglDescriptor,
        left: &mut Left,
    ) -> Result<Option<SglDescriptor>, Status> {
        // Sub type 1h is an offset into controller memory, which this controller does not have.
        if descriptor.subtype() != 0 {
            return Err(BAD_TYPE);
        }
        match descriptor.kind() {
            SglType::DATA_BLOCK => self.add_block(guest, descriptor, left).map(|()| None),
            SglType::SEGMENT | SglType::LAST_SEGMENT => Ok(Some(descriptor)),
            _ => Err(BAD_TYPE),
        }
    }

    fn add_block(
        &mut self,
        guest: &GuestMemory,
        descriptor: SglDescriptor,
        left: &mut Left,
    ) -> Result<(), Status> {
        let (address, len) = (descriptor.address.get(), descriptor.length.get().into());
        if (address | len) % GRANULARITY != 0 {
            return Err(BAD_GRANULARITY);
        }
        left.bytes = left.bytes.checked_sub(len).ok_or(BAD_LENGTH)?;
        for piece in guest.pieces(address, len) {
            self.add(piece?);
        }
        Ok(())
    }

    /// Reads the descriptors of a segment, and returns the next segment. The last descriptor is of a segment, and no
    /// other; in the last segment none is.
    fn read_segment(
        &mut self,
        guest: &GuestMemory,
        segment: SglDescriptor,
        left: &mut Left,
    ) -> Result<Option<SglDescriptor>, Status> {
        let (address, bytes) = (segment.address.get(), segment.length.get());
        let whole = bytes != 0 && bytes.is_multiple_of(DESCRIPTOR);
        if !whole || !address.is_multiple_of(SEGMENT_ALIGNMENT) {
            return Err(BAD_SEGMENT);
        }
        let count = u64::from(bytes / DESCRIPTOR);
        left.descriptors = left.descriptors.checked_sub(count).ok_or(BAD_COUNT)?;
        for index in 0..count {
            let descriptor = self.descriptor(guest, address, index, count)?;
            let Some(next) = self.take(guest, descriptor, left)? else {
                continue;
            };
            return match (index + 1 == count, segment.kind()) {
                (false, _) => Err(BAD_COUNT),
                (true, SglType::LAST_SEGMENT) => Err(BAD_SEGMENT),
                (true, _) => Ok(Some(next)),
            };
        }
        if segment.kind() == SglType::LAST_SEGMENT {
            Ok(None)
        } else {
            Err(BAD_SEGMENT)
        }
    }

    /// Reads descriptor `index` of the `count` at `address`, one page at a time.
    fn descriptor(
        &mut self,
        guest: &GuestMemory,
        address: u64,
        index: u64,
        count: u64,
    ) -> Result<SglDescriptor, Status> {
        let room = self.list.len() as u64 / u64::from(DESCRIPTOR);
        let within = index % room;
        if within == 0 {
            let bytes = (count - index).min(room) * u64::from(DESCRIPTOR);
            let at = index * u64::from(DESCRIPTOR);
            let at = address.checked_add(at).ok_or(Status::DATA_TRANSFER_ERROR)?;
            guest.read_pieces(at, &mut self.list[..bytes as usize])?;
        }
        let rest = &self.list[within as usize * DESCRIPTOR as usize..];
        let (descriptor, _) =
            SglDescriptor::read_from_prefix(rest).map_err(|_| Status::INTERNAL_ERROR)?;
        Ok(descriptor)
    }
}
