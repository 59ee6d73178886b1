//! What every page has around its content.

use parallel_llm_service::Principal;

use super::assets;

/// The frame of a page.
pub(crate) struct Layout {
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) links: Vec<Link>,
    /// Who is signed in; `None` without a session.
    pub(crate) signed_in_as: Option<String>,
    /// The token of this session's forms.
    pub(crate) form_token: String,
}

/// A page in the navigation.
pub(crate) struct Link {
    pub(crate) href: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_current: bool,
}

/// The pages of the navigation: path and name.
const PAGES: [(&str, &str); 3] = [("/ask", "Ask"), ("/runs", "Runs"), ("/models", "Models")];

impl Layout {
    /// The frame for a visitor of this path.
    pub(crate) fn new(path: &str, signed_in: Option<&Principal>, form_token: String) -> Self {
        let is_below =
            |href: &str| path.strip_prefix(href).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let link = |(href, name)| Link { href, name, is_current: is_below(href) };
        let name = |principal: &Principal| principal.name().unwrap_or("owner").to_owned();
        Self {
            style: &assets::STYLE.path,
            script: &assets::SCRIPT.path,
            icon: &assets::ICON.path,
            links: PAGES.map(link).into(),
            signed_in_as: signed_in.map(name),
            form_token,
        }
    }
}
