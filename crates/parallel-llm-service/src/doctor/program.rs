//! Which program this is, and on what it runs.

use super::{Finding, VERSION};

pub(super) fn look() -> Vec<Finding> {
    use std::env::consts::{ARCH, OS};
    vec![Finding::ok(format!("parallel-llm-mcp {VERSION} on {OS} {ARCH}"))]
}
