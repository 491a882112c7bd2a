//! A doorbell: a store where the peer's page is mapped, else a message.

use super::session::Session;
use crate::{Doorbell, MmioDoorbell, fence};
use joulio_vfio_user_wire::pci;
use std::sync::Arc;

/// A doorbell of a [`VfioUserDevice`](super::VfioUserDevice).
pub struct VfioUserDoorbell(pub(super) DoorbellPath);

pub(super) enum DoorbellPath {
    Mapped(MmioDoorbell),
    Message { session: Arc<Session>, offset: u64 },
}

impl Doorbell for VfioUserDoorbell {
    #[inline]
    fn ring(&self, value: u32) {
        match &self.0 {
            DoorbellPath::Mapped(doorbell) => doorbell.ring(value),
            DoorbellPath::Message { session, offset } => send(session, *offset, value),
        }
    }
}

/// Sends the value. An error is ignored: a peer that is gone is noticed by commands that never complete.
#[cold]
#[inline(never)]
fn send(session: &Session, offset: u64, value: u32) {
    fence::dma_release();
    let _ = session.write32(pci::BAR0, offset, value);
}
