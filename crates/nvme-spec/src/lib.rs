//! joulio-nvme-spec
