//! Which door a path belongs to, and what that door lets browsers do there.
//!
//! Invariant: a path belongs to the door with the longest path of its own at or above it. So a door of pages at `/` has every
//! path but those of other doors, and a path without a door has the strictest terms.

use parallel_llm_engine::Failure;

use super::door::Door;

/// The terms of all doors.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The longest path first.
    terms: Vec<Terms>,
}

/// What browsers may do at the paths of one door.
#[derive(Debug)]
pub(crate) struct Terms {
    path: &'static str,
    open_paths: Vec<&'static str>,
    kept_forms: Vec<&'static str>,
    /// The page where a browser signs in. Sessions count only at a door that has one.
    pub(super) sign_in: Option<&'static str>,
    /// Whether posts may be forms.
    pub(crate) forms: bool,
    /// Whether its clients send a key even where none is wanted.
    pub(crate) foreign_keys: bool,
    /// The body of a refusal in the door's own shape.
    pub(crate) refusal: Option<fn(&Failure) -> String>,
    /// Whether the path is served while the server is stopping.
    pub(crate) stays: bool,
}

impl Paths {
    /// The paths of these doors.
    pub(crate) fn new(doors: &[Door]) -> Self {
        let of_door = |door: &Door| {
            let (sign_in, forms, stays) = (door.sign_in, door.forms, door.stays);
            let (open_paths, kept_forms) = (door.open_paths.clone(), door.kept_forms.clone());
            let (foreign_keys, refusal) = (door.foreign_keys, door.refusal);
            let paths: Vec<&'static str> = door.path.into_iter().chain(door.beside.iter().copied()).collect();
            let terms = move |path| Terms {
                path,
                open_paths: open_paths.clone(),
                kept_forms: kept_forms.clone(),
                sign_in,
                forms,
                foreign_keys,
                refusal,
                stays,
            };
            paths.into_iter().map(terms)
        };
        let mut terms: Vec<Terms> = doors.iter().flat_map(of_door).collect();
        terms.sort_by_key(|terms| std::cmp::Reverse(terms.path.len()));
        Self { terms }
    }

    /// The terms at a path; `None` if it belongs to no door.
    pub(crate) fn at(&self, path: &str) -> Option<&Terms> {
        self.terms.iter().find(|terms| {
            let below = path.strip_prefix(terms.path.trim_end_matches('/'));
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        })
    }

    /// The sign-in page for a path, if its door has one.
    pub(crate) fn sign_in(&self, path: &str) -> Option<&'static str> {
        self.at(path)?.sign_in
    }

    /// Whether the form that is posted to a path reaches its route when the session has ended.
    pub(crate) fn keeps_form(&self, path: &str) -> bool {
        self.at(path).is_some_and(|terms| terms.kept_forms.contains(&path))
    }

    /// Whether a path is served to everyone. The sign-in page always is.
    pub(crate) fn is_open(&self, path: &str) -> bool {
        self.at(path).is_some_and(|terms| {
            terms.sign_in == Some(path) || terms.open_paths.iter().any(|open| covers(open, path))
        })
    }
}

/// Whether an open path is this path, or a folder above it. The root alone is no folder, for it would open everything.
fn covers(open: &str, path: &str) -> bool {
    open == path || (open.len() > 1 && open.ends_with('/') && path.starts_with(open))
}

#[cfg(test)]
mod tests {
    use axum::Router;

    use super::*;

    fn paths() -> Paths {
        let pages = Door {
            path: Some("/"),
            open_paths: vec!["/", "/about", "/assets/"],
            sign_in: Some("/sign-in"),
            forms: true,
            ..Door::from(Router::new())
        };
        let protocol = Door { path: Some("/mcp"), ..Door::from(Router::new()) };
        let beside = Door {
            beside: vec!["/health", "/figures"],
            open_paths: vec!["/health"],
            ..Door::from(Router::new())
        };
        Paths::new(&[pages, protocol, beside, Door::from(Router::new())])
    }

    #[test]
    fn a_path_belongs_to_the_nearest_door() {
        for (path, forms) in [
            ("/", true),
            ("/mcp", false),
            ("/mcp/", false),
            ("/mcp/a", false),
            ("/health", false),
            ("/figures", false),
            ("/figures2", true),
            ("/mcp2", true),
            ("//mcp", true),
            ("/%6dcp", true),
        ] {
            let paths = paths();
            let terms = paths.at(path).unwrap();
            assert_eq!((terms.forms, terms.sign_in.is_some()), (forms, forms), "{path}");
        }
        let alone = Paths::new(&[Door { path: Some("/mcp"), ..Door::from(Router::new()) }]);
        assert!(alone.at("/").is_none() && alone.at("/mcpx").is_none() && alone.at("*").is_none());
    }

    #[test]
    fn open_paths_are_exact_or_folders() {
        let open = |path| paths().is_open(path);
        for path in ["/", "/about", "/sign-in", "/assets/", "/assets/page.css", "/assets/a/b", "/health"] {
            assert!(open(path), "{path}");
        }
        let closed = ["/about/", "/about2", "/assets", "/sign-in/", "/sign-in/x", "//", "/runs", "/mcp"];
        for path in closed.into_iter().chain(["/health/", "/health/x", "/figures"]) {
            assert!(!open(path), "{path}");
        }
    }
}
