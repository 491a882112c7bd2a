//! Open IOMMU groups: VFIO lets a group be opened once, and its devices share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One of each group, for as long as somebody has it.
pub(super) struct Groups<T> {
    open: Mutex<BTreeMap<u32, Weak<T>>>,
}

impl<T> Groups<T> {
    pub(super) const fn new() -> Groups<T> {
        Groups {
            open: Mutex::new(BTreeMap::new()),
        }
    }

    /// Gets the container of `group`: the one that is open, or what `open` makes.
    pub(super) fn get<E>(
        &self,
        group: u32,
        open: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // Held while it is opened, so that two threads do not open it both.
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.get(&group).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        let new = Arc::new(open()?);
        all.retain(|_, other| other.strong_count() > 0);
        all.insert(group, Arc::downgrade(&new));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Groups as the kernel has them: each is busy while it is open.
    #[derive(Default)]
    struct Kernel(RefCell<Vec<u32>>);

    struct File<'a>(u32, &'a Kernel);

    impl Kernel {
        fn open(&self, group: u32) -> Result<File<'_>, &'static str> {
            if self.0.borrow().contains(&group) {
                return Err("busy");
            }
            self.0.borrow_mut().push(group);
            Ok(File(group, self))
        }
    }

    impl Drop for File<'_> {
        fn drop(&mut self) {
            self.1.0.borrow_mut().retain(|&group| group != self.0);
        }
    }

    #[test]
    fn a_second_device_of_a_group_shares_what_the_first_opened() {
        let kernel = Kernel::default();
        let groups = Groups::new();
        let first = groups.get(7, || kernel.open(7)).unwrap();
        let second = groups.get(7, || kernel.open(7)).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let other = groups.get(8, || kernel.open(8)).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
        drop(first);
        assert_eq!(*kernel.0.borrow(), [7, 8]);
        // Closed with the last, and opened anew.
        drop(second);
        assert_eq!(*kernel.0.borrow(), [8]);
        groups.get(7, || kernel.open(7)).unwrap();
    }

    #[test]
    fn what_could_not_be_opened_is_tried_again() {
        let kernel = Kernel::default();
        let groups = Groups::new();
        let theirs = kernel.open(7).unwrap();
        assert_eq!(groups.get(7, || kernel.open(7)).err(), Some("busy"));
        drop(theirs);
        assert!(groups.get(7, || kernel.open(7)).is_ok());
    }
}
