//! Lists the NVMe controllers of this machine's PCI bus, with their drivers and IOMMU groups.

use joulio_device::pci::{PciError, Sysfs};

/// Prints a line for each controller, and their number.
pub fn main() -> Result<(), PciError> {
    let controllers = Sysfs::default().nvme_controllers()?;
    for controller in &controllers {
        let driver = controller.driver.as_deref().unwrap_or("no driver");
        println!(
            "{} {driver}, IOMMU group {:?}, {}",
            controller.address,
            controller.iommu_group,
            controller.namespaces.join(" "),
        );
    }
    println!("{} NVMe controllers", controllers.len());
    Ok(())
}
