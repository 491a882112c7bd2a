//! Interrupts, as many as the kernel can give.
//!
//! VFIO_DEVICE_SET_IRQS (include/uapi/linux/vfio.h) returns a positive number where fewer vectors
//! can be had than were asked for: then none of them is enabled, and the caller asks again.

use std::io;

/// Connects the first of `events` by `set`, as many as it can give; how many that are. `set`
/// returns what the kernel does: 0, or how many could be had.
pub(super) fn connect_most(
    events: &[i32],
    mut set: impl FnMut(&[i32]) -> io::Result<u32>,
) -> io::Result<usize> {
    let mut count = events.len();
    loop {
        match set(&events[..count])? as usize {
            0 => return Ok(count),
            fewer if fewer < count => count = fewer,
            // Each try asks for fewer than the one before: there is an end.
            other => {
                return Err(io::Error::other(format!(
                    "{count} interrupts were asked for, and the kernel offers {other} instead"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that answers as `answers` say, one after another; what was asked of it.
    fn kernel(answers: &[u32]) -> (io::Result<usize>, Vec<usize>) {
        let mut asked = Vec::new();
        let result = connect_most(&[3, 4, 5, 6, 7], |events| {
            assert!(events.iter().copied().eq((3..8).take(events.len())));
            asked.push(events.len());
            Ok(answers[asked.len() - 1])
        });
        (result, asked)
    }

    #[test]
    fn all_are_had_at_once_where_the_kernel_has_them() {
        let (result, asked) = kernel(&[0]);
        assert_eq!((result.unwrap(), asked), (5, vec![5]));
    }

    #[test]
    fn a_positive_answer_enabled_nothing_and_is_asked_again_with_that_many() {
        let (result, asked) = kernel(&[3, 0]);
        assert_eq!((result.unwrap(), asked), (3, vec![5, 3]));
        // The kernel may have even fewer by then.
        let (result, asked) = kernel(&[3, 2, 0]);
        assert_eq!((result.unwrap(), asked), (2, vec![5, 3, 2]));
    }

    #[test]
    fn a_kernel_that_offers_no_fewer_is_not_asked_for_ever() {
        for answers in [&[5][..], &[900], &[3, 3], &[3, 4]] {
            let (result, asked) = kernel(answers);
            let error = result.unwrap_err().to_string();
            assert!(error.contains("asked for"), "{error}");
            assert_eq!(asked.len(), answers.len());
        }
    }

    #[test]
    fn an_error_is_passed_on() {
        let result = connect_most(&[3], |_| Err(io::ErrorKind::InvalidInput.into()));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
