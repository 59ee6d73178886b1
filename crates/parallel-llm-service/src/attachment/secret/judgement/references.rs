//! Tells what stands for a secret and is none: a reference to another place, a published example, an encrypted or a public
//! value.
//!
//! What always holds: a value that a machine made is no reference by its words alone.

use super::words::reads_like_words;

/// Beginnings of references to a store of secrets, to a file or to a variable, in lower case.
const STORES: &[&str] = &[
    "vault:",
    "bao:",
    "ssm:",
    "awsssm:",
    "aws-ssm:",
    "arn:",
    "secretsmanager:",
    "aws-secrets:",
    "gcp:",
    "gcpsm:",
    "gsm:",
    "sm:",
    "azure:",
    "akv:",
    "keyvault:",
    "key-vault:",
    "@microsoft.keyvault",
    "kms:",
    "awskms:",
    "op:",
    "doppler:",
    "infisical:",
    "bitwarden:",
    "env:",
    "env.",
    "file:",
    "ref:",
    "ref+",
    "secretref:",
    "secret:",
    "secrets.",
    "keyring:",
    "keychain:",
    "pass:show",
    "sops:",
    "enc:",
    "cipher:",
    "kubernetes:",
    "k8s:",
    "consul:",
    "config:",
    "process.env",
    "os.environ",
    "import.meta.env",
];

/// Heads of values that are meant for everyone, such as publishable keys.
const PUBLIC_HEADS: &[&str] = &[
    "pk.",
    "pk_live_",
    "pk_test_",
    "pk-lf-",
    "pub_",
    "sb_publishable_",
    "phc_",
    "rzp_test_",
    "ssh-rsa",
    "ssh-ed25519",
];

/// Heads of digests.
const DIGESTS: &[&str] =
    &["sha1:", "sha256:", "sha384:", "sha512:", "md5:", "blake3:", "sha1-", "sha256-", "sha384-", "sha512-"];

/// Parts of keys, passwords and tokens that manuals and standards print, in lower case and without their heads, so that no
/// scanner takes this file for a key.
const PUBLISHED: &[&str] = &[
    // The payloads in the pages of signed tokens: `{"sub":"1234567890"`, `{"iss":"joe"`, `{"iss":"supabase-demo"`.
    "eyjzdwiioiixmjm0nty3odkwii",
    "eyjpc3mioijqb2uilaokicjleh",
    "eyjpc3mioijzdxbhymfzzs1kzw1v",
    "sflkxwrjsmekkf2qt4fwpmejf36pok6yjv_adqssw5c",
    // The accounts of the emulators of Azure.
    "eby8vdm02xnocqflquwjpllmetlcdxj1ouzft50usrz6ifsufq2uvercz4i6tq",
    "c2y6ydjf5/r+ob0n8a7cgv30vrdjiwehlm+4qdu5de2nq9ndu",
    // The examples of Amazon, Stripe, GitHub and Google.
    "iosfodnn7",
    "i44qh8dhb",
    "4ec39hqlyjwdarjtt1zdp7dc",
    "bqokikjovbii2hlwgh4olfq2",
    "16c7e42f292c6912e7710c838347ae178b4a",
    "1b4a2e77838347a7e420ce178f2e7c6912e16924",
    "sydagmwka4jsxz-hjgw7isln_3nambgewqe",
    // Those of the standards of OAuth, of Basic authorization and of one-time passwords.
    "2yotnfzfejr1zcsicmwpaa",
    "tgzv3jokf0xg5qx2tlkwia",
    "czzcagrsa3f0mzpnwdfmqmf0m2jw",
    "gx1fbat3bv",
    "splxlobezqqybys6wxsbia",
    "mf_9.b5f-4.1jqm",
    "qwxhzgrpbjpvcgvuihnlc2ft",
    "jbswy3dpehpk3pxp",
    // The first account of test chains.
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
];

/// Ends of the names of a page's files, which bundlers give with a digest: `token.c33c4d06684a.js`.
const FILES: &[&str] = &[".js", ".mjs", ".css", ".map", ".svg", ".png", ".woff2"];

/// The shortest digest in such a name, in digits.
const DIGEST_DIGITS_MIN: usize = 8;

/// The shortest encrypted value, in bytes.
const SEALED_BYTES_MIN: usize = 40;
/// The longest address of an account or of memory after `0x`, in digits. A key has 64.
const ADDRESS_DIGITS_MAX: usize = 40;

/// Whether a text holds a published example.
pub(super) fn is_published(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PUBLISHED.iter().any(|part| lower.contains(part))
}

/// Whether a value is the name of a file with a digest: `token.c33c4d06684a.js`.
fn is_bundled(lower: &str) -> bool {
    let bare = FILES.iter().find_map(|file| lower.strip_suffix(file));
    bare.and_then(|bare| bare.rsplit_once(['.', '-'])).is_some_and(|(name, digest)| {
        let is_digest =
            digest.len() >= DIGEST_DIGITS_MIN && digest.bytes().all(|one| one.is_ascii_hexdigit());
        is_digest && reads_like_words(name)
    })
}

/// Whether a value refers to another place, or is public, encrypted or a digest.
pub(crate) fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let begins = |known: &[&str]| known.iter().any(|head| lower.starts_with(head));
    if is_bundled(&lower) {
        return true;
    }
    begins(STORES)
        || begins(DIGESTS)
        || PUBLIC_HEADS.iter().any(|head| value.starts_with(head))
        || is_marked(value)
        || is_path_of_names(value)
        || is_address(value)
        || is_sealed(value)
}

/// `@keystore.pass@`, `__NAME__`, `#{Name}#`, `%{name}`.
fn is_marked(value: &str) -> bool {
    ["@", "__", "#", "%"]
        .iter()
        .any(|mark| value.len() > 2 * mark.len() && value.starts_with(mark) && value.ends_with(mark))
}

/// `prod/db/password~true`, `projects/123/secrets/db/versions/latest`.
fn is_path_of_names(value: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_.~#:".contains(&it))
    };
    let is_number = |part: &str| part.bytes().all(|it| it.is_ascii_digit());
    let is_name = |part: &str| {
        let stem = part.trim_end_matches(|it: char| it.is_ascii_digit());
        is_number(part) || (part.len() - stem.len() <= 4 && !stem.contains(|it: char| it.is_ascii_digit()))
    };
    value.matches('/').count() >= 2
        && value
            .split('/')
            .all(|part| is_part(part) && part.split(['-', '_', '.', '~', '#', ':']).all(is_name))
        && reads_like_words(value)
}

/// `0xA0b8...`, the address of an account or of memory.
fn is_address(value: &str) -> bool {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    digits.is_some_and(|digits| {
        digits.len() <= ADDRESS_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// A value that was encrypted for a cluster begins with the length of its key.
fn is_sealed(value: &str) -> bool {
    value.len() >= SEALED_BYTES_MIN && ["AgA", "AgB", "AgC", "AgD"].iter().any(|head| value.starts_with(head))
}
