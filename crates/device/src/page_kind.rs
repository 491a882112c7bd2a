//! Kinds of pages of memory that is allocated for a device.

/// Kind of the pages behind a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// The kernel's ordinary 4 KiB pages.
    Ordinary,
    /// Transparent huge pages of 2 MiB: the kernel may split them again.
    Transparent,
    /// 2 MiB pages from the hugetlb pool.
    Huge,
}
