//! The commands of the protocol, one function each.

use super::VfioUserError;
use super::files::Files;
use super::json::Json;
use super::link::{Link, MAX_FDS, Request};
use joulio_vfio_user_wire::{
    DeviceInfo, DmaMap, DmaUnmap, IrqInfo, IrqSet, MAJOR, MAX_DATA, MINOR, RegionAccess,
    RegionInfo, Version, command, pci,
};
use std::os::fd::BorrowedFd;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// A connection on which both sides have agreed on the version.
pub(super) struct Session {
    pub(super) link: Link,
    /// Maximum number of descriptors that the peer takes in one message.
    fds: usize,
}

/// Buffer size in bytes for the JSON of the peer's version.
const JSON: usize = 4096;
/// Buffer size in bytes for a region's capabilities: more areas than any controller has.
const CAPABILITIES: usize = 1024;
/// Maximum number of bytes of one register access.
const WORD: usize = 8;

impl Session {
    /// Negotiates the version with the peer.
    pub(super) fn begin(link: Link) -> Result<Session, VfioUserError> {
        let ours = Version {
            major: MAJOR,
            minor: MINOR,
        };
        let json = format!(
            r#"{{"capabilities":{{"max_msg_fds":{MAX_FDS},"max_data_xfer_size":{MAX_DATA},"pgsizes":4096}}}}{}"#,
            '\0'
        );
        let request = Request {
            command: command::VERSION,
            body: ours.as_bytes(),
            data: json.as_bytes(),
            fds: &[],
        };
        let mut answer = vec![0; Version::BYTES + JSON];
        let len = match link.request(&request, &mut answer) {
            Err(VfioUserError::Refused { device, source, .. })
                if source.raw_os_error() == Some(libc::EBUSY) =>
            {
                return Err(VfioUserError::Busy { device });
            }
            other => other?.len,
        };
        let (theirs, json) = Version::read_from_prefix(&answer[..len])
            .map_err(|_| link.malformed(command::VERSION, "it is too short"))?;
        if theirs.major != MAJOR || theirs.minor > MINOR {
            return Err(VfioUserError::Version {
                device: link.device().into(),
                major: theirs.major,
                minor: theirs.minor,
            });
        }
        let fds = max_fds(json)
            .ok_or_else(|| link.malformed(command::VERSION, "its capabilities are not JSON"))?;
        Ok(Session { link, fds })
    }

    pub(super) fn device_info(&self) -> Result<DeviceInfo, VfioUserError> {
        let request = DeviceInfo {
            argsz: DeviceInfo::BYTES as u32,
            ..DeviceInfo::default()
        };
        self.query(command::DEVICE_GET_INFO, &request)
    }

    pub(super) fn irq_info(&self, index: u32) -> Result<IrqInfo, VfioUserError> {
        let request = IrqInfo {
            argsz: IrqInfo::BYTES as u32,
            index,
            ..IrqInfo::default()
        };
        self.query(command::DEVICE_GET_IRQ_INFO, &request)
    }

    pub(super) fn reset(&self) -> Result<(), VfioUserError> {
        self.command(command::DEVICE_RESET, &[], &[], &[])
    }

    /// Requests a region's description; returns the reply with the capabilities, and the files that came with it.
    pub(super) fn region_info(&self, index: u32) -> Result<(Vec<u8>, Files), VfioUserError> {
        let mut answer = vec![0; RegionInfo::BYTES + CAPABILITIES];
        let request = RegionInfo {
            argsz: answer.len() as u32,
            index,
            ..RegionInfo::default()
        };
        let request = Request {
            command: command::DEVICE_GET_REGION_INFO,
            body: request.as_bytes(),
            data: &[],
            fds: &[],
        };
        let reply = self.link.request(&request, &mut answer)?;
        answer.truncate(reply.len);
        Ok((answer, reply.fds))
    }

    /// Maps `map.size` bytes of `file` for the peer.
    pub(super) fn dma_map(&self, map: &DmaMap, file: BorrowedFd<'_>) -> Result<(), VfioUserError> {
        self.command(command::DMA_MAP, map.as_bytes(), &[], &[file])
    }

    pub(super) fn dma_unmap(&self, address: u64, size: u64) -> Result<(), VfioUserError> {
        let unmap = DmaUnmap {
            argsz: DmaUnmap::BYTES as u32,
            flags: 0,
            address,
            size,
        };
        self.command(command::DMA_UNMAP, unmap.as_bytes(), &[], &[])
    }

    /// Sets the eventfds of the vectors from `start` on, as many per message as the peer takes.
    pub(super) fn set_events(
        &self,
        start: u32,
        events: &[BorrowedFd<'_>],
    ) -> Result<(), VfioUserError> {
        let mut start = start;
        for some in events.chunks(self.fds) {
            let count = some.len() as u32;
            self.set_irqs(IrqSet::DATA_EVENTFD, start, count, some)?;
            start += count;
        }
        Ok(())
    }

    /// Disables every vector.
    pub(super) fn disable_events(&self) -> Result<(), VfioUserError> {
        self.set_irqs(IrqSet::DATA_NONE, 0, 0, &[])
    }

    fn set_irqs(
        &self,
        data: u32,
        start: u32,
        count: u32,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), VfioUserError> {
        let set = IrqSet {
            argsz: IrqSet::BYTES as u32,
            flags: data | IrqSet::TRIGGER,
            index: pci::MSIX,
            start,
            count,
        };
        self.command(command::DEVICE_SET_IRQS, set.as_bytes(), &[], fds)
    }

    /// Reads up to 8 bytes of a region.
    pub(super) fn read(
        &self,
        region: u32,
        offset: u64,
        to: &mut [u8],
    ) -> Result<(), VfioUserError> {
        let access = RegionAccess {
            offset,
            region,
            count: to.len() as u32,
        };
        let request = Request {
            command: command::REGION_READ,
            body: access.as_bytes(),
            data: &[],
            fds: &[],
        };
        let mut answer = [0; RegionAccess::BYTES + WORD];
        let whole = RegionAccess::BYTES + to.len();
        let len = self.link.request(&request, &mut answer[..whole])?.len;
        if len != whole {
            return Err(self.link.malformed(
                command::REGION_READ,
                format!("{len} bytes instead of {whole}"),
            ));
        }
        to.copy_from_slice(&answer[RegionAccess::BYTES..whole]);
        Ok(())
    }

    /// Writes up to 8 bytes of a region; they have arrived when this returns.
    pub(super) fn write(&self, region: u32, offset: u64, from: &[u8]) -> Result<(), VfioUserError> {
        let access = RegionAccess {
            offset,
            region,
            count: from.len() as u32,
        };
        let request = Request {
            command: command::REGION_WRITE,
            body: access.as_bytes(),
            data: from,
            fds: &[],
        };
        let mut answer = [0; RegionAccess::BYTES];
        let len = self.link.request(&request, &mut answer)?.len;
        // Some peers reply with no more than the header; one that gives a count must have written everything.
        match RegionAccess::read_from_bytes(&answer[..len]) {
            Ok(done) if done.count != access.count => Err(self.link.malformed(
                command::REGION_WRITE,
                format!("{} bytes written of {}", done.count, from.len()),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn read32(&self, region: u32, offset: u64) -> Result<u32, VfioUserError> {
        let mut word = [0; 4];
        self.read(region, offset, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    pub(super) fn write32(&self, region: u32, offset: u64, word: u32) -> Result<(), VfioUserError> {
        self.write(region, offset, &word.to_le_bytes())
    }

    /// Sends a command whose reply is a structure like its own.
    fn query<T: FromBytes + FromZeros + IntoBytes + Immutable>(
        &self,
        command: u16,
        request: &T,
    ) -> Result<T, VfioUserError> {
        let request = Request {
            command,
            body: request.as_bytes(),
            data: &[],
            fds: &[],
        };
        let mut answer = T::new_zeroed();
        let len = self.link.request(&request, answer.as_mut_bytes())?.len;
        if len != size_of::<T>() {
            return Err(self.link.malformed(
                command,
                format!("{len} bytes instead of {}", size_of::<T>()),
            ));
        }
        Ok(answer)
    }

    /// Sends a command whose reply has no content. Some peers repeat the command's structure in it, some do not.
    fn command(
        &self,
        command: u16,
        body: &[u8],
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), VfioUserError> {
        let request = Request {
            command,
            body,
            data,
            fds,
        };
        let mut answer = [0; DmaMap::BYTES];
        self.link
            .request(&request, &mut answer[..body.len()])
            .map(drop)
    }
}

/// Reads `max_msg_fds` of the peer's capabilities, which are JSON with a NUL behind it, or nothing.
fn max_fds(json: &[u8]) -> Option<usize> {
    let json = json.split(|&byte| byte == 0).next().unwrap_or_default();
    if json.is_empty() {
        return Some(1);
    }
    let json = Json::parse(json)?;
    let capabilities = json.member("capabilities");
    let max = capabilities.and_then(|all| all.member("max_msg_fds"));
    let max = max.and_then(Json::whole_number);
    Some(max.map_or(1, |max| max.clamp(1, MAX_FDS as u64) as usize))
}

#[cfg(test)]
mod tests {
    use super::max_fds;

    #[test]
    fn one_descriptor_is_sent_where_the_peer_gives_no_number() {
        let cases: [(&[u8], Option<usize>); 8] = [
            (b"", Some(1)),
            (b"\0", Some(1)),
            (b"{}\0", Some(1)),
            (b"{\"capabilities\":{\"max_msg_fds\":\"4\"}}\0", Some(1)),
            (b"{\"capabilities\":{\"max_msg_fds\":0}}\0", Some(1)),
            (b"{\"capabilities\":{\"max_msg_fds\":4}}\0{", Some(4)),
            (b"{\"capabilities\":{\"max_msg_fds\":4}", None),
            (b"{\"capabilities\":{\"max_msg_fds\":4}}{\0", None),
        ];
        for (json, fds) in cases {
            assert_eq!(max_fds(json), fds, "{}", json.escape_ascii());
        }
        let many = b"{\"capabilities\":{\"max_msg_fds\":18446744073709551615}}";
        assert_eq!(max_fds(many), Some(super::MAX_FDS));
    }
}
