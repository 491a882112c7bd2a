//! Lists of buffers: the memory that one command scatters to, or gathers from.

use crate::{DmaBuffer, Iova};
use std::fmt;
use std::ops::Range;

/// Buffers of one command, in the order of its data; a part of each, or all of it. Each buffer holds the next, so that
/// a list of any length takes no memory of its own.
///
/// ```
/// # use joulio_device::{BufferList, DmaBuffer};
/// fn header_and_body(header: DmaBuffer, body: DmaBuffer) -> BufferList {
///     let mut list = BufferList::new();
///     list.push_part(header, 0..512);
///     list.push(body);
///     list
/// }
/// ```
#[derive(Default)]
pub struct BufferList {
    /// First buffer of the chain; each holds the next.
    first: Option<DmaBuffer>,
}

impl BufferList {
    /// Creates an empty list.
    pub fn new() -> BufferList {
        BufferList::default()
    }

    /// Appends all of `buffer`. Takes a step for each buffer of the list.
    pub fn push(&mut self, buffer: impl Into<DmaBuffer>) {
        let buffer = buffer.into();
        let all = 0..buffer.len();
        self.push_part(buffer, all);
    }

    /// Appends the bytes `part` of `buffer`.
    ///
    /// # Panics
    /// When the part is not inside the buffer.
    pub fn push_part(&mut self, buffer: impl Into<DmaBuffer>, part: Range<usize>) {
        let mut end = &mut self.first;
        while let Some(buffer) = end {
            end = &mut buffer.0.next;
        }
        *end = Some(part_of(buffer.into(), part));
    }

    /// Prepends the bytes `part` of `buffer`, in one step.
    ///
    /// # Panics
    /// When the part is not inside the buffer.
    pub fn push_front_part(&mut self, buffer: impl Into<DmaBuffer>, part: Range<usize>) {
        let mut buffer = part_of(buffer.into(), part);
        buffer.0.next = self.first.take();
        self.first = Some(buffer);
    }

    /// Removes the first buffer and returns it.
    pub fn pop(&mut self) -> Option<DmaBuffer> {
        let mut first = self.first.take()?;
        self.first = first.0.next.take();
        Some(first)
    }

    /// Iterates over the buffers, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &DmaBuffer> {
        std::iter::successors(self.first.as_ref(), |buffer| buffer.0.next.as_ref())
    }

    /// Iterates over the device address and length in bytes of each part, first to last.
    pub fn parts(&self) -> impl Iterator<Item = (Iova, u32)> {
        self.iter().map(|buffer| {
            let (offset, len) = buffer.0.part;
            (buffer.iova().offset(offset as usize), len)
        })
    }

    /// Returns the total length of all parts in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts().map(|(_, len)| u64::from(len)).sum()
    }

    /// Returns whether the list has no buffer.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the first buffer, which holds the others: the form in which a queue keeps a list.
    pub fn into_chain(mut self) -> Option<DmaBuffer> {
        self.first.take()
    }

    /// Makes a list of the chain `first` that [`BufferList::into_chain`] returned.
    pub fn from_chain(first: Option<DmaBuffer>) -> BufferList {
        BufferList { first }
    }
}

/// Sets the bytes `part` as the buffer's part in a list.
fn part_of(mut buffer: DmaBuffer, part: Range<usize>) -> DmaBuffer {
    assert!(
        part.start <= part.end && part.end <= buffer.len(),
        "bytes {part:?} of a buffer of {}",
        buffer.len()
    );
    // Below the buffer's length, which is below 4 GiB.
    buffer.0.part = (part.start as u32, (part.end - part.start) as u32);
    // The buffer may still hold the rest of a list that it was the first of.
    buffer.0.next = None;
    buffer
}

impl<B: Into<DmaBuffer>> FromIterator<B> for BufferList {
    fn from_iter<I: IntoIterator<Item = B>>(buffers: I) -> BufferList {
        let mut buffers: Vec<DmaBuffer> = buffers.into_iter().map(Into::into).collect();
        let mut list = BufferList::new();
        while let Some(buffer) = buffers.pop() {
            let all = 0..buffer.len();
            list.push_front_part(buffer, all);
        }
        list
    }
}

/// Iterator over the buffers of a list, first to last.
pub struct IntoBuffers(BufferList);

impl Iterator for IntoBuffers {
    type Item = DmaBuffer;

    fn next(&mut self) -> Option<DmaBuffer> {
        self.0.pop()
    }
}

impl IntoIterator for BufferList {
    type Item = DmaBuffer;
    type IntoIter = IntoBuffers;

    fn into_iter(self) -> IntoBuffers {
        IntoBuffers(self)
    }
}

impl Drop for BufferList {
    fn drop(&mut self) {
        // One by one: recursive drops of a long list would overflow the stack.
        while self.pop().is_some() {}
    }
}

impl fmt::Debug for BufferList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
