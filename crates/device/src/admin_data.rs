//! Data of an admin command.

/// Data of an admin command, by its direction.
#[derive(Debug)]
pub enum AdminData<'a> {
    /// No data.
    None,
    /// Data from the controller: exactly as many bytes as the command returns.
    In(&'a mut [u8]),
    /// Data to the controller: exactly as many bytes as it takes.
    Out(&'a [u8]),
}
