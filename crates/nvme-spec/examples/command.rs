//! Prints the 64 bytes of a read of eight blocks, in the form of a submission queue entry.

use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
use zerocopy::IntoBytes;

/// Prints a line for each dword.
pub fn main() {
    let mut command = Command::nvm(NvmOpcode::READ, NamespaceId(1));
    // The first block, and the number of blocks, which is 0's based.
    command.cdw10[0] = 2048.into();
    command.cdw10[2] = (8 - 1).into();
    for (at, dword) in command.as_bytes().chunks(4).enumerate() {
        println!("dword {at:2}: {:02x?}", dword);
    }
}
