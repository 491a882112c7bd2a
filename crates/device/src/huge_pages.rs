//! Kind of the pages that back memory.

use crate::PageKind;
use std::fs;

const HUGE_KILOBYTES: u64 = 2048;

/// Returns the kind of the pages that the mapping around `address` has now, as `/proc/self/smaps` reports them
/// (proc(5)): transparent huge pages only if all resident memory of it is in such.
pub fn memory_pages(address: u64) -> PageKind {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    mapping(&smaps, address).map_or(PageKind::Ordinary, of_fields)
}

/// Whether all of `len` bytes at `address` lie in mappings of huge pages of the hugetlb pool.
pub(crate) fn is_huge(address: u64, len: usize) -> bool {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let end = address + len as u64;
    let mut places = (address..end)
        .step_by((HUGE_KILOBYTES << 10) as usize)
        .chain([end - 1]);
    places.all(|at| mapping(&smaps, at).map(of_fields) == Some(PageKind::Huge))
}

fn of_fields(fields: &str) -> PageKind {
    let field = |name| kilobytes(fields, name);
    let resident = field("Rss:");
    if field("KernelPageSize:") >= HUGE_KILOBYTES {
        PageKind::Huge
    } else if resident > 0 && resident == field("AnonHugePages:") {
        PageKind::Transparent
    } else {
        PageKind::Ordinary
    }
}

/// Returns the lines after the heading of the mapping that contains `address`.
fn mapping(smaps: &str, address: u64) -> Option<&str> {
    let mut rest = smaps;
    loop {
        let (heading, fields) = rest.split_once('\n')?;
        // The next heading begins with an address, a field line with a capital letter.
        let end = fields
            .match_indices('\n')
            .map(|(at, _)| at + 1)
            .find(|&at| !fields[at..].starts_with(|letter: char| letter.is_ascii_uppercase()));
        let (fields, next) = fields.split_at(end.unwrap_or(fields.len()));
        let range = heading.split(' ').next()?;
        let (first, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        if (number(first)?..number(end)?).contains(&address) {
            return Some(fields);
        }
        rest = next;
    }
}

fn kilobytes(fields: &str, name: &str) -> u64 {
    let value = fields.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|value| value.trim().strip_suffix(" kB"));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n\
Size:               2048 kB\n\
Rss:                2048 kB\n\
AnonHugePages:      2048 kB\n\
VmFlags: rd wr mr mw me dc ac hg\n\
7f0000400000-7f0000600000 rw-p 00000000 00:00 0                          [anon:x y]\n\
Rss:                 100 kB\n\
AnonHugePages:         0 kB\n\
7f0000800000-7f0000a00000 rw-p 00000000 00:00 0 \n\
KernelPageSize:     2048 kB\n\
Rss:                   0 kB\n";

    #[test]
    fn a_mapping_has_its_own_pages() {
        let at = |address| mapping(SMAPS, address).map(of_fields);
        assert_eq!(at(0x7f00_001f_ffff), Some(PageKind::Transparent));
        assert_eq!(at(0x7f00_0040_0000), Some(PageKind::Ordinary));
        assert_eq!(at(0x7f00_0080_0000), Some(PageKind::Huge));
        assert_eq!(at(0x7f00_0020_0000), None);
        assert_eq!(mapping("", 0), None);
    }

    #[test]
    fn memory_that_is_not_mapped_has_none() {
        assert_eq!(memory_pages(0), PageKind::Ordinary);
    }
}
