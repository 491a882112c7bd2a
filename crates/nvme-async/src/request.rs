//! Commands that their futures keep until they are submitted.

use joulio_device::Device;
use joulio_nvme::spec::Command;
use joulio_nvme::{BufferList, DmaBuffer, Namespace, QueuePair, SubmitError, Transfer};

/// Kind of a command.
pub(crate) enum Kind {
    /// Read into a whole buffer, the usual kind.
    Read,
    Write,
    /// Transfer from or to an offset in the buffer, in bytes.
    At(Transfer, usize),
    Readv,
    Writev,
    Flush,
    /// A command that the caller has built.
    Raw(Box<Command>),
}

/// A command that is not submitted yet. It stays in its future; only the buffers leave it.
pub(crate) struct Request<'a> {
    pub(crate) kind: Kind,
    pub(crate) namespace: &'a Namespace,
    pub(crate) lba: u64,
    pub(crate) blocks: u32,
    /// The buffer, or the first of a list, until the command is submitted.
    pub(crate) buffer: Option<DmaBuffer>,
}

impl Request<'_> {
    /// Takes the buffer of a command that reads or writes a whole buffer; returns it with the direction.
    #[inline(always)]
    pub(crate) fn take_whole(&mut self) -> Option<(Transfer, DmaBuffer)> {
        let kind = match self.kind {
            Kind::Read => Transfer::READ,
            Kind::Write => Transfer::WRITE,
            _ => return None,
        };
        Some((kind, self.buffer.take()?))
    }

    /// Submits the command with `tag`; if it is refused, it has its buffers again.
    pub(crate) fn submit<D: Device>(
        &mut self,
        queue: &mut QueuePair<D>,
        tag: u64,
    ) -> Result<(), SubmitError> {
        let (kind, offset) = match self.kind {
            Kind::Read => (Transfer::READ, 0),
            Kind::Write => (Transfer::WRITE, 0),
            Kind::At(kind, offset) => (kind, offset),
            _ => return self.submit_other(queue, tag),
        };
        let buffer = self.buffer.take();
        let buffer = buffer.expect("a transfer has its buffer until it was submitted");
        let range = (self.lba, self.blocks);
        let submitted = queue.transfer(kind, self.namespace, range, (buffer, offset), tag);
        submitted.map_err(|rejected| {
            self.buffer = Some(rejected.buffer);
            rejected.reason
        })
    }

    fn submit_other<D: Device>(
        &mut self,
        queue: &mut QueuePair<D>,
        tag: u64,
    ) -> Result<(), SubmitError> {
        let (namespace, lba, blocks) = (self.namespace, self.lba, self.blocks);
        let list = BufferList::from_chain(self.buffer.take());
        let submitted = match &self.kind {
            Kind::Flush => return queue.flush(namespace, tag),
            Kind::Raw(command) if list.is_empty() => {
                return queue.submit(namespace, **command, tag);
            }
            Kind::Raw(command) => queue.submit_with_list(namespace, **command, list, tag),
            Kind::Writev => queue.writev(namespace, lba, blocks, list, tag),
            _ => queue.readv(namespace, lba, blocks, list, tag),
        };
        submitted.map_err(|rejected| {
            self.buffer = rejected.buffers.into_chain();
            rejected.reason
        })
    }
}
