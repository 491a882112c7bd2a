//! Open IOMMU groups: VFIO lets a group be opened once, and its devices share it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// The open groups, each for as long as somebody has it.
pub(super) struct Groups<T: 'static> {
    /// Open groups by number; an entry without users is being closed.
    open: Mutex<BTreeMap<u32, Weak<Shared<T>>>>,
    closed: Condvar,
}

/// An open group; closed when the last of its devices is dropped, and only then removed from the list.
pub(super) struct Shared<T: 'static> {
    /// The group; declared before its entry, so that it is closed first.
    group: T,
    _entry: Entry<T>,
}

struct Entry<T: 'static> {
    number: u32,
    groups: &'static Groups<T>,
}

impl<T> Groups<T> {
    pub(super) const fn new() -> Groups<T> {
        Groups {
            open: Mutex::new(BTreeMap::new()),
            closed: Condvar::new(),
        }
    }

    /// Returns the container of group `number`: the one that is open, or the one that `open` makes. Waits for another
    /// thread that is closing it, as the kernel would call the group busy.
    pub(super) fn get<E>(
        &'static self,
        number: u32,
        open: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<Shared<T>>, E> {
        // Held while it is opened, so that two threads do not both open it.
        let mut all = self.lock();
        while let Some(shared) = all.get(&number) {
            if let Some(shared) = shared.upgrade() {
                return Ok(shared);
            }
            all = self
                .closed
                .wait(all)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let new = Arc::new(Shared {
            group: open()?,
            _entry: Entry {
                number,
                groups: self,
            },
        });
        all.insert(number, Arc::downgrade(&new));
        Ok(new)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Weak<Shared<T>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.group
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        self.groups.lock().remove(&self.number);
        self.groups.closed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    /// A fake of the kernel's groups: each is busy until its file is closed.
    #[derive(Clone, Default)]
    struct Kernel(Arc<Mutex<Vec<u32>>>);

    struct File {
        group: u32,
        kernel: Kernel,
        /// Closing sends on the first channel, and continues after a message on the second.
        slow: Mutex<Option<(Sender<()>, Receiver<()>)>>,
    }

    impl Kernel {
        fn open(&self, group: u32) -> Result<File, &'static str> {
            let mut open = self.0.lock().unwrap();
            if open.contains(&group) {
                return Err("busy");
            }
            open.push(group);
            Ok(File {
                group,
                kernel: self.clone(),
                slow: Mutex::new(None),
            })
        }

        fn busy(&self) -> Vec<u32> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            if let Some((closing, go_on)) = self.slow.get_mut().unwrap().take() {
                closing.send(()).unwrap();
                go_on.recv().unwrap();
            }
            let mut open = self.kernel.0.lock().unwrap();
            open.retain(|&group| group != self.group);
        }
    }

    #[test]
    fn a_second_device_of_a_group_shares_what_the_first_opened() {
        static GROUPS: Groups<File> = Groups::new();
        let kernel = Kernel::default();
        let first = GROUPS.get(7, || kernel.open(7)).unwrap();
        let second = GROUPS.get(7, || kernel.open(7)).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let other = GROUPS.get(8, || kernel.open(8)).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
        drop(first);
        assert_eq!(kernel.busy(), [7, 8]);
        // Closed with the last device, and opened again.
        drop(second);
        assert_eq!(kernel.busy(), [8]);
        GROUPS.get(7, || kernel.open(7)).unwrap();
    }

    #[test]
    fn what_could_not_be_opened_is_tried_again() {
        static GROUPS: Groups<File> = Groups::new();
        let kernel = Kernel::default();
        let theirs = kernel.open(7).unwrap();
        assert_eq!(GROUPS.get(7, || kernel.open(7)).err(), Some("busy"));
        drop(theirs);
        assert!(GROUPS.get(7, || kernel.open(7)).is_ok());
    }

    #[test]
    fn a_group_that_another_thread_is_closing_is_waited_for() {
        static GROUPS: Groups<File> = Groups::new();
        let kernel = Kernel::default();
        let (closing, closes) = channel();
        let (go_on, goes_on) = channel();
        let open = || {
            let mut file = kernel.open(7)?;
            file.slow = Mutex::new(Some((closing, goes_on)));
            Ok::<_, &str>(file)
        };
        let last = GROUPS.get(7, open).unwrap();
        let dropping = thread::spawn(move || drop(last));
        closes.recv().unwrap();
        let again = thread::spawn({
            let kernel = kernel.clone();
            move || GROUPS.get(7, || kernel.open(7)).map(drop)
        });
        assert_eq!(kernel.busy(), [7]);
        go_on.send(()).unwrap();
        dropping.join().unwrap();
        assert_eq!(again.join().unwrap(), Ok(()));
    }
}
