//! joulio-conformance
