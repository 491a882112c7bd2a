//! Short names of devices: `optane-900p`, `nvme0n1`, `disk.img`; and for an unknown name the most similar known one.

use crate::device_name_error::DeviceNameError;
use joulio_kernel_io::block_device_of;
use joulio_model::DeviceProfile;
use joulio_units::nearest;
use std::borrow::Cow;
use std::fs;
use std::path::Path;

/// Schemes of devices that joulio drives.
const SCHEMES: [&str; 3] = ["emulated", "pcie", "vfio-user"];

/// Returns the full name for the short name `text`, or `text` itself if it is a full name.
///
/// # Errors
/// The name belongs to no device ([`DeviceNameError::Unknown`]) or to more than one.
pub(crate) fn full_name(text: &str) -> Result<Cow<'_, str>, DeviceNameError> {
    full_name_at(Path::new("/"), Path::new(""), text)
}

/// Returns true if `text` is written as a path.
pub(crate) fn is_path(text: &str) -> bool {
    ["/", "./", "../"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Returns what [`full_name`] does, with devices under `root` and files under `folder`.
fn full_name_at<'a>(
    root: &Path,
    folder: &Path,
    text: &'a str,
) -> Result<Cow<'a, str>, DeviceNameError> {
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    if let Some(block) = block_device_of(name) {
        let (text, block) = (text.into(), format!("/dev/{block}"));
        return Err(DeviceNameError::Character { text, block });
    }
    let scheme = text.split_once(':').map_or(text, |(scheme, _)| scheme);
    if is_path(text) || SCHEMES.contains(&scheme) {
        return Ok(text.into());
    }
    let bare = text.split([',', '#']).next().unwrap_or_default();
    if let Some(options) = text.strip_prefix("emulated").filter(|_| bare == "emulated") {
        return Ok(format!("emulated:{options}").into());
    }
    let mut found = Vec::new();
    if DeviceProfile::is_builtin(bare) {
        found.push(format!("emulated:{text}"));
    }
    if !text.is_empty() {
        if !text.contains('/') && root.join("dev").join(text).exists() {
            found.push(format!("/dev/{text}"));
        }
        if folder.join(text).exists() {
            found.push(format!("./{text}"));
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone().into()),
        [] => Err(DeviceNameError::unknown(text, near(root, folder, text))),
        [first, second, ..] => Err(DeviceNameError::Ambiguous {
            text: text.into(),
            first: first.clone(),
            second: second.clone(),
        }),
    }
}

/// Returns the known name that is most similar to `text`, if one is similar.
fn near(root: &Path, folder: &Path, text: &str) -> Option<String> {
    let (name, rest) = match text.split_once(':') {
        Some((scheme, rest)) => (scheme, Some(rest)),
        None => (text, None),
    };
    let known: Vec<String> = match rest {
        Some(_) => SCHEMES.map(str::to_owned).into(),
        None => {
            let disks = file_names(&root.join("sys/block"));
            DeviceProfile::names()
                .map(str::to_owned)
                .chain(disks)
                .chain(file_names(folder))
                .collect()
        }
    };
    let best = nearest(name, known)?;
    Some(rest.map_or_else(|| best.clone(), |rest| format!("{best}:{rest}")))
}

/// Returns the names of the files in `folder` that are valid text.
fn file_names(folder: &Path) -> impl Iterator<Item = String> + use<> {
    // An empty path stands for the current directory.
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_of_one_device() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let (root, folder) = (room.path().join("root"), room.path().join("folder"));
        for path in [
            root.join("dev/nvme0n1"),
            root.join("dev/instant"),
            root.join("sys/block/nvme0n1"),
            folder.join("disk.img"),
            folder.join("nvme0n1"),
        ] {
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "").expect("written");
        }
        let named = |text: &str| full_name_at(&root, &folder, text).map(|name| name.into_owned());
        for (short, full) in [
            ("optane-900p", "emulated:optane-900p"),
            ("optane-900p,size=1G#3", "emulated:optane-900p,size=1G#3"),
            ("disk.img", "./disk.img"),
            ("emulated", "emulated"),
            ("emulated,size=1M", "emulated:,size=1M"),
            ("pcie:0000:01:00.0", "pcie:0000:01:00.0"),
            ("/dev/nvme9n1", "/dev/nvme9n1"),
            ("../nvme0n1", "../nvme0n1"),
        ] {
            assert_eq!(named(short).as_deref(), Ok(full));
        }
        for (wrong, words) in [
            ("nvme0n1", "write /dev/nvme0n1 or ./nvme0n1"),
            ("/dev/ng0n1", "--device /dev/nvme0n1 --engine io_uring_cmd"),
            ("ng12n3", "--device /dev/nvme12n3 --engine io_uring_cmd"),
            ("instant", "write emulated:instant or /dev/instant"),
            ("nvme0n2", "did you mean nvme0n1?"),
            ("optane900p", "did you mean optane-900p?"),
            ("emualted:optane-900p", "did you mean emulated:optane-900p?"),
            ("pci:0000:01:00.0", "did you mean pcie:0000:01:00.0?"),
            ("disk.im", "did you mean disk.img?"),
            ("quartz", "'quartz' is not a device: emulated:PROFILE"),
            ("", "'' is not a device: emulated:PROFILE"),
        ] {
            let error = named(wrong).expect_err(wrong).to_string();
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }
}
