//! CPU affinity of a function's interrupts (Documentation/core-api/irq/irq-affinity.rst). The interrupts are VFIO's and
//! end with it, so that nothing has to be restored.

use crate::DeviceError;
use crate::vfio::container::os;
use joulio_units::{CpuList, parse_cpus};
use std::fs;
use std::path::{Path, PathBuf};

/// File of the CPUs that an interrupt may be delivered to.
const ALLOWED: &str = "smp_affinity_list";

/// Directs interrupt `vector` of the function at `address` to `cpu`, and returns the CPUs that it is then delivered to,
/// as [`effective`] does.
pub(super) fn direct(
    root: &Path,
    address: &str,
    vector: u16,
    cpu: usize,
) -> Result<CpuList, DeviceError> {
    let name = name(address, vector);
    let irq = number(root, &name)?;
    let file = folder(root, &irq).join(ALLOWED);
    let action =
        format!("direct interrupt {irq} ({name}) to CPU {cpu} (/proc/irq/{irq}/{ALLOWED})");
    fs::write(file, cpu.to_string()).map_err(os(&action))?;
    cpus(root, &irq)
}

/// Returns the CPUs that interrupt `vector` of the function at `address` is delivered to: the allowed ones where the
/// kernel does not report the effective ones.
pub(super) fn effective(root: &Path, address: &str, vector: u16) -> Result<CpuList, DeviceError> {
    let irq = number(root, &name(address, vector))?;
    cpus(root, &irq)
}

/// Returns the name of an interrupt's action.
fn name(address: &str, vector: u16) -> String {
    format!("vfio-msix[{vector}]({address})")
}

/// Returns the folder of interrupt `irq`.
fn folder(root: &Path, irq: &str) -> PathBuf {
    root.join(format!("proc/irq/{irq}"))
}

/// Reads the CPUs that interrupt `irq` is delivered to.
fn cpus(root: &Path, irq: &str) -> Result<CpuList, DeviceError> {
    let folder = folder(root, irq);
    let effective = fs::read_to_string(folder.join("effective_affinity_list"));
    let list = effective.or_else(|_| fs::read_to_string(folder.join(ALLOWED)));
    let what = format!("read the CPUs of interrupt {irq}");
    let list = list.map_err(os(&what))?;
    parse_cpus(list.trim())
        .map(|cpus| cpus.into_iter().collect())
        .map_err(|error| os(&what)(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))
}

/// Reads the number of the interrupt whose action has that name.
fn number(root: &Path, name: &str) -> Result<String, DeviceError> {
    let interrupts = fs::read_to_string(root.join("proc/interrupts"));
    let interrupts = interrupts.map_err(os("read /proc/interrupts"))?;
    let missing =
        || os(&format!("{name} in /proc/interrupts"))(std::io::ErrorKind::NotFound.into());
    irq(&interrupts, name)
        .map(str::to_owned)
        .ok_or_else(missing)
}

/// Finds the number of the interrupt whose action has that name.
fn irq<'a>(interrupts: &'a str, name: &str) -> Option<&'a str> {
    let line = interrupts.lines().find(|line| {
        let last = line.split_whitespace().next_back();
        last == Some(name)
    })?;
    let (number, _) = line.split_once(':')?;
    let number = number.trim();
    number
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "\
           CPU0       CPU1       \n\
  0:          3          0   IO-APIC   2-edge      timer\n\
 34:          0         17  IR-PCI-MSIX-0000:41:00.0    0-edge      vfio-msix[0](0000:41:00.0)\n\
135:          0         17  IR-PCI-MSIX-0000:41:00.0    1-edge      vfio-msix[1](0000:41:00.0)\n\
NMI:          0          0   Non-maskable interrupts\n";

    #[test]
    fn an_interrupt_is_found_by_its_name() {
        let of = |vector| irq(INTERRUPTS, &format!("vfio-msix[{vector}](0000:41:00.0)"));
        assert_eq!((of(0), of(1), of(2)), (Some("34"), Some("135"), None));
        assert_eq!(irq(INTERRUPTS, "interrupts"), None);
    }

    #[test]
    fn it_goes_where_it_is_directed_and_the_kernel_says_where_that_is() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        let direct = |vector| direct(root.path(), "0000:41:00.0", vector, 1);
        assert!(direct(0).is_err());
        fs::create_dir_all(proc.join("irq/34")).unwrap();
        fs::write(proc.join("interrupts"), INTERRUPTS).unwrap();
        let effective = proc.join("irq/34/effective_affinity_list");
        assert_eq!(direct(0).unwrap().to_string(), "1");
        let set = fs::read_to_string(proc.join("irq/34/smp_affinity_list")).unwrap();
        assert_eq!(set, "1");
        fs::write(&effective, "3\n").unwrap();
        assert_eq!(direct(0).unwrap().to_string(), "3");
        fs::write(proc.join("irq/34/smp_affinity_list"), "0-7\n").unwrap();
        let read = |vector| super::effective(root.path(), "0000:41:00.0", vector);
        assert_eq!(read(0).unwrap().to_string(), "3");
        fs::remove_file(&effective).unwrap();
        assert_eq!(read(0).unwrap().to_string(), "0-7");
        assert!(read(1).is_err() && read(7).is_err());
        fs::write(&effective, "x\n").unwrap();
        assert!(direct(0).is_err());
        let missing = direct(7).unwrap_err().to_string();
        assert!(missing.contains("vfio-msix[7](0000:41:00.0)"), "{missing}");
        let denied = direct(1).unwrap_err().to_string();
        assert!(
            denied.contains("/proc/irq/135/smp_affinity_list"),
            "{denied}"
        );
    }
}
