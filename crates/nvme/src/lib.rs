//! joulio-nvme
