//! Shapes of a job's loop: the features that a job needs.

/// Features that a job's loop needs; there is a loop for each shape, without the code that the shape does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One device, and only the usual features: the policy plans the same step for every wait and is told of no
    /// events, interrupts come at once, the job neither stalls nor draws sizes, and there is no scheduler.
    Plain,
    /// One device, only the usual features, and one I/O at a time.
    PlainSingle,
    /// One device, with any feature.
    One,
    /// One device, with any feature, and one I/O at a time.
    OneSingle,
    /// Several devices, with any feature.
    Several,
}

/// [`Shape`]s, as parameters of functions.
pub(crate) const PLAIN: u8 = 0;
pub(crate) const ONE: u8 = 1;
pub(crate) const SEVERAL: u8 = 2;
const SINGLE: u8 = 4;
pub(crate) const PLAIN_SINGLE: u8 = PLAIN | SINGLE;
pub(crate) const ONE_SINGLE: u8 = ONE | SINGLE;

/// Returns true if a job of this shape has only the usual features.
pub(crate) const fn is_plain(shape: u8) -> bool {
    shape & !SINGLE == PLAIN
}

/// Returns true if a job of this shape has one I/O at a time.
pub(crate) const fn is_single(shape: u8) -> bool {
    shape & SINGLE != 0
}
