//! joulio-energy
