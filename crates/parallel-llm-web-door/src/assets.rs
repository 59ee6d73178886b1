//! The files that pages load: embedded, named by their content, and kept by browsers for ever.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parallel_llm_http::Policy;
use tower_http::compression::CompressionLayer;

/// Browsers keep a file for a year: a changed one has another name.
const FOR_EVER: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// The hexadecimal digits of a file's hash in its name.
const HASH_DIGITS: usize = 12;

/// The folder of all files, which are served to everyone.
pub(crate) const FOLDER: &str = "/assets/";

/// An embedded file.
pub(crate) struct Asset {
    /// Its path on the server.
    pub(crate) path: String,
    content: &'static str,
    media_type: HeaderValue,
}

/// The style of all pages.
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "css", include_str!("../assets/page.css"), "text/css; charset=utf-8")
});
/// The script of all pages.
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", include_str!("../assets/page.js"), "text/javascript; charset=utf-8")
});
/// The icon.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", include_str!("../assets/icon.svg"), "image/svg+xml"));

impl Asset {
    fn new(name: &str, extension: &str, content: &'static str, media_type: &'static str) -> Self {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let path = format!("{FOLDER}{name}-{}.{extension}", &hash[..HASH_DIGITS]);
        Self { path, content, media_type: HeaderValue::from_static(media_type) }
    }

    fn answer(&self) -> Response {
        let response = ([(header::CONTENT_TYPE, self.media_type.clone())], self.content).into_response();
        Policy::Page { content_security: NOTHING, cache: FOR_EVER }.on(response)
    }
}

/// The routes of all files.
pub(crate) fn routes() -> Router {
    let files: [&'static LazyLock<Asset>; 3] = [&STYLE, &SCRIPT, &ICON];
    let routes = files
        .into_iter()
        .fold(Router::new(), |routes, asset| routes.route(&asset.path, get(async move || asset.answer())));
    routes.layer(CompressionLayer::new())
}
