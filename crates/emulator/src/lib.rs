//! joulio-emulator
