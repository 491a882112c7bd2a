//! Data of an admin command.

/// The data of an admin command.
#[derive(Debug)]
pub enum AdminData<'a> {
    /// None.
    None,
    /// Data of the controller: exactly as many bytes as the command returns.
    In(&'a mut [u8]),
    /// Data to the controller: exactly as many bytes as it takes.
    Out(&'a [u8]),
}
