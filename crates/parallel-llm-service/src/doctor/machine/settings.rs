//! The settings files in force, and who else may read or change them. Every other command refuses to start with settings
//! that cannot be read.

use std::path::{Path, PathBuf};

use parallel_llm_engine::request::persona;

use crate::doctor::finding::{Finding, Health};
use crate::doctor::instruments::{Doctor, aside};
use crate::doctor::system::{OTHERS, OTHERS_WRITE, foreign_owner, mode, quoted};

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let settings = &doctor.settings;
    let named = [("your own", &settings.user_file), ("the project's", &settings.project_file)];
    let found: Vec<String> = named
        .iter()
        .filter_map(|(whose, path)| path.as_ref().map(|path| format!("{whose} at {}", path.display())))
        .collect();
    let found = match found.as_slice() {
        [] => "no settings file; defaults and environment hold".to_owned(),
        found => format!("settings files: {}", found.join(", ")),
    };
    let (presets, personas) = (settings.presets.len(), settings.personas.len());
    let unread = settings.unread.iter();
    let mut findings: Vec<Finding> =
        unread.map(|failure| Finding::failed(failure.message.clone(), failure.next_steps())).collect();
    if findings.is_empty() {
        findings.push(Finding::ok(format!("{found}; {presets} presets, {personas} personas")));
    }
    findings.extend(miscast(doctor));
    let holds_secret = settings.providers.iter().any(|provider| !provider.headers.is_empty());
    let own = settings.user_file.clone().map(|path| (path, holds_secret));
    // The program has already refused it if others may read it.
    let kept = settings.keys_file.clone().filter(|path| path.exists()).map(|path| (path, true));
    let files: Vec<(PathBuf, bool)> = own.into_iter().chain(kept).collect();
    findings.extend(aside(move || files_findings(&files)).await);
    findings
}

/// Seats of the settings that no run can use: their persona is unknown, or they are not valid seats.
fn miscast(doctor: &Doctor) -> Vec<Finding> {
    let wrong = |(place, reference): (String, &String)| {
        let entry = doctor.providers().entry_of(reference)?;
        let failure = if place.ends_with("synthesizer") {
            persona::refuse(&entry).err()?
        } else {
            persona::find(entry.options.persona.as_deref()?, &doctor.settings.personas).err()?
        };
        // A preset is used only by name.
        let state = if place.starts_with("presets.") || place.starts_with("flows.") {
            Health::Warning
        } else {
            Health::Failed
        };
        let found = format!("{reference} ({place}): {}", failure.message);
        Some(Finding::of(state, found, Some(failure.next_steps().into())))
    };
    doctor.configured.references().into_iter().filter_map(wrong).collect()
}

/// The user's own files and their folders: who can write them decides where keys are sent.
fn files_findings(files: &[(PathBuf, bool)]) -> Vec<Finding> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|(path, _)| path.parent()).collect();
    folders.dedup();
    let of_files = files.iter().filter_map(|(path, holds_secret)| file_finding(path, *holds_secret));
    let found: Vec<Finding> = folders.into_iter().filter_map(folder_finding).chain(of_files).collect();
    match (found.is_empty(), files.is_empty()) {
        (true, false) => vec![Finding::ok("nobody else can change them, or read what is secret in them")],
        _ => found,
    }
}

fn folder_finding(folder: &Path) -> Option<Finding> {
    let metadata = folder.metadata().ok()?;
    if let Some(owner) = foreign_owner(&metadata) {
        return Some(foreign(folder, owner));
    }
    let mode = mode(&metadata).filter(|mode| mode & OTHERS_WRITE != 0)?;
    let found = format!("others can change what is in {} (mode {mode:03o})", folder.display());
    Some(Finding::warning(found, format!("`chmod 700 {}`", quoted(folder))))
}

fn file_finding(path: &Path, holds_secret: bool) -> Option<Finding> {
    let metadata = path.metadata().ok()?;
    if let Some(owner) = foreign_owner(&metadata) {
        return Some(foreign(path, owner));
    }
    let mode = mode(&metadata)?;
    let what = match mode {
        mode if mode & OTHERS_WRITE != 0 => "others can change where your keys go: they may write",
        mode if mode & OTHERS != 0 && holds_secret => "others can read the headers in",
        _ => return None,
    };
    let found = format!("{what} {} (mode {mode:03o})", path.display());
    Some(Finding::warning(found, format!("`chmod 600 {}`", quoted(path))))
}

fn foreign(path: &Path, owner: u32) -> Finding {
    let found = format!("{} belongs to another user (number {owner}), who can change it", path.display());
    Finding::warning(found, format!("`sudo chown -R \"$(id -u)\" {}`", quoted(path)))
}
