//! The tokens that HTTP accepts.

use crate::access::TokenState;
use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;

/// The check of the database reports why it cannot be read.
pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let Ok(tokens) = doctor.access.list_tokens().await else { return Vec::new() };
    let active = tokens.iter().filter(|token| token.state == TokenState::Active).count();
    let over = tokens.len() - active;
    let own = match (active, over) {
        (0, 0) => "no token was made".to_owned(),
        (active, 0) => format!("{active} in force"),
        (active, over) => format!("{active} in force, {over} revoked or over"),
    };
    let issuer =
        doctor.settings.issuer.as_ref().map(|issuer| format!("; those of {} are taken", issuer.address));
    vec![Finding::ok(format!("over HTTP: {own}{}", issuer.unwrap_or_default()))]
}
