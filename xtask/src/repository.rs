//! Where the repository lies.

use std::path::Path;

/// The root of the repository: the folder above this package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the xtask's folder lies inside the repository")
}
