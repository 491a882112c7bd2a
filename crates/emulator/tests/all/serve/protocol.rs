//! The server's description of the device.

use crate::serve::client::{BASE, Client, serve};
use joulio_emulator::EmulatedController;
use joulio_emulator::serve::DoorbellMode::{Mapped, Trapped};
use joulio_vfio_user_wire::{
    CapabilityHeader, DeviceInfo, DmaMap, IrqInfo, IrqSet, RegionInfo, SparseArea, SparseHeader,
    Version, command, pci,
};
use rustix::io::Errno;
use std::os::fd::AsFd;
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn the_version_is_the_lower_of_the_two() {
    let server = serve(Trapped);
    let mut client = Client::connect(&server.path);
    let (body, _) = client.version(0, 7).unwrap().unwrap();
    let (version, json) = Version::read_from_prefix(&body).unwrap();
    assert_eq!((version.major, version.minor), (0, 1));
    assert_eq!(json.last(), Some(&0));
    let json: serde_json::Value = serde_json::from_slice(&json[..json.len() - 1]).unwrap();
    assert_eq!(json["capabilities"]["max_dma_maps"], 4);
    drop(client);
    let mut client = Client::settled(&server.path);
    assert_eq!(client.version(0, 0).unwrap().err(), Some(Errno::INVAL));
}

#[test]
fn another_major_version_or_bad_capabilities_are_refused() {
    let server = serve(Trapped);
    let mut client = Client::connect(&server.path);
    let refused = client.version(1, 0).unwrap().err();
    assert_eq!(refused, Some(Errno::PROTONOSUPPORT));
    for json in [&b"{\0"[..], b"{}", b"[]\0", b"\"\0"] {
        let body = [&[0, 0, 1, 0], json].concat();
        let refused = client.ask(command::VERSION, &body, &[]);
        assert_eq!(refused, Err(Errno::INVAL));
    }
    // It may try again.
    assert!(client.version(0, 1).unwrap().is_ok());
}

#[test]
fn nothing_is_done_before_the_version() {
    let server = serve(Trapped);
    let mut client = Client::connect(&server.path);
    assert_eq!(client.map_memory(), Err(Errno::INVAL));
    assert_eq!(client.read(pci::CONFIG, 0, 4), Err(Errno::INVAL));
}

#[test]
fn it_is_a_resettable_pci_device_with_one_bar() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let body = client
        .ask(
            command::DEVICE_GET_INFO,
            DeviceInfo::default().as_bytes(),
            &[],
        )
        .unwrap();
    let info = DeviceInfo::read_from_bytes(&body).unwrap();
    assert_eq!(info.flags, DeviceInfo::PCI | DeviceInfo::RESET);
    assert_eq!((info.regions, info.irqs), (pci::REGIONS, pci::IRQS));
    for index in 0..pci::REGIONS {
        let (info, _, fds) = client.region(index, 32).unwrap();
        let has_bytes = index == pci::BAR0 || index == pci::CONFIG;
        assert_eq!(info.size > 0, has_bytes, "region {index}");
        assert_eq!(info.flags & RegionInfo::MMAP, 0);
        assert!(fds.is_empty());
    }
    assert_eq!(client.region(pci::REGIONS, 32).err(), Some(Errno::INVAL));
}

#[test]
fn the_page_of_doorbells_can_be_mapped_and_nothing_else() {
    let server = serve(Mapped);
    let mut client = Client::settled(&server.path);
    let (short, rest, fds) = client.region(pci::BAR0, 32).unwrap();
    assert!(short.argsz > 32 && rest.is_empty() && fds.is_empty());
    let (info, rest, fds) = client.region(pci::BAR0, short.argsz).unwrap();
    assert_eq!(info.capabilities, 32);
    assert_eq!(info.flags, 0xf);
    assert_eq!(fds.len(), 1);
    let (header, rest) = CapabilityHeader::read_from_prefix(&rest).unwrap();
    assert_eq!((header.id, header.next), (CapabilityHeader::SPARSE_MMAP, 0));
    let (sparse, rest) = SparseHeader::read_from_prefix(rest).unwrap();
    assert_eq!(sparse.areas, 1);
    let area = SparseArea::read_from_bytes(rest).unwrap();
    assert_eq!((area.offset, area.size), (0x1000, 0x1000));
    assert!(rustix::fs::ftruncate(&fds[0], 0).is_err(), "sealed");
}

#[test]
fn configuration_space_is_that_of_an_nvme_controller() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let space = client.read(pci::CONFIG, 0, 4096).unwrap();
    assert_eq!(space[0..2], EmulatedController::VENDOR.to_le_bytes());
    assert_eq!(space[9..12], [0x02, 0x08, 0x01]);
    assert_eq!(client.read(pci::CONFIG, 4095, 2), Err(Errno::INVAL));
    assert_eq!(client.read(pci::CONFIG, u64::MAX, 1), Err(Errno::INVAL));
}

#[test]
fn vectors_are_those_of_msix() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    for index in 0..pci::IRQS {
        let requested = IrqInfo {
            index,
            ..IrqInfo::default()
        };
        let body = client.ask(command::DEVICE_GET_IRQ_INFO, requested.as_bytes(), &[]);
        let info = IrqInfo::read_from_bytes(&body.unwrap()).unwrap();
        assert_eq!(info.count > 0, index == pci::MSIX);
    }
    let file = client.file.try_clone().unwrap();
    let trigger = IrqSet::DATA_EVENTFD | IrqSet::TRIGGER;
    let refused = client.set_irqs(trigger, 0, 1, &[file.as_fd()]);
    assert_eq!(refused, Err(Errno::INVAL), "no eventfd");
    for (flags, start, count) in [
        (trigger, u32::MAX, 2),
        (IrqSet::DATA_NONE | IrqSet::TRIGGER, 0, 4096),
        (IrqSet::DATA_BOOL | IrqSet::TRIGGER, 0, 2),
        (IrqSet::DATA_NONE, 0, 1),
        (0xffff_ffff, 0, 1),
    ] {
        let refused = client.set_irqs(flags, start, count, &[]);
        assert_eq!(refused, Err(Errno::INVAL), "{flags:#x} {start} {count}");
    }
}

#[test]
fn memory_is_mapped_within_limits_and_unmapped_whole() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let both = DmaMap::READ | DmaMap::WRITE;
    for (address, offset, size, access) in [
        (BASE + 1, 0, 4096, both),
        (BASE, 1, 4096, both),
        (BASE, 0, 0, both),
        (BASE, 0, 4095, both),
        (BASE, 0, 1 << 23, both),
        (BASE, u64::MAX - 4095, 4096, both),
        (u64::MAX - 4095, 0, 8192, both),
        (BASE, 0, 4096, 0),
        (BASE, 0, 4096, 8),
    ] {
        let refused = client.map(address, offset, size, access);
        assert_eq!(
            refused,
            Err(Errno::INVAL),
            "{address:#x} {offset:#x} {size:#x}"
        );
    }
    for index in 0..4 {
        client.map(BASE + index * 8192, 0, 4096, both).unwrap();
    }
    assert_eq!(client.map(BASE, 0, 4096, both), Err(Errno::EXIST));
    assert_eq!(client.map(0, 0, 4096, both), Err(Errno::NOSPC), "a fifth");
    assert_eq!(client.unmap(BASE + 4096, 4096), Err(Errno::NOENT));
    assert_eq!(client.unmap(BASE, 4095), Err(Errno::INVAL));
    client.unmap(BASE, 12288).unwrap();
    assert_eq!(client.unmap(BASE, 4096), Err(Errno::NOENT));
    client.map(BASE, 0, 8192, both).unwrap();
    assert_eq!(client.unmap(BASE, 4096), Err(Errno::INVAL), "a part");
}

#[test]
fn memory_without_a_descriptor_counts_too() {
    let server = serve(Trapped);
    let mut client = Client::settled(&server.path);
    let mut map = |address, size| {
        let requested = DmaMap {
            argsz: 32,
            flags: 3,
            offset: 0,
            address,
            size,
        };
        client.ask(command::DMA_MAP, requested.as_bytes(), &[])
    };
    map(0, 60 << 20).unwrap();
    assert_eq!(map(1 << 32, 8 << 20), Err(Errno::NOSPC));
}
