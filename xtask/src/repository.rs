//! The path of the repository.

use std::path::Path;

/// The root of the repository: the folder above this package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the xtask's folder is inside the repository")
}
