//! The program's version and platform.

use super::{Finding, VERSION};

pub(super) fn examine() -> Vec<Finding> {
    use std::env::consts::{ARCH, OS};
    vec![Finding::ok(format!("parallel-llm-mcp {VERSION} on {OS} {ARCH}"))]
}
