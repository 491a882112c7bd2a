//! A drive from a public listing, which is in the file with its name beside this one.

use crate::common::instant;
use joulio_device::pci::PciId;
use joulio_emulator::{IdentifyPages, NamespaceOptions, Options, StoreOptions};
use joulio_nvme::spec::identify::{
    IdentifyController, IdentifyNamespace, LbaFormat, PowerStateDescriptor, PowerStateFlags,
};
use joulio_nvme::spec::register::Version;
use std::path::PathBuf;
use toml::{Table, Value};
use zerocopy::FromZeros;
use zerocopy::little_endian::{U16, U32, U64};

/// Directory of the listings.
pub fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/all/identify")
}

/// Returns options for an emulated drive like that of the listing `name`.
///
/// Its memory has the size of the drive; blocks that are not written take none.
pub fn options(name: &str) -> Options {
    let path = directory().join(name).with_extension("toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut listing = Fields::of(name, text.parse().unwrap());
    let source = listing.text("source");
    assert!(source.starts_with("https://"), "{name}: {source}");
    let pci = listing.take("pci").map(pci_id);
    let controller = controller(listing.table("controller").unwrap());
    let namespace = listing.table("namespace").map(namespace);
    listing.end();
    let mut options = instant();
    options.pci_id = pci.unwrap_or(options.pci_id);
    options.version = version(controller.ver.get());
    if let Some(page) = &namespace {
        options.namespaces = vec![store_of(page)];
    }
    options.identify = Some(Box::new(IdentifyPages {
        controller,
        namespace,
    }));
    options
}

/// Returns a namespace for the page, with the size and the block size of its present format.
pub fn store_of(page: &IdentifyNamespace) -> NamespaceOptions {
    let lbads = page.format().lbads;
    NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(page.nsze.get() << lbads),
        },
        block: Some(1 << lbads),
    }
}

/// Returns the register VS. Drives from before 1.2 have no field VER, which is 0 then: they are treated as 1.0,
/// which has no lists.
fn version(ver: u32) -> Version {
    match ver {
        0 => Version::new().with_major(1),
        ver => Version::from(ver),
    }
}

fn pci_id(value: Value) -> PciId {
    let number = |index: usize| {
        let number = value.get(index).and_then(Value::as_integer).unwrap();
        u16::try_from(number).unwrap()
    };
    PciId {
        vendor: number(0),
        device: number(1),
    }
}

/// Fields of a table that have not been read yet: a field that nobody reads is a mistake.
struct Fields {
    of: String,
    table: Table,
}

impl Fields {
    fn of(name: &str, table: Table) -> Fields {
        Fields {
            of: name.into(),
            table,
        }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.table.remove(key)
    }

    /// Returns the number `key`; 0 if the listing has none.
    fn number<T: TryFrom<i64>>(&mut self, key: &str) -> T {
        let value = self.take(key);
        let number = value.map_or(0, |value| value.as_integer().unwrap());
        T::try_from(number).unwrap_or_else(|_| panic!("{}: {key}: {number}", self.of))
    }

    fn text(&mut self, key: &str) -> String {
        let value = self.take(key);
        value.map_or(String::new(), |value| value.as_str().unwrap().into())
    }

    fn table(&mut self, key: &str) -> Option<Fields> {
        let value = self.take(key)?;
        Some(Fields::of(&self.of, value.as_table().unwrap().clone()))
    }

    /// Returns the tables of the list `key`; none if the listing has no list.
    fn tables(&mut self, key: &str) -> Vec<Fields> {
        let list = self
            .take(key)
            .map_or(Vec::new(), |value| value.as_array().unwrap().clone());
        let tables = list
            .into_iter()
            .map(|each| each.as_table().unwrap().clone());
        tables.map(|table| Fields::of(&self.of, table)).collect()
    }

    fn end(self) {
        assert!(self.table.is_empty(), "{}: {:?}", self.of, self.table);
    }
}

fn controller(mut listing: Fields) -> IdentifyController {
    let mut page = IdentifyController::new_zeroed();
    page.vid = U16::new(listing.number("vid"));
    page.ssvid = U16::new(listing.number("ssvid"));
    pad(&mut page.mn, &listing.text("mn"));
    pad(&mut page.fr, &listing.text("fr"));
    page.mdts = listing.number("mdts");
    page.cntlid = U16::new(listing.number("cntlid"));
    page.ver = U32::new(listing.number("ver"));
    page.rtd3r = U32::new(listing.number("rtd3r"));
    page.rtd3e = U32::new(listing.number("rtd3e"));
    page.oaes = U32::new(listing.number("oaes"));
    page.ctratt = U32::new(listing.number("ctratt"));
    page.cntrltype = listing.number("cntrltype");
    page.oacs = U16::new(listing.number("oacs"));
    page.acl = listing.number("acl");
    page.aerl = listing.number("aerl");
    page.frmw = listing.number("frmw");
    page.lpa = listing.number("lpa");
    page.elpe = listing.number("elpe");
    page.npss = listing.number("npss");
    page.avscc = listing.number("avscc");
    page.apsta = listing.number("apsta");
    page.wctemp = U16::new(listing.number("wctemp"));
    page.cctemp = U16::new(listing.number("cctemp"));
    page.hmpre = U32::new(listing.number("hmpre"));
    page.hmmin = U32::new(listing.number("hmmin"));
    page.hmminds = U32::new(listing.number("hmminds"));
    page.hmmaxd = U16::new(listing.number("hmmaxd"));
    page.sqes = listing.number("sqes");
    page.cqes = listing.number("cqes");
    page.nn = U32::new(listing.number("nn"));
    page.oncs = U16::new(listing.number("oncs"));
    page.vwc = listing.number("vwc");
    page.icsvscc = listing.number("icsvscc");
    page.sgls = U32::new(listing.number("sgls"));
    for (descriptor, state) in page.psd.iter_mut().zip(listing.tables("ps")) {
        *descriptor = power_state(state);
    }
    listing.end();
    page
}

/// Parses `mp`, in watts as nvme-cli and smartctl print them: four decimals mean units of 100 uW, two mean 10 mW.
fn power_state(mut listing: Fields) -> PowerStateDescriptor {
    let watts = listing.text("mp");
    let (whole, decimals) = watts.split_once('.').unwrap();
    let fine = match decimals.len() {
        2 => false,
        4 => true,
        _ => panic!("{}: mp: {watts}", listing.of),
    };
    let sleeps = listing
        .take("nops")
        .is_some_and(|nops| nops.as_bool().unwrap());
    let flags = PowerStateFlags::new().with_mxps(fine).with_nops(sleeps);
    let state = PowerStateDescriptor {
        mp: U16::new(format!("{whole}{decimals}").parse().unwrap()),
        flags: flags.into(),
        enlat: U32::new(listing.number("enlat")),
        exlat: U32::new(listing.number("exlat")),
        ..PowerStateDescriptor::default()
    };
    listing.end();
    state
}

fn namespace(mut listing: Fields) -> IdentifyNamespace {
    let mut page = IdentifyNamespace::new_zeroed();
    page.nsze = U64::new(listing.number("nsze"));
    page.nsfeat = listing.number("nsfeat");
    page.flbas = listing.number("flbas");
    page.mc = listing.number("mc");
    page.dpc = listing.number("dpc");
    page.dps = listing.number("dps");
    page.rescap = listing.number("rescap");
    page.fpi = listing.number("fpi");
    page.dlfeat = listing.number("dlfeat");
    page.noiob = U16::new(listing.number("noiob"));
    let formats = listing.tables("lbaf");
    page.nlbaf = (formats.len() - 1) as u8;
    for (to, mut format) in page.lbaf.iter_mut().zip(formats) {
        *to = LbaFormat {
            ms: U16::new(format.number("ms")),
            lbads: format.number("lbads"),
            rp: format.number("rp"),
        };
        format.end();
    }
    listing.end();
    page
}

/// Pads ASCII text with spaces.
fn pad(field: &mut [u8], text: &str) {
    field.fill(b' ');
    field[..text.len()].copy_from_slice(text.as_bytes());
}
