//! Steps that are commands.

use crate::host::{Host, QUEUES};
use crate::steps::Step;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::log::LogId;
use joulio_nvme_spec::{AdminOpcode, Command, CommandId, NamespaceId, NvmOpcode, QueueId};
use zerocopy::FromBytes;

/// Features that have an effect.
const FEATURES: [u8; 8] = [0x02, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0c, 0x10];
const LOGS: [u8; 6] = [0x01, 0x02, 0x03, 0x04, 0x05, 0x70];

impl Host {
    /// Executes a step that is a command.
    pub fn command(&mut self, step: &Step) {
        let some_queue = |queue: u8| u16::from(queue) % (QUEUES + 2);
        let (queue, command) = match *step {
            Step::Command {
                queue,
                small,
                opcode,
                ref bytes,
                flags,
                prp1,
                prp2,
            } => {
                let mut command = bytes_of_command(small, opcode, bytes);
                command.prp1.set(self.address(prp1));
                command.prp2.set(self.address(prp2));
                if small {
                    flags.apply(&mut command);
                }
                (some_queue(queue), command)
            }
            Step::Listed {
                queue,
                opcode,
                flags,
                blocks,
                first,
            } => {
                let opcode = NvmOpcode(opcode % 16);
                let nsid = NamespaceId(1 + u32::from(blocks >> 7));
                let mut command = Command::transfer(opcode, nsid, 0, u32::from(blocks % 16) + 1);
                if opcode == NvmOpcode::DATASET_MANAGEMENT {
                    command.cdw10[0].set(u32::from(blocks % 16));
                }
                flags.apply(&mut command);
                (some_queue(queue), command.with_sgl(self.descriptor(first)))
            }
            Step::Abort { queue, cid } => {
                let (sqid, cid) = (QueueId(some_queue(queue)), CommandId((cid % 16).into()));
                (0, Command::abort(sqid, cid))
            }
            Step::Feature {
                set,
                fid,
                value,
                table,
            } => {
                let fid = FeatureId(FEATURES[usize::from(fid) % FEATURES.len()]);
                let mut command = match set {
                    true => Command::set_features(fid, value),
                    false => Command::get_features(fid),
                };
                command.prp1.set(self.address(table));
                (0, command)
            }
            Step::Log {
                lid,
                bytes,
                offset,
                prp1,
            } => {
                let lid = LogId(LOGS[usize::from(lid) % LOGS.len()]);
                let mut command = Command::get_log_page(lid, NamespaceId::ALL, bytes.into());
                command.cdw10[2].set(offset.into());
                command.prp1.set(self.address(prp1));
                (0, command)
            }
            Step::DeleteQueue { qid, completion } => {
                let opcode = match completion {
                    true => AdminOpcode::DELETE_IO_COMPLETION_QUEUE,
                    false => AdminOpcode::DELETE_IO_SUBMISSION_QUEUE,
                };
                let id = QueueId(some_queue(qid));
                (0, Command::delete_queue(opcode, id))
            }
            Step::Queue { qid, page, entries } => {
                return self.queue(some_queue(qid), page, entries);
            }
            _ => return,
        };
        self.submit(queue, &command);
    }
}

fn bytes_of_command(small: bool, opcode: u8, bytes: &[u8; 20]) -> Command {
    let mut whole = [0; 64];
    whole[0] = opcode;
    whole[2..8].copy_from_slice(&bytes[..6]);
    whole[40..54].copy_from_slice(&bytes[6..]);
    if small {
        whole[0] %= 16;
        whole[2] %= 16;
        whole[3] = 0;
        whole[4] %= 4;
        whole[5..8].fill(0);
        whole[41..48].fill(0);
        whole[49..52].fill(0);
    }
    Command::read_from_bytes(&whole).expect("64 bytes")
}
