//! joulio-wait
