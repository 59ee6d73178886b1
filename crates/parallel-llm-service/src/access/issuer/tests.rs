//! Tokens of an issuer: valid ones, and every known kind of forged or unsuitable one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::*;
use crate::access::Scope;

const ISSUER: &str = "https://id.example/tenant";
const AUDIENCE: &str = "https://ask.example/mcp";

fn terms() -> IssuerSettings {
    IssuerSettings {
        address: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        budget_day: None,
        requests_per_minute: Some(60),
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A signer with a new key of each kind.
struct Signer {
    ed: Ed25519KeyPair,
    p256: EcdsaKeyPair,
}

impl Signer {
    fn new() -> Self {
        let chance = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&chance).unwrap();
        let rule = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let p256 = EcdsaKeyPair::generate_pkcs8(rule, &chance).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            p256: EcdsaKeyPair::from_pkcs8(rule, p256.as_ref(), &chance).unwrap(),
        }
    }

    fn keys(&self) -> Value {
        let point = self.p256.public_key().as_ref();
        json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": encode(self.ed.public_key())},
            {"kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "x": encode(&point[1..33]), "y": encode(&point[33..])},
            {"kty": "oct", "kid": "secret", "k": "AAAA"}, {"no": "key"}, 7,
        ]})
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = if header["alg"] == "ES256" {
            self.p256.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
        } else {
            self.ed.sign(signed.as_bytes()).as_ref().to_vec()
        };
        format!("{signed}.{}", encode(signature))
    }
}

/// An issuer with these documents, and the number of requests for its keys.
fn issuer(keys: Value) -> (Arc<Issuer>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let read: ReadDocument = Box::new(move |address| {
        let missing = Failure::new(Code::Upstream, "404");
        let document = match address.as_str() {
            "https://id.example/.well-known/oauth-authorization-server/tenant" => {
                Ok(json!("<!doctype html>"))
            }
            "https://id.example/.well-known/openid-configuration/tenant" => {
                Ok(json!({"issuer": ISSUER, "jwks_uri": "https://id.example/keys", "else": []}))
            }
            "https://id.example/keys" => {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(keys.clone())
            }
            _ => Err(missing),
        };
        async move { document.map(|document| document.to_string().into_bytes()) }.boxed()
    });
    (Issuer::new(terms(), read), asked)
}

fn claims() -> Value {
    let now = clock::unix_ms() / 1000;
    json!({"iss": ISSUER, "sub": "ada", "aud": AUDIENCE, "exp": now + 300, "iat": now, "scope": "openid read ask"})
}

async fn described(issuer: &Arc<Issuer>, token: &str) -> String {
    match issuer.check(token).await {
        Ok(grant) => format!("{} {:?}", grant.name, grant.scopes),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

#[tokio::test]
async fn a_token_of_each_kind_of_key_is_taken_and_the_keys_are_fetched_once() {
    let signer = Signer::new();
    let (issuer, asked) = issuer(signer.keys());
    for header in [
        json!({"alg": "EdDSA", "kid": "ed", "typ": "at+jwt"}),
        json!({"alg": "ES256", "kid": "ec", "typ": "JWT"}),
        json!({"alg": "ES256"}),
    ] {
        let token = signer.sign(&header, &claims());
        assert_eq!(described(&issuer, &token).await, format!("{ISSUER}#ada [Ask, Read]"), "{header}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let grant = issuer.check(&signer.sign(&json!({"alg": "EdDSA"}), &claims())).await.unwrap();
    assert_eq!((grant.requests_per_minute, grant.scopes), (Some(60), vec![Scope::Ask, Scope::Read]));
}

#[tokio::test]
async fn a_token_with_a_wrong_claim_is_refused() {
    let signer = Signer::new();
    let (issuer, _) = issuer(signer.keys());
    let changed = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        signer.sign(&json!({"alg": "EdDSA", "kid": "ed"}), &claims)
    };
    let now = clock::unix_ms() / 1000;
    let over = "token_refused: the token is refused: it has expired";
    let unread = "token_refused: the token is refused: its claims cannot be read";
    let elsewhere = "token_refused: the token is refused: it is for another server";
    let nobody = "token_refused: the token is refused: its subject is empty or too long";
    for (name, value, expected) in [
        ("iss", json!("https://id.example"), "token_refused: the token is refused: another issuer issued it"),
        ("aud", json!("https://ask.example"), elsewhere),
        ("aud", json!([]), elsewhere),
        ("aud", json!(null), unread),
        ("exp", json!(now - 61), over),
        ("exp", json!("9999999999"), unread),
        ("exp", json!(null), unread),
        ("nbf", json!(now + 120), "token_refused: the token is refused: it is not valid yet"),
        ("nbf", json!("0"), unread),
        ("sub", json!(" "), nobody),
        ("sub", json!("a".repeat(256)), nobody),
    ] {
        assert_eq!(described(&issuer, &changed(name, value.clone())).await, expected, "{name} {value}");
    }
    for (name, value, expected) in [
        ("aud", json!(["https://else.example", AUDIENCE]), "[Ask, Read]"),
        ("exp", json!(now - 30), "[Ask, Read]"),
        ("scope", json!("openid"), "[]"),
        ("scope", json!(["read"]), "[Read]"),
    ] {
        let result = described(&issuer, &changed(name, value.clone())).await;
        assert_eq!(result, format!("{ISSUER}#ada {expected}"), "{name} {value}");
    }
}

#[tokio::test]
async fn signatures_that_are_none() {
    let signer = Signer::new();
    let (issuer, _) = issuer(signer.keys());
    let whole = signer.sign(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    let (signed, signature) = whole.rsplit_once('.').unwrap();
    let (header, payload) = signed.split_once('.').unwrap();
    let unsigned = |alg: &str| format!("{}.{payload}.", encode(json!({"alg": alg}).to_string()));
    let stranger = Signer::new().sign(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    let mut other = claims();
    other["sub"] = "eve".into();
    let untrusted = "its signature algorithm is not accepted";
    let unsigned_by = "no key of the issuer has signed it";
    let with = |header: Value| signer.sign(&header, &claims());
    for (token, expected) in [
        (unsigned("none"), untrusted),
        (unsigned("None"), untrusted),
        (unsigned("HS256"), untrusted),
        (unsigned("RS1"), untrusted),
        (unsigned("EdDSA"), unsigned_by),
        (unsigned("ES256"), unsigned_by),
        (stranger, unsigned_by),
        (format!("{header}.{}.{signature}", encode(other.to_string())), unsigned_by),
        (format!("{signed}.{}", &signature[..signature.len() - 2]), unsigned_by),
        (format!("{signed}.{signature}="), "it is not Base64"),
        (format!("{header}.{payload}"), "it is not a signed token"),
        (with(json!({"alg": "EdDSA", "kid": "ec"})), unsigned_by),
        (with(json!({"alg": "EdDSA", "kid": "nobody"})), unsigned_by),
        (
            with(json!({"alg": "EdDSA", "crit": ["exp"]})),
            "it requires an extension that is not supported here",
        ),
        (with(json!({"alg": "EdDSA", "typ": "logout+jwt"})), "it is not an access token"),
        (format!("{whole}{}", "a".repeat(20_000)), "it is too long"),
    ] {
        let result = described(&issuer, &token).await;
        assert_eq!(result, format!("token_refused: the token is refused: {expected}"), "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_cannot_make_us_ask_for_keys_all_the_time() {
    let signer = Signer::new();
    let (issuer, asked) = issuer(signer.keys());
    let unknown = signer.sign(&json!({"alg": "EdDSA", "kid": "nobody"}), &claims());
    for _ in 0..100 {
        assert!(issuer.check(&unknown).await.is_err());
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    tokio::time::advance(REFETCH_AFTER).await;
    assert!(issuer.check(&unknown).await.is_err());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let known = signer.sign(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    tokio::time::advance(KEYS_FRESH / 2).await;
    assert!(issuer.check(&known).await.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// An issuer whose keys take a second, and which does not answer once `is_unreachable` is set.
fn slow_issuer(keys: Value, is_unreachable: Arc<AtomicBool>) -> (Arc<Issuer>, Arc<AtomicUsize>) {
    let (inner, asked) = issuer(keys);
    let read: ReadDocument = Box::new(move |address| {
        let (inner, is_unreachable) = (Arc::clone(&inner), Arc::clone(&is_unreachable));
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let document = (inner.read)(address).await;
            if is_unreachable.load(Ordering::Relaxed) {
                Err(Failure::new(Code::Connection, "gone"))
            } else {
                document
            }
        }
        .boxed()
    });
    (Issuer::new(terms(), read), asked)
}

#[tokio::test(start_paused = true)]
async fn keys_are_refreshed_in_the_background_and_expire() {
    let signer = Signer::new();
    let is_unreachable = Arc::new(AtomicBool::new(false));
    let (issuer, asked) = slow_issuer(signer.keys(), Arc::clone(&is_unreachable));
    let token = signer.sign(&json!({"alg": "EdDSA", "kid": "ed"}), &claims());
    assert!(issuer.check(&token).await.is_ok());
    // After a minute, the request in the background has ended.
    let patience = || tokio::time::sleep(Duration::from_secs(60));
    let checked_at_once = async || {
        let begun = Instant::now();
        let checked = issuer.check(&token).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "it waited for keys that are known");
        checked
    };
    for round in 1..4 {
        tokio::time::sleep(KEYS_FRESH).await;
        for _ in 0..10 {
            assert!(checked_at_once().await.is_ok());
        }
        patience().await;
        assert_eq!(asked.load(Ordering::Relaxed), 1 + round, "one task asks for all of them");
    }
    is_unreachable.store(true, Ordering::Relaxed);
    tokio::time::sleep(KEYS_FRESH + Duration::from_secs(57 * 60)).await;
    assert!(checked_at_once().await.is_ok());
    patience().await;
    assert!(checked_at_once().await.is_ok(), "an issuer that is unreachable for a while locks nobody out");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(issuer.check(&token).await.unwrap_err().code, Code::Connection);
}

#[tokio::test]
async fn an_issuer_that_cannot_be_read_is_no_fault_of_the_token() {
    let signer = Signer::new();
    let token = signer.sign(&json!({"alg": "EdDSA"}), &claims());
    let unreachable = Issuer::new(
        terms(),
        Box::new(|_| async { Err(Failure::new(Code::Connection, "it cannot be reached")) }.boxed()),
    );
    assert_eq!(described(&unreachable, &token).await, "connection: it cannot be reached");
    let other =
        json!({"issuer": "https://else.example", "jwks_uri": "https://else.example/keys"}).to_string();
    let other = Issuer::new(
        terms(),
        Box::new(move |_| {
            let other = other.clone().into_bytes();
            async move { Ok(other) }.boxed()
        }),
    );
    let result = described(&other, &token).await;
    assert_eq!(
        result,
        format!("settings_invalid: `{ISSUER}` calls itself another issuer: `https://else.example`")
    );
}

#[test]
fn metadata_is_at_the_addresses_of_both_standards() {
    assert_eq!(
        addresses("https://id.example/a/b/"),
        [
            "https://id.example/.well-known/oauth-authorization-server/a/b",
            "https://id.example/.well-known/openid-configuration/a/b",
            "https://id.example/a/b/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        addresses("https://id.example")[0],
        "https://id.example/.well-known/oauth-authorization-server"
    );
}

/// The example of RFC 7515, appendix A.2.
#[test]
fn the_example_of_the_standard_is_verified() {
    let token = concat!(
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.",
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4",
        "BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqv",
        "hJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    );
    let keys = json!({"keys": [{"kty": "RSA", "e": "AQAB", "n": concat!(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOW",
        "vG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9k",
        "G4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    )}]});
    let keys = key::read_all(keys.to_string().as_bytes()).unwrap();
    let jws = Jws::read(token).unwrap();
    assert!(keys[0].fits(&jws) && keys[0].verify(&jws));
    let changed = token.replacen("cC4h", "cC4i", 1);
    assert!(!keys[0].verify(&Jws::read(&changed).unwrap()));
}
