//! The log: its destination, and who else may read it.

use crate::doctor::finding::Finding;
use crate::doctor::instruments::{Doctor, aside};
use crate::doctor::system::{OTHERS, mode, quoted, size};

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let settings = &doctor.settings;
    let level = settings.log_level.clone();
    let Some(path) = settings.log_file.clone() else {
        return vec![Finding::ok(format!("a server logs to stderr only, at `{level}`"))];
    };
    aside(move || {
        // It was opened when the program started.
        let metadata = path.metadata().ok();
        let bytes = metadata.as_ref().map_or(0, std::fs::Metadata::len);
        let found = format!("a server logs to {} too, at `{level}`: {}", path.display(), size(bytes));
        let loose = metadata.as_ref().and_then(mode).filter(|mode| mode & OTHERS != 0);
        vec![match loose {
            None => Finding::ok(found),
            Some(mode) => Finding::warning(
                format!("{found}, and others can read it (mode {mode:03o})"),
                format!("`chmod 600 {}`", quoted(&path)),
            ),
        }]
    })
    .await
}
