//! The doors over HTTP, a line each, and the server that they share.

use std::net::SocketAddr;
use std::sync::Arc;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Check, Config, Door, Resource, Sessions, TlsFiles};
pub use parallel_llm_openai_door::openapi;
use parallel_llm_service::{Services, Shutdown};
use parallel_llm_settings::settings::Settings;

/// The web page alone, over these services.
pub fn page(services: &Services, shutdown: &Shutdown, sessions: &Sessions) -> Door {
    parallel_llm_web_door::door(services, shutdown, Some(sessions))
}

/// Every door over these services, until the shutdown. Without `sessions` everyone is the owner.
pub fn over_http(services: &Services, shutdown: &Shutdown, sessions: Option<&Sessions>) -> Vec<Door> {
    vec![
        parallel_llm_mcp_door::door(services, shutdown),
        parallel_llm_openai_door::door(services, shutdown),
        parallel_llm_ops_door::door(services, shutdown),
        parallel_llm_web_door::door(services, shutdown, sessions),
    ]
}

/// The address of the sign-in page for people: over https, if the server or its proxy speaks it.
pub fn sign_in_page(urls: &[String], path: &str) -> String {
    let url = urls.iter().find(|url| url.starts_with("https:")).or(urls.first());
    format!("{}{path}", url.map_or("", String::as_str))
}

/// The server's configuration from the settings.
pub fn listening(settings: &Settings, address: SocketAddr, access: Access) -> Result<Config, Failure> {
    let tls = match (&settings.tls_cert, &settings.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
        }
        (None, None) => None,
        _ => {
            let failure = Failure::new(Code::SettingsInvalid, "of `tls_cert` and `tls_key` only one is set");
            return Err(failure.with_next(Advice::SetBoth));
        }
    };
    let (hosts, origins) = (settings.http_hosts.clone(), settings.http_origins.clone());
    let resource = settings.issuer.as_ref().map(|issuer| Resource::new(&issuer.audience, &issuer.address));
    let resource = resource.transpose()?;
    let behind_proxy = settings.behind_proxy;
    Ok(Config { hosts, origins, tls, behind_proxy, resource, ..Config::new(address, access) })
}

/// Finds the principal of a token.
pub fn check_of(service: &Services) -> Check {
    let service = service.clone();
    Arc::new(move |secret| {
        let service = service.clone();
        Box::pin(async move { service.access.check_token(&secret).await })
    })
}
