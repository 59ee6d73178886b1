//! Finds, reads and merges the sources of the settings: flags, environment, the project's file, the user's file, defaults.
//!
//! Invariant: a part that cannot be read stops everything, except where only its mistake is wanted.

use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;

use super::document::{Document, FileOwner, UserLimits};
use super::sources::environment::Environment;
use super::sources::file;
use super::sources::layer::Layer;
use super::{Settings, make_absolute};

/// What becomes of a part that cannot be read.
type OnMistake<'a> = &'a mut dyn FnMut(Failure) -> Result<(), Failure>;

impl Settings {
    /// Reads and resolves all settings. `overrides` are flags: names of settings and their texts.
    pub fn load(
        environment: &Environment,
        current_dir: &Path,
        overrides: &[(&str, String)],
    ) -> Result<Self, Failure> {
        Self::load_parts(environment, current_dir, overrides, &mut Err)
    }

    /// The same without the parts that cannot be read, whose mistakes are in [`Settings::unread`]. For whoever looks for
    /// mistakes, and for nothing that costs money: what is left out may be a limit.
    pub fn load_readable(environment: &Environment, current_dir: &Path) -> Result<Self, Failure> {
        let mut unread = Vec::new();
        let settings = Self::load_parts(environment, current_dir, &[], &mut |failure| {
            unread.push(failure);
            Ok(())
        })?;
        Ok(Self { unread, ..settings })
    }

    /// The path of the user's own file, which may not exist; `None` without a home folder.
    pub fn user_file_in(environment: &Environment, current_dir: &Path) -> Option<PathBuf> {
        file::user_path(environment, current_dir)
    }

    fn load_parts(
        environment: &Environment,
        current_dir: &Path,
        overrides: &[(&str, String)],
        on_mistake: OnMistake<'_>,
    ) -> Result<Self, Failure> {
        let flags = Layer::of_flags(overrides)?;
        let variables = or_default(environment.layer(), on_mistake)?;
        let user_source = or_default(file::user(environment, current_dir), on_mistake)?;
        let project_source = or_default(file::project(environment, current_dir), on_mistake)?;

        let read = |source: &Option<file::Source>, owner| match source {
            Some(source) => Document::read(source, owner),
            None => Ok(Document::default()),
        };
        let user = or_default(read(&user_source, FileOwner::User), on_mistake)?;
        let own = Layer::defaults().under(&user.layer);
        let without_project = own.clone().under(&variables).under(&flags);
        let limits = UserLimits::new(&own, &without_project, &user);
        let project = or_default(read(&project_source, FileOwner::Project(&limits)), on_mistake)?;

        let mut layer = own.under(&project.layer).under(&variables).under(&flags);
        make_absolute(&mut layer, environment, current_dir);
        let settings = Self::of_documents(&layer, environment, current_dir, [user, project])?;
        Ok(Self {
            user_file: user_source.map(|source| source.path),
            project_file: project_source.map(|source| source.path),
            ..settings
        })
    }
}

/// The part, or an empty one in place of one that cannot be read.
fn or_default<T: Default>(read: Result<T, Failure>, on_mistake: OnMistake<'_>) -> Result<T, Failure> {
    read.or_else(|failure| on_mistake(failure).map(|()| T::default()))
}
