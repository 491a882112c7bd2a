//! joulio-workload
