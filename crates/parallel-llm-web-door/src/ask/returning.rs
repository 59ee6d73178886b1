//! Signing in from the page that carries a question, and coming back to its form.

use std::sync::Arc;

use axum::extract::{Multipart, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::status;
use parallel_llm_service::redacted;

use super::fields::Fields;
use super::page::typed_before;
use super::signed_out;
use crate::Web;
use crate::visit::Visit;

/// Where the sign-in page with a question sends its form.
pub(crate) const SIGN_IN: &str = "/ask/sign-in";
/// The length of a link's code, in hexadecimal digits.
const CODE_CHARS: usize = 64;

/// Signs in, and shows the form as it was typed. Without a token or a link, the browser has signed in elsewhere.
pub(crate) async fn sign_in(
    State(web): State<Arc<Web>>,
    visit: Result<Visit, Response>,
    form: Multipart,
) -> Response {
    let fields = match Fields::read(form).await {
        Ok(fields) => fields,
        Err(failure) => return signed_out::unread(failure),
    };
    match (&web.sessions, fields.credential.as_str(), visit) {
        (_, "", Ok(visit)) => typed_before(&visit, fields).await,
        (None, _, _) | (_, "", Err(_)) => {
            let failure = Failure::new(Code::TokenRefused, "this browser is not signed in yet");
            signed_out::page(&fields, StatusCode::UNAUTHORIZED, Some(&failure))
        }
        (Some(sessions), credential, _) => {
            let begun = match code(credential) {
                Some(code) => sessions.redeem(code).await,
                None => sessions.sign_in(credential.to_owned()).await,
            };
            match begun {
                Ok(begun) => {
                    let visit = Visit::of(&web, "/ask".to_owned(), begun.principal, Some(begun.session));
                    let mut response = typed_before(&visit.await, fields).await;
                    response.headers_mut().insert(header::SET_COOKIE, begun.set_cookie);
                    response
                }
                Err(failure) => signed_out::page(&fields, status::of(failure.code), Some(&redacted(failure))),
            }
        }
    }
}

/// The code of a link that was pasted, whole or its code alone.
fn code(credential: &str) -> Option<&str> {
    let code = credential.split_once("code=").map_or(credential, |(_, rest)| rest);
    let code = code.split('&').next().unwrap_or_default();
    let is_code = code.len() == CODE_CHARS && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_whole_or_as_its_code() {
        let digits = "0a".repeat(32);
        for link in [
            digits.clone(),
            format!("http://127.0.0.1:8930/sign-in?code={digits}"),
            format!("https://llm.example.com/sign-in?code={digits}&to=%2Fruns"),
        ] {
            assert_eq!(code(&link), Some(digits.as_str()), "{link}");
        }
        for other in ["plm_4eC39HqLyjWDarjtT1zdp7dc", "", "code=", &digits[1..]] {
            assert_eq!(code(other), None, "{other}");
        }
    }
}
