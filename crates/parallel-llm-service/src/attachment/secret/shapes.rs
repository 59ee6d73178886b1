//! Tokens of well-known services, known by their shape wherever they stand: in code, logs, diffs and documents.
//!
//! A service gives its tokens a head so that they can be found. What always holds: a token begins where a word begins and
//! ends where it ends, so a piece of Base64 is none; a placeholder, a sequence or words are none; and reading takes linear
//! time.

use std::sync::LazyLock;

use super::randomness::{is_made_up, is_varied, looks_made_by_machine};

/// The letters of a token after its head.
#[derive(Clone, Copy)]
enum Letters {
    /// Digits and `a` to `f`.
    Hex,
    /// Capitals and digits.
    Capitals,
    /// Letters and digits.
    Plain,
    /// The same, `-` and `_`.
    Words,
    /// The same and `.`.
    Dotted,
}

impl Letters {
    const fn hold(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Capitals => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        }
    }
}

/// A head, the letters after it, and their least and greatest number.
type Shape = (&'static str, Letters, usize, usize);

/// No upper limit.
const ANY: usize = 4096;

/// The shapes, as the services document them. A token that may be public, such as a publishable key, is not among them.
const SHAPES: &[Shape] = &[
    // Models.
    ("sk-proj-", Letters::Words, 40, ANY),
    ("sk-svcacct-", Letters::Words, 40, ANY),
    ("sk-admin-", Letters::Words, 40, ANY),
    ("sk-ant-", Letters::Words, 24, ANY),
    ("sk-or-v1-", Letters::Hex, 32, ANY),
    ("sk-lf-", Letters::Words, 30, ANY),
    ("sk-", Letters::Plain, 20, ANY),
    ("lsv2_pt_", Letters::Words, 32, ANY),
    ("lsv2_sk_", Letters::Words, 32, ANY),
    ("hf_", Letters::Plain, 30, 40),
    ("gsk_", Letters::Plain, 40, ANY),
    ("xai-", Letters::Plain, 40, ANY),
    ("pplx-", Letters::Plain, 32, ANY),
    ("nvapi-", Letters::Words, 40, ANY),
    ("r8_", Letters::Plain, 37, 40),
    ("tgp_v1_", Letters::Words, 40, ANY),
    ("fw_", Letters::Plain, 24, 30),
    ("plm_", Letters::Plain, 30, ANY),
    ("AIza", Letters::Words, 35, 35),
    ("ya29.", Letters::Words, 30, ANY),
    ("GOCSPX-", Letters::Words, 24, 32),
    ("1//0", Letters::Words, 30, ANY),
    // Code and packages.
    ("ghp_", Letters::Plain, 30, 255),
    ("gho_", Letters::Plain, 30, 255),
    ("ghu_", Letters::Plain, 30, 255),
    ("ghs_", Letters::Plain, 30, 255),
    ("ghr_", Letters::Plain, 30, 255),
    ("github_pat_", Letters::Words, 40, 255),
    ("glpat-", Letters::Dotted, 20, ANY),
    ("gldt-", Letters::Words, 20, ANY),
    ("glrt-", Letters::Words, 20, ANY),
    ("glcbt-", Letters::Words, 20, ANY),
    ("glptt-", Letters::Words, 20, ANY),
    ("ATBB", Letters::Plain, 28, 40),
    ("npm_", Letters::Plain, 36, 40),
    ("pypi-AgE", Letters::Words, 50, ANY),
    ("rubygems_", Letters::Hex, 48, 48),
    ("cio", Letters::Plain, 32, 32),
    ("CLOJARS_", Letters::Hex, 60, 60),
    ("dckr_pat_", Letters::Words, 24, ANY),
    ("AKCp", Letters::Plain, 60, 80),
    ("CCIPAT_", Letters::Words, 40, ANY),
    ("bkua_", Letters::Hex, 40, 40),
    ("sgp_", Letters::Words, 40, ANY),
    ("PMAK-", Letters::Words, 50, 70),
    // Clouds.
    ("AKIA", Letters::Capitals, 16, 16),
    ("ASIA", Letters::Capitals, 16, 16),
    ("ABIA", Letters::Capitals, 16, 16),
    ("ACCA", Letters::Capitals, 16, 16),
    ("ABSK", Letters::Plain, 100, ANY),
    ("LTAI", Letters::Plain, 16, 26),
    ("AKID", Letters::Plain, 32, 36),
    ("dop_v1_", Letters::Hex, 64, 64),
    ("doo_v1_", Letters::Hex, 64, 64),
    ("dor_v1_", Letters::Hex, 64, 64),
    ("dapi", Letters::Hex, 32, 32),
    ("HRKU-", Letters::Words, 36, ANY),
    ("FlyV1 fm", Letters::Words, 40, ANY),
    ("fo1_", Letters::Words, 40, ANY),
    ("nfp_", Letters::Plain, 36, 40),
    ("sbp_", Letters::Hex, 40, 40),
    ("sb_secret_", Letters::Words, 28, ANY),
    ("pscale_tkn_", Letters::Dotted, 32, ANY),
    ("pscale_pw_", Letters::Dotted, 32, ANY),
    ("pul-", Letters::Hex, 40, 40),
    ("hvs.", Letters::Words, 24, ANY),
    ("hvb.", Letters::Words, 24, ANY),
    ("tskey-", Letters::Words, 24, ANY),
    ("dp.pt.", Letters::Plain, 40, ANY),
    ("dp.st.", Letters::Dotted, 40, ANY),
    ("ops_eyJ", Letters::Words, 100, ANY),
    // Services.
    ("xoxb-", Letters::Words, 24, ANY),
    ("xoxp-", Letters::Words, 24, ANY),
    ("xoxa-", Letters::Words, 24, ANY),
    ("xoxe-", Letters::Words, 24, ANY),
    ("xoxe.xox", Letters::Words, 24, ANY),
    ("xoxs-", Letters::Words, 24, ANY),
    ("xapp-", Letters::Words, 30, ANY),
    ("sk_live_", Letters::Plain, 20, ANY),
    ("sk_test_", Letters::Plain, 20, ANY),
    ("rk_live_", Letters::Plain, 20, ANY),
    ("rk_test_", Letters::Plain, 20, ANY),
    ("whsec_", Letters::Plain, 24, ANY),
    ("sq0csp-", Letters::Words, 40, 48),
    ("SG.", Letters::Dotted, 50, 80),
    ("key-", Letters::Hex, 32, 32),
    ("SK", Letters::Hex, 32, 32),
    ("re_", Letters::Words, 28, 40),
    ("shpat_", Letters::Hex, 32, 32),
    ("shpss_", Letters::Hex, 32, 32),
    ("shpca_", Letters::Hex, 32, 32),
    ("shppa_", Letters::Hex, 32, 32),
    ("ATATT3", Letters::Words, 60, ANY),
    ("ATCTT3", Letters::Words, 60, ANY),
    ("lin_api_", Letters::Plain, 32, ANY),
    ("secret_", Letters::Plain, 43, 43),
    ("ntn_", Letters::Plain, 40, ANY),
    ("figd_", Letters::Words, 36, ANY),
    ("NRAK-", Letters::Capitals, 27, 27),
    ("NRII-", Letters::Words, 32, ANY),
    ("glsa_", Letters::Words, 36, ANY),
    ("glc_eyJ", Letters::Plain, 40, ANY),
    ("sntrys_", Letters::Words, 40, ANY),
    ("sntryu_", Letters::Hex, 64, 64),
    ("phx_", Letters::Plain, 36, ANY),
    ("aio_", Letters::Plain, 28, 28),
    ("CFPAT-", Letters::Words, 40, ANY),
    ("EAAC", Letters::Plain, 80, ANY),
    ("EZAK", Letters::Plain, 50, 60),
    ("sk.eyJ", Letters::Dotted, 60, ANY),
    ("AGE-SECRET-KEY-1", Letters::Capitals, 58, 58),
];

/// What surrounds a token that has no head of its own: what comes before it in the text, and its letters.
const AFTER: &[Shape] = &[
    ("hooks.slack.com/services/T", Letters::Plain, 0, ANY),
    ("discord.com/api/webhooks/", Letters::Plain, 17, 20),
    ("discordapp.com/api/webhooks/", Letters::Plain, 17, 20),
    ("webhook.office.com/webhookb2/", Letters::Words, 36, ANY),
];

/// The letters of a signature in the address of a webhook.
const WEBHOOK_SECRET_MIN: usize = 20;

/// The longest head that other words begin with, too, in bytes.
const SHORT_HEAD_BYTES: usize = 3;

/// The position of the first token of a known shape.
pub(super) fn find(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = bytes[at].is_ascii_alphanumeric() && (at == 0 || !joins(bytes, at - 1));
        if begins && is_token_at(text, at) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether this byte joins the next one to a longer word.
fn joins(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'_' | b'+' => true,
        // `\n` before a token in a string of code.
        letter if letter.is_ascii_alphanumeric() => {
            let is_escape = at > 0 && bytes[at - 1] == b'\\' && matches!(letter, b'n' | b't' | b'r');
            !is_escape
        }
        _ => false,
    }
}

fn is_token_at(text: &str, at: usize) -> bool {
    static BY_FIRST: LazyLock<[Vec<&Shape>; 128]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            SHAPES.iter().filter(|(head, ..)| usize::from(head.as_bytes()[0]) == byte).collect()
        })
    });
    let rest = &text[at..];
    let has_head = |(head, letters, min, max): &&Shape| {
        let Some(tail) = rest.strip_prefix(head) else { return false };
        let length = run(tail, *letters);
        // A dot or a dash at the end belongs to the sentence.
        let token = tail[..length].trim_end_matches(['.', '-']);
        (*min..=*max).contains(&token.len()) && is_random(token, head.len() <= SHORT_HEAD_BYTES)
    };
    let has_way = |(head, letters, min, max): &&Shape| {
        let Some(tail) = rest.strip_prefix(head) else { return false };
        let length = run(tail, *letters);
        let secret = tail[length..].trim_start_matches(['/', '@', '-']);
        let whole =
            tail[length..].split(|it: char| !it.is_ascii_alphanumeric() && !"/_-@".contains(it)).next();
        (*min..=*max).contains(&length)
            && whole.is_some_and(|whole| {
                whole.len() >= WEBHOOK_SECRET_MIN && whole.split(['/', '@']).any(looks_made_by_machine)
            })
            && !secret.is_empty()
    };
    let first = rest.bytes().next().unwrap_or_default();
    let begin_so = BY_FIRST.get(usize::from(first)).into_iter().flatten();
    begin_so.copied().any(|shape| has_head(&shape))
        || AFTER.iter().any(|shape| has_way(&shape))
        || is_signed(rest)
        || is_of_bot(rest)
}

/// How many bytes at the beginning are such letters.
fn run(text: &str, letters: Letters) -> usize {
    text.bytes().take(ANY).take_while(|byte| letters.hold(*byte)).count()
}

/// Whether the letters after a head were made by a machine. Short heads begin other words, too.
fn is_random(tail: &str, is_head_short: bool) -> bool {
    let longest = tail.split(['-', '_', '.']).max_by_key(|part| part.len()).unwrap_or_default();
    !is_made_up(tail) && is_varied(longest) && (!is_head_short || looks_made_by_machine(longest))
}

/// A signed token: three parts in Base64, of which the first two begin with `{"`.
fn is_signed(rest: &str) -> bool {
    if !rest.starts_with("eyJ") {
        return false;
    }
    let token = &rest[..run(rest, Letters::Dotted)];
    let mut parts = token.trim_end_matches('.').split('.');
    let (Some(head), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    head.len() >= 12
        && payload.starts_with("eyJ")
        && !is_made_up(payload)
        && payload.len() >= 16
        && signature.len() >= 20
        && looks_made_by_machine(signature)
        && !is_made_up(signature)
}

/// The token of a bot: `123456789:AA...` at Telegram, three parts beginning with `M`, `N` or `O` at Discord.
fn is_of_bot(rest: &str) -> bool {
    let digits = rest.bytes().take(11).take_while(u8::is_ascii_digit).count();
    if (8..=10).contains(&digits)
        && let Some(tail) = rest[digits..].strip_prefix(":A")
    {
        return run(tail, Letters::Words) == 34 && is_random(&tail[..34], true);
    }
    if !rest.starts_with(['M', 'N', 'O']) {
        return false;
    }
    let mut parts = rest[..run(rest, Letters::Dotted)].split('.');
    let lengths = [parts.next(), parts.next(), parts.next()].map(|part| part.map_or(0, str::len));
    parts.next().is_none()
        && matches!(lengths, [23..=28, 6, 27..=38])
        && rest.split('.').next().is_some_and(looks_made_by_machine)
}
