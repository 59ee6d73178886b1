//! The folders from which a calling model may attach files, and how a file in them is opened.
//!
//! Nothing is allowed unless the user allows it by the setting `attach_roots`. Invariants: a path is absolute, and lies in a
//! root as it is written; it is opened folder by folder from the root, and no link on the way is followed, so that nothing
//! outside is reached even if a folder is swapped for a link in between; hidden files are not read; and a file is a regular
//! one. Whether it holds a secret is decided by whoever reads it.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_settings::pinned_folder::OpenFolder;
use url::Url;

use super::invalid;
use super::search::{Pattern, Search};

/// How a file is named by a URI.
const FILE_SCHEME: &str = "file:";
/// The longest path in bytes, as most systems have it.
const PATH_BYTES_MAX: usize = 4_096;
/// Folders whose files the system makes up: they are not the user's, and reading one may do something.
const SYSTEM_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The folders that a user has allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots(Vec<PathBuf>);

/// A file, a folder or a pattern in a root.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The root, without links.
    root: PathBuf,
    /// The path below it: ordinary names only.
    below: PathBuf,
}

impl Roots {
    /// The folders of the setting.
    pub(crate) fn new(folders: &[PathBuf]) -> Self {
        Self(folders.to_vec())
    }

    /// Whether a model means a path. Anything else is read as data.
    pub(super) fn is_path(text: &str) -> bool {
        let has_scheme =
            text.get(..FILE_SCHEME.len()).is_some_and(|head| head.eq_ignore_ascii_case(FILE_SCHEME));
        has_scheme || Path::new(text).is_absolute()
    }

    /// The place that a path or a `file://` URI names. `shown` stands for it in messages.
    pub(super) fn place(&self, text: &str, shown: &str) -> Result<Place, Failure> {
        let refused = |why: &str| invalid(format!("{shown} is not read: {why}"));
        if self.0.is_empty() {
            let failure = refused("the user has allowed no folder to attach files from");
            return Err(
                failure.with_next([Next::Do(Advice::PutTextIntoPrompt), Next::Set("attach_roots".into())])
            );
        }
        let path = path_of(text).map_err(|why| refused(why).with_next(Advice::WriteFullPath))?;
        if path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)) {
            return Err(refused("its path has `..` or `.` in it").with_next(Advice::WriteFullPath));
        }
        let (root, below) = self.root_of(&path).ok_or_else(|| {
            let roots: Vec<String> = self.0.iter().map(|root| format!("`{}`", root.display())).collect();
            refused(&format!("it is in none of the folders that the user has allowed: {}", roots.join(", ")))
                .with_next(Advice::NameAllowedFile)
        })?;
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if below.components().any(is_hidden) {
            return Err(refused("hidden files and folders are left out").with_next(Advice::NameAllowedFile));
        }
        let root = root.map_err(|why| refused(&why).with_next(Next::Set("attach_roots".into())))?;
        Ok(Place { root, below })
    }

    /// The innermost root of a path, without links, and the path below it. A path may begin as the user wrote the root, or
    /// as the root is called without links.
    fn root_of(&self, path: &Path) -> Option<(Result<PathBuf, String>, PathBuf)> {
        let inside = self.0.iter().filter_map(|root| {
            let real = root.canonicalize();
            let names = [Some(root.as_path()), real.as_deref().ok()];
            let below = names.into_iter().flatten().find_map(|name| path.strip_prefix(name).ok())?.to_owned();
            Some((root, real, below))
        });
        let (root, real, below) = inside.min_by_key(|(.., below)| below.components().count())?;
        let real = real.map_err(|error| format!("the folder `{}` cannot be opened: {error}", root.display()));
        Some((real.and_then(checked), below))
    }
}

/// The root, unless it is one that nobody can mean.
fn checked(root: PathBuf) -> Result<PathBuf, String> {
    if root.parent().is_none() {
        return Err("`attach_roots` may not be the whole disk".to_owned());
    }
    match SYSTEM_FOLDERS.iter().find(|folder| root.starts_with(folder)) {
        Some(folder) => Err(format!("`attach_roots` may not be in `{folder}`")),
        None => Ok(root),
    }
}

/// The path in a text, or why there is none.
fn path_of(text: &str) -> Result<PathBuf, &'static str> {
    if text.len() > PATH_BYTES_MAX {
        return Err("its path is too long");
    }
    let path = if Path::new(text).is_absolute() {
        PathBuf::from(text)
    } else {
        let url = Url::parse(text).map_err(|_| "it is no `file://` URI")?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err("a `?` or `#` in a URI is written `%3F` or `%23`");
        }
        url.to_file_path().map_err(|()| "it is no `file://` URI of this machine")?
    };
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err("its path has a zero byte in it");
    }
    Ok(path)
}

impl Place {
    /// Its path without links in the root.
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// The search for this pattern; `None` if it is none, or if its folder is not there.
    pub(super) fn pattern(&self) -> Result<Option<Search>, Failure> {
        let Some((folder, pattern)) = Pattern::of(&self.below.to_string_lossy())? else { return Ok(None) };
        // The pattern `*.rs` is searched in the root itself.
        let folder = folder.strip_prefix(".").unwrap_or(&folder);
        let opened = self.open_folder(folder).ok();
        Ok(opened.map(|opened| Search::of_model(opened, self.root.join(folder), Some(pattern))))
    }

    /// The search of this folder; `None` if it is none.
    pub(super) fn search(&self) -> Option<Search> {
        let opened = self.open_folder(&self.below).ok()?;
        Some(Search::of_model(opened, self.path(), None))
    }

    /// Opens the file.
    pub(super) fn open(&self) -> io::Result<File> {
        let Some(name) = self.below.file_name() else {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        };
        self.open_folder(self.below.parent().unwrap_or(Path::new("")))?.file(name)
    }

    /// Opens a folder below the root, one step after the other.
    fn open_folder(&self, below: &Path) -> io::Result<OpenFolder> {
        let mut folder = OpenFolder::open(&self.root)?;
        for part in below.components() {
            folder = folder.folder(part.as_os_str())?;
        }
        Ok(folder)
    }
}
