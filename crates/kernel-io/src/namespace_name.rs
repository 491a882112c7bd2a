//! Names of the two device files of an NVMe namespace: the block device `nvme0n1`, and the character device
//! `ng0n1`, which accepts commands.

/// Returns the name of the character device of the namespace whose block device is `block`; `None`: `block` is not
/// a whole namespace.
pub fn character_device_of(block: &str) -> Option<String> {
    numbers(block.strip_prefix("nvme")?).map(|numbers| format!("ng{numbers}"))
}

/// Returns the name of the block device of the namespace whose character device is `character`; `None`: `character`
/// is not a namespace.
pub fn block_device_of(character: &str) -> Option<String> {
    numbers(character.strip_prefix("ng")?).map(|numbers| format!("nvme{numbers}"))
}

/// Returns `text` if it has the numbers of a controller and of its namespace: `0n1`.
fn numbers(text: &str) -> Option<&str> {
    let (controller, namespace) = text.split_once('n')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(controller) && number(namespace)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_have_the_numbers_of_their_namespace() {
        for (block, character) in [("nvme0n1", "ng0n1"), ("nvme12n345", "ng12n345")] {
            assert_eq!(character_device_of(block).as_deref(), Some(character));
            assert_eq!(block_device_of(character).as_deref(), Some(block));
        }
        for other in [
            "nvme0n1p1",
            "nvme0c0n1",
            "nvme0",
            "nvmen1",
            "sda",
            "loop0",
            "nvme0n",
            "nvme0n1/../x",
        ] {
            assert_eq!(character_device_of(other), None, "{other}");
        }
        for other in ["ng0", "ng0n1p1", "ngn", "nginx", "nvme0n1"] {
            assert_eq!(block_device_of(other), None, "{other}");
        }
    }
}
