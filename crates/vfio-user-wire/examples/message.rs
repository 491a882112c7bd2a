//! Prints the bytes of a read of a controller's version register, as a client sends it.

use joulio_vfio_user_wire::{Header, RegionAccess, command, pci};
use zerocopy::IntoBytes;

/// Prints the header and the body of the message.
pub fn main() {
    let body = RegionAccess {
        offset: 8,
        region: pci::BAR0,
        count: 4,
    };
    let header = Header {
        id: 1,
        command: command::REGION_READ,
        size: (Header::BYTES + RegionAccess::BYTES) as u32,
        flags: 0,
        error: 0,
    };
    println!("{}", command::name(header.command));
    println!("header {:02x?}", header.as_bytes());
    println!("body   {:02x?}", body.as_bytes());
}
