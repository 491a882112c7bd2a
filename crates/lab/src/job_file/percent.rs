//! Areas given as percentages of a section's file.

use super::error::JobFileError;
use super::flags::file_length;
use super::sections::{Given, Section};

/// Alignment in bytes of areas given as percentages, as in fio.
const PAGE: u64 = 4096;

/// Converts percentages of the file in `section` to bytes: `offset`, and `size`, which is cut off at the end of the
/// file.
pub(super) fn in_bytes(section: &mut Section) -> Result<(), JobFileError> {
    let options: Vec<&Given> = section.options.iter().collect();
    let length = file_length(&options);
    resolve(section, "offset", length, length)?;
    let offset = section.find("offset").map_or(Ok(0), Given::bytes)?;
    let rest = length.map(|length| length.saturating_sub(offset));
    resolve(section, "size", length, rest)
}

/// Converts values of the option `key` that are percentages of `length` to bytes, up to a limit.
fn resolve(
    section: &mut Section,
    key: &str,
    length: Option<u64>,
    most: Option<u64>,
) -> Result<(), JobFileError> {
    let options = section.options.iter_mut().filter(|one| one.key == key);
    for given in options {
        let value = given.value.as_deref().unwrap_or_default();
        let Some(percent) = value.strip_suffix('%') else {
            continue;
        };
        let percent = percent.parse::<u8>().ok().filter(|one| *one <= 100);
        let percent = percent.ok_or_else(|| given.refused("a percentage is 0 to 100"))?;
        let (Some(length), Some(most)) = (length, most) else {
            let why = "a percentage is of one file or block device, which filename names";
            return Err(given.refused(why));
        };
        // Avoids an overflow by computing with whole hundreds and the rest.
        let percent = u64::from(percent);
        let bytes = length / 100 * percent + length % 100 * percent / 100;
        given.value = Some((bytes.min(most) / PAGE * PAGE).to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sections::sections;
    use super::*;

    #[test]
    fn a_percentage_is_of_the_file_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        std::fs::write(&file, [0; 10 * 4096 + 10]).unwrap();
        let resolved = |options: &str| {
            let text = format!("[a]\nfilename={}\n{options}\n", file.display());
            let mut section = sections(&text).unwrap().remove(0);
            let bytes = |section: &Section, key: &str| section.find(key).map(|one| one.bytes());
            in_bytes(&mut section)?;
            let [offset, size] = ["offset", "size"].map(|key| bytes(&section, key));
            Ok::<_, JobFileError>((offset.transpose()?, size.transpose()?))
        };
        let pages = |count: u64| Some(count * 4096);
        assert_eq!(resolved("size=50%").unwrap(), (None, pages(5)));
        assert_eq!(resolved("size=100%").unwrap(), (None, pages(10)));
        let late = resolved("size=100%\noffset=30%").unwrap();
        assert_eq!(late, (pages(3), pages(7)));
        assert_eq!(resolved("size=8k").unwrap(), (None, pages(2)));
        for wrong in ["size=101%", "size=x%", "offset=-1%"] {
            let error = resolved(wrong).unwrap_err();
            let why = error.to_string();
            assert!(error.line() == 3 && why.contains("0 to 100"), "{why}");
        }
        let mut unknown = sections("[a]\nfilename=a:b\nsize=50%\n").unwrap().remove(0);
        let error = in_bytes(&mut unknown).unwrap_err();
        let why = error.to_string();
        assert!(error.line() == 3 && why.contains("one file"), "{why}");
    }
}
