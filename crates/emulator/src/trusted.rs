//! The promise of the emulated controller to write memory during commands only.
//!
//! Sound because every access goes through [`crate::guest`], which knows only memory that was mapped; because data is
//! written while its command is in service, before its completion is posted, and a command that is aborted, whose queue
//! is deleted or whose controller is reset, leaves service before that ends; and because a fault changes when and how
//! often completions are posted, and their content, but not when data is written.
#![allow(unsafe_code)]

use crate::EmulatedDevice;
use joulio_device::TrustedDevice;

// SAFETY: as the module's head says.
unsafe impl TrustedDevice for EmulatedDevice {}
