//! The program's version and platform.

use crate::doctor::finding::Finding;
use crate::doctor::instruments::VERSION;

pub(crate) fn examine() -> Vec<Finding> {
    use std::env::consts::{ARCH, OS};
    vec![Finding::ok(format!("parallel-llm-mcp {VERSION} on {OS} {ARCH}"))]
}
