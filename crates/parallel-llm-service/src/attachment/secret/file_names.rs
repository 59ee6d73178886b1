//! Detects secrets by the name of a file, of its folder and of its link's target.
//!
//! A name is compared in lower case, without the endings of copies. If a name has both secret and public files, the content decides.

use std::path::Path;

use super::formats::programs::{holds_docker_login, holds_npm_token};
use super::keys::pem;

/// Endings of copies of a file.
const COPIES: &[&str] = &["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".swp", ".tmp"];
/// Words in the names of templates of environment files.
const TEMPLATES: &[&str] = &["example", "sample", "template"];

/// Prefixes of the names of SSH private keys.
const SSH_KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

/// Names of secrets in any folder.
const NAMES: &[(&str, &str)] = &[
    (".netrc", CREDENTIALS),
    ("_netrc", CREDENTIALS),
    (".authinfo", CREDENTIALS),
    (".pgpass", CREDENTIALS),
    ("pgpass.conf", CREDENTIALS),
    (".my.cnf", CREDENTIALS),
    (".mylogin.cnf", CREDENTIALS),
    (".pypirc", CREDENTIALS),
    (".git-credentials", CREDENTIALS),
    (".htpasswd", CREDENTIALS),
    ("htpasswd", CREDENTIALS),
    (".dockercfg", CREDENTIALS),
    (".s3cfg", CREDENTIALS),
    (".boto", CREDENTIALS),
    (".passwd-s3fs", CREDENTIALS),
    ("rclone.conf", CREDENTIALS),
    (".vault-token", CREDENTIALS),
    (".terraformrc", CREDENTIALS),
    ("credentials.tfrc.json", CREDENTIALS),
    ("kubeconfig", CREDENTIALS),
    ("application_default_credentials.json", CREDENTIALS),
    ("credentials.json", CREDENTIALS),
    (".credentials.json", CREDENTIALS),
    ("client_secret.json", CREDENTIALS),
    ("service-account.json", CREDENTIALS),
    ("service_account.json", CREDENTIALS),
    ("secrets.json", CREDENTIALS),
    ("secrets.toml", CREDENTIALS),
    ("secrets.yaml", CREDENTIALS),
    ("secrets.yml", CREDENTIALS),
    ("shadow", PASSWORDS),
    ("gshadow", PASSWORDS),
    ("secring.gpg", PRIVATE_KEY),
    ("key4.db", PASSWORDS),
    ("logins.json", PASSWORDS),
    ("login data", PASSWORDS),
    ("wallet.dat", PRIVATE_KEY),
];

/// Endings of secrets, with the dot.
const ENDINGS: &[(&str, &str)] = &[
    (".p12", PRIVATE_KEY),
    (".pfx", PRIVATE_KEY),
    (".pkcs12", PRIVATE_KEY),
    (".p8", PRIVATE_KEY),
    (".ppk", PRIVATE_KEY),
    (".jks", PRIVATE_KEY),
    (".jceks", PRIVATE_KEY),
    (".keystore", PRIVATE_KEY),
    (".keytab", PRIVATE_KEY),
    (".agekey", PRIVATE_KEY),
    (".kdb", PASSWORDS),
    (".kdbx", PASSWORDS),
    (".psafe3", PASSWORDS),
    (".keyring", PASSWORDS),
    (".keychain", PASSWORDS),
    (".keychain-db", PASSWORDS),
    (".kubeconfig", CREDENTIALS),
];

/// The ending of an SSH public key.
const PUBLIC: &str = ".pub";

/// Endings of both secret and public files; the content decides.
const MIXED_ENDINGS: &[&str] = &[".pem", ".key"];

/// Folders of credentials: either only these names are secrets, or all but these. A hidden folder has none but its owner's
/// files, at any depth; a folder of another name may be one of sources, and counts for the files directly in it.
const FOLDERS: &[(&str, Inside)] = &[
    (".ssh", Inside::AllBut(&["config", "known_hosts", "known_hosts.old", "authorized_keys"])),
    (".gnupg", Inside::AllBut(&["gpg.conf", "gpg-agent.conf", "dirmngr.conf", "pubring.kbx", "pubring.gpg"])),
    ("private-keys-v1.d", Inside::AllBut(&[])),
    (".password-store", Inside::AllBut(&[])),
    ("keyrings", Inside::AllBut(&[])),
    (".aws", Inside::Only(&["credentials"])),
    (".kube", Inside::Only(&["config"])),
    ("gcloud", Inside::Only(&["credentials.db", "access_tokens.db"])),
    (
        ".azure",
        Inside::Only(&["accesstokens.json", "msal_token_cache.json", "service_principal_entries.json"]),
    ),
    (".cargo", Inside::Only(&["credentials", "credentials.toml"])),
    (".gem", Inside::Only(&["credentials"])),
    ("git", Inside::Only(&["credentials"])),
    ("gh", Inside::Only(&["hosts.yml"])),
    (".m2", Inside::Only(&["settings-security.xml"])),
    (".composer", Inside::Only(&["auth.json"])),
    ("composer", Inside::Only(&["auth.json"])),
    (".codex", Inside::Only(&["auth.json"])),
    ("containers", Inside::Only(&["auth.json"])),
    ("parallel-llm-mcp", Inside::Only(&["keys.toml"])),
];

const PRIVATE_KEY: &str = "a private key";
const CREDENTIALS: &str = "credentials";
const PASSWORDS: &str = "passwords";
const VARIABLES: &str = "environment variables with secrets";

/// Which names in a folder are secrets.
enum Inside {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// What a file seems to hold by its name or its link target; `None` if nothing secret.
pub(in super::super) fn by_name(path: &Path, bytes: &[u8]) -> Option<String> {
    let target = path.canonicalize().ok();
    let found = std::iter::once(path).chain(target.as_deref()).find_map(|path| name_sign(path, bytes));
    found.map(|what| format!("by its name it holds {what}"))
}

pub(super) fn name_sign(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    let name = original_name(path);
    if name.is_empty() {
        return None;
    }
    let is_public = name.ends_with(PUBLIC);
    if is_environment(&name) {
        return Some(VARIABLES);
    }
    if path.starts_with("/proc") && name == "environ" {
        return Some(VARIABLES);
    }
    if !is_public && is_ssh_key(&name) {
        return Some(PRIVATE_KEY);
    }
    let exact = NAMES.iter().find(|(known, _)| *known == name);
    let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    if let Some((_, what)) = exact.or(ending) {
        return Some(what);
    }
    let above = path.parent().into_iter().flat_map(Path::ancestors).filter_map(Path::file_name);
    let mut above = above.map(|name| name.to_string_lossy().to_lowercase()).enumerate();
    let is_near = |(index, folder): &(usize, String)| *index == 0 || folder.starts_with('.');
    if !is_public && above.any(|it| is_near(&it) && is_inside(&it.1, &name, bytes)) {
        return Some(CREDENTIALS);
    }
    if name == ".npmrc" && holds_npm_token(bytes) {
        return Some(CREDENTIALS);
    }
    if MIXED_ENDINGS.iter().any(|ending| name.ends_with(ending)) && !pem::is_public(bytes) {
        return Some(PRIVATE_KEY);
    }
    None
}

/// The file's name in lower case, without the endings of copies.
fn original_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut name = name.trim();
    while let Some(shorter) = COPIES.iter().find_map(|ending| name.strip_suffix(ending)) {
        name = shorter;
    }
    name.to_owned()
}

/// `.env`, `.env.production`, `.env-ci`, `prod.env` and `.envrc`, but no template of one.
fn is_environment(name: &str) -> bool {
    let Some(variant) = name.strip_prefix(".env") else {
        return name.strip_suffix(".env").is_some_and(|stem| !is_template(stem));
    };
    let is_variant = variant.is_empty() || variant == "rc" || variant.starts_with(['.', '-', '_']);
    is_variant && !is_template(variant)
}

/// Whether the name of an environment file marks it as a template.
pub(super) fn is_template(name: &str) -> bool {
    name.rsplit(['.', '-', '_']).next().is_some_and(|last| TEMPLATES.contains(&last))
}

/// `id_rsa`, `id_ed25519_work`, `id_ecdsa.2020`, but no longer word with such a prefix.
fn is_ssh_key(name: &str) -> bool {
    let rest = SSH_KEYS.iter().find_map(|key| name.strip_prefix(key));
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

fn is_inside(folder: &str, name: &str, bytes: &[u8]) -> bool {
    if folder == ".docker" && name == "config.json" {
        return holds_docker_login(bytes);
    }
    let inside = FOLDERS.iter().find(|(known, _)| *known == folder).map(|(_, inside)| inside);
    inside.is_some_and(|inside| match inside {
        Inside::Only(names) => names.contains(&name),
        Inside::AllBut(names) => !names.contains(&name),
    })
}
