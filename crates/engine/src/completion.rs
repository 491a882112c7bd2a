//! Completion of a request.

/// A request that ended, with its buffer of type `B`; `F` says how it failed.
#[derive(Debug)]
pub struct Completion<B, F> {
    /// Tag of the request.
    pub tag: u64,
    /// Success, or how the request failed.
    pub outcome: Result<(), F>,
    /// Buffer of the request, the caller's again.
    pub buffer: B,
}
