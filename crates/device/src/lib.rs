//! joulio-device
