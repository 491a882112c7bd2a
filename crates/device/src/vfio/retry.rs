//! Enabling as many interrupts as the kernel can provide.
//!
//! VFIO_DEVICE_SET_IRQS (include/uapi/linux/vfio.h) returns a positive number where fewer vectors are available than
//! were requested: then none of them is enabled, and the caller has to request that many.

use std::io;

/// Connects as many of the first `events` as `set` can, and returns how many. `set` returns the kernel's result: 0, or
/// how many are available.
pub(super) fn connect_up_to(
    events: &[i32],
    mut set: impl FnMut(&[i32]) -> io::Result<u32>,
) -> io::Result<usize> {
    let mut count = events.len();
    loop {
        match set(&events[..count])? as usize {
            0 => return Ok(count),
            fewer if fewer < count => count = fewer,
            // Each attempt requests fewer than the one before, so that the loop ends.
            other => {
                return Err(io::Error::other(format!(
                    "{count} interrupts were requested, and the kernel offers {other} instead"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fakes a kernel with the given `answers`, one after another; returns the requests that it received.
    fn kernel(answers: &[u32]) -> (io::Result<usize>, Vec<usize>) {
        let mut requested = Vec::new();
        let result = connect_up_to(&[3, 4, 5, 6, 7], |events| {
            assert!(events.iter().copied().eq((3..8).take(events.len())));
            requested.push(events.len());
            Ok(answers[requested.len() - 1])
        });
        (result, requested)
    }

    #[test]
    fn all_are_had_at_once_where_the_kernel_has_them() {
        let (result, requested) = kernel(&[0]);
        assert_eq!((result.unwrap(), requested), (5, vec![5]));
    }

    #[test]
    fn a_positive_answer_enabled_nothing_and_is_tried_again_with_that_many() {
        let (result, requested) = kernel(&[3, 0]);
        assert_eq!((result.unwrap(), requested), (3, vec![5, 3]));
        // The kernel may have even fewer by then.
        let (result, requested) = kernel(&[3, 2, 0]);
        assert_eq!((result.unwrap(), requested), (2, vec![5, 3, 2]));
    }

    #[test]
    fn a_kernel_that_offers_no_fewer_is_not_tried_for_ever() {
        for answers in [&[5][..], &[900], &[3, 3], &[3, 4]] {
            let (result, requested) = kernel(answers);
            let error = result.unwrap_err().to_string();
            assert!(error.contains("were requested"), "{error}");
            assert_eq!(requested.len(), answers.len());
        }
    }

    #[test]
    fn an_error_is_passed_on() {
        let result = connect_up_to(&[3], |_| Err(io::ErrorKind::InvalidInput.into()));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
