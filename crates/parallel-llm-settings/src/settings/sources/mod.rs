//! Where values come from: the environment, files and their folders, and the layer of each source.

pub(super) mod config_paths;
pub(super) mod environment;
pub(super) mod file;
pub(super) mod host_info;
pub(super) mod layer;
mod meant;
pub(super) mod reader;
