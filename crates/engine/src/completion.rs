//! Completion of a request.

/// A request that ended, with its buffer of type `B` and, if it failed, the reason of type `F`.
#[derive(Debug)]
pub struct Completion<B, F> {
    /// Tag of the request.
    pub tag: u64,
    /// Success, or the reason of the failure.
    pub outcome: Result<(), F>,
    /// Buffer of the request, the caller's again.
    pub buffer: B,
}
