//! The protected resource (RFC 9728), which informs clients without a token who issues tokens, and the challenges (RFC 6750)
//! in refusals for lack of a token or of a scope.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use serde_json::json;
use url::Url;

use parallel_llm_service::Scope;

/// The well-known prefix of the description's path.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// How every challenge begins.
const REALM: &str = r#"Bearer realm="parallel-llm-mcp""#;

/// The resource that an issuer's tokens are for: this server, under its public URL.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The path of its description.
    path: String,
    /// The URL of its description.
    address: String,
    description: String,
}

impl Resource {
    /// The server under `identifier`, a URL without query and fragment.
    pub fn new(identifier: &str, issuer: &str) -> Result<Self, Failure> {
        let misread = || {
            let message = format!("`issuer_audience` cannot be the address of this server: `{identifier}`");
            Failure::new(Code::SettingsInvalid, message)
                .with_next(Next::WriteAs("https://llm.example.com/mcp".into()))
        };
        let url = Url::parse(identifier).map_err(|_| misread())?;
        if url.host().is_none() || url.query().is_some() || url.fragment().is_some() {
            return Err(misread());
        }
        let path = format!("{WELL_KNOWN}{}", url.path().trim_end_matches('/'));
        let address = format!("{}{path}", url.origin().ascii_serialization());
        let description = json!({
            "resource": identifier,
            "resource_name": "Parallel LLM",
            "authorization_servers": [issuer],
            "scopes_supported": Scope::USUAL.map(Scope::word),
            "bearer_methods_supported": ["header"],
        });
        Ok(Self { path, address, description: description.to_string() })
    }

    /// The description, if the request asks for it. Only this is served without a token.
    pub(super) fn answer(&self, request: &Request) -> Option<Response> {
        let path = request.uri().path();
        if request.method() != Method::GET || (path != self.path && path != WELL_KNOWN) {
            return None;
        }
        let mut response = Response::new(self.description.clone().into());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Some(response)
    }
}

/// What a request lacks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lack<'a> {
    /// A token.
    Token,
    /// A token that is accepted.
    ValidToken,
    /// A token with this scope.
    Scope(&'a str),
}

/// The challenge in a refusal, with the scope to ask an issuer for.
pub(super) fn challenge(lack: Lack<'_>, resource: Option<&Resource>) -> HeaderValue {
    let error = match lack {
        // A request without a token gets no error code.
        Lack::Token => "",
        Lack::ValidToken => r#", error="invalid_token""#,
        Lack::Scope(_) => r#", error="insufficient_scope""#,
    };
    let scope = match lack {
        Lack::Token | Lack::ValidToken => Scope::USUAL.map(Scope::word).join(" "),
        Lack::Scope(scope) => scope.to_owned(),
    };
    let metadata = resource.map(|resource| format!(r#", resource_metadata="{}""#, resource.address));
    let text = format!(r#"{REALM}{error}, scope="{scope}"{}"#, metadata.unwrap_or_default());
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(REALM))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(identifier: &str) -> Result<(String, String), Code> {
        let resource = Resource::new(identifier, "https://id.example").map_err(|failure| failure.code)?;
        let challenge = challenge(Lack::Token, Some(&resource));
        Ok((resource.path, challenge.to_str().unwrap().to_owned()))
    }

    #[test]
    fn a_challenge_says_what_is_lacking_and_which_scope_to_ask_for() {
        let said = |lack| challenge(lack, None).to_str().unwrap().to_owned();
        assert_eq!(said(Lack::Token), r#"Bearer realm="parallel-llm-mcp", scope="ask read""#);
        let invalid = r#"Bearer realm="parallel-llm-mcp", error="invalid_token", scope="ask read""#;
        assert_eq!(said(Lack::ValidToken), invalid);
        let narrow = r#"Bearer realm="parallel-llm-mcp", error="insufficient_scope", scope="metrics""#;
        assert_eq!(said(Lack::Scope("metrics")), narrow);
    }

    #[test]
    fn the_metadata_address_precedes_the_path() {
        let challenge = |address| {
            format!(r#"Bearer realm="parallel-llm-mcp", scope="ask read", resource_metadata="{address}""#)
        };
        for (identifier, path, address) in [
            (
                "https://ask.example:8443/a/mcp",
                "/.well-known/oauth-protected-resource/a/mcp",
                "https://ask.example:8443/.well-known/oauth-protected-resource/a/mcp",
            ),
            (
                "https://ask.example",
                "/.well-known/oauth-protected-resource",
                "https://ask.example/.well-known/oauth-protected-resource",
            ),
        ] {
            assert_eq!(described(identifier), Ok((path.to_owned(), challenge(address))));
        }
        for wrong in
            ["", "ask.example", "mailto:a@b.example", "https://a.example/mcp?x", "https://a.example#x"]
        {
            assert_eq!(described(wrong), Err(Code::SettingsInvalid), "{wrong}");
        }
    }
}
