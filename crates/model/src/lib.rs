//! joulio-model
