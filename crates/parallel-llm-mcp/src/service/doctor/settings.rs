//! Which settings files are in force. That they can be read is known by now: nothing starts otherwise.

use super::{Finding, Service};

pub(super) fn look(service: &Service) -> Vec<Finding> {
    let settings = service.settings();
    let named = [("your own", &settings.user_file), ("the project's", &settings.project_file)];
    let found: Vec<String> = named
        .iter()
        .filter_map(|(whose, path)| path.as_ref().map(|path| format!("{whose} at {}", path.display())))
        .collect();
    let found = match found.as_slice() {
        [] => "no settings file; defaults and environment hold".to_owned(),
        found => format!("settings files: {}", found.join(", ")),
    };
    vec![Finding::ok(format!("{found}; {} presets", settings.presets.len()))]
}
