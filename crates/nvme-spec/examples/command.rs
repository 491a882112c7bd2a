//! Prints the 64 bytes of a read of eight blocks, as they go into a submission queue.

use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
use zerocopy::IntoBytes;

fn main() {
    let mut command = Command::nvm(NvmOpcode::READ, NamespaceId(1));
    // Starting block, and the number of blocks, of which 0 means one.
    command.cdw10[0] = 2048.into();
    command.cdw10[2] = (8 - 1).into();
    for (at, dword) in command.as_bytes().chunks(4).enumerate() {
        println!("dword {at:2}: {:02x?}", dword);
    }
}
