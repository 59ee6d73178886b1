//! The shapes of tokens, as the services document them: heads, letters and lengths.
//!
//! What always holds: a token that may be public, such as a publishable key, is not among them.

/// The letters of a token after its head.
#[derive(Clone, Copy)]
pub(super) enum Letters {
    /// Digits.
    Digits,
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
    /// Base64 of either kind.
    Base64,
    /// A value in an address, with its escapes.
    Query,
    /// What is between two texts in code: quotes, blanks and a comma or a colon.
    Between,
}

impl Letters {
    pub(super) const fn hold(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Capitals => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'=' | b',')
            }
            Self::Query => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%' | b'~'),
            Self::Between => matches!(byte, b'"' | b'\'' | b'`' | b' ' | b',' | b':'),
        }
    }
}

/// A head, the letters after it, and their least and greatest number.
pub(super) type Shape = (&'static str, Letters, usize, usize);

/// No upper limit: as many letters as are read.
pub(super) const ANY: usize = 512;

/// The shapes, as the services document them. A token that may be public, such as a publishable key, is not among them.
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    ("csk-", Letters::Plain, 40, ANY),
    ("pcsk_", Letters::Words, 50, ANY),
    ("tvly-", Letters::Words, 28, ANY),
    ("esecret_", Letters::Plain, 20, ANY),
    ("sk_", Letters::Hex, 48, 48),
    ("jina_", Letters::Words, 40, ANY),
    ("fc-", Letters::Hex, 32, 32),
    ("AQVN", Letters::Words, 35, 40),
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
    ("api_org_", Letters::Plain, 34, 34),
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
    ("glft-", Letters::Words, 20, ANY),
    ("glimt-", Letters::Words, 20, ANY),
    ("glagent-", Letters::Words, 40, ANY),
    ("glsoat-", Letters::Words, 20, ANY),
    ("gloas-", Letters::Words, 40, ANY),
    ("glffct-", Letters::Words, 20, ANY),
    ("GR1348941", Letters::Words, 20, 24),
    ("dckr_oat_", Letters::Words, 24, ANY),
    ("cmVmdGtuOj", Letters::Plain, 40, ANY),
    ("oy2", Letters::Plain, 43, 43),
    ("sqp_", Letters::Hex, 40, 40),
    ("squ_", Letters::Hex, 40, 40),
    ("sqa_", Letters::Hex, 40, 40),
    ("perm-", Letters::Dotted, 60, ANY),
    ("pnu_", Letters::Plain, 36, 36),
    ("rdme_", Letters::Plain, 60, 80),
    ("BBDC-", Letters::Base64, 40, 48),
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
    ("sig=", Letters::Query, 40, 160),
    ("X-Amz-Signature=", Letters::Hex, 64, 64),
    ("X-Amz-Security-Token=", Letters::Query, 100, ANY),
    ("X-Goog-Signature=", Letters::Hex, 128, ANY),
    ("v1.0-", Letters::Words, 171, 171),
    ("sdk-", Letters::Words, 36, 36),
    ("rnd_", Letters::Plain, 28, 40),
    ("napi_", Letters::Plain, 60, 70),
    ("atlasv1.", Letters::Plain, 60, 70),
    ("dp.sa.", Letters::Dotted, 40, ANY),
    ("dp.ct.", Letters::Dotted, 40, ANY),
    ("hvr.", Letters::Words, 24, ANY),
    ("pscale_oauth_", Letters::Dotted, 32, ANY),
    ("vcp_", Letters::Plain, 24, 64),
    ("LS0tLS1CRUdJTiBQUklWQVRF", Letters::Base64, 40, ANY),
    ("LS0tLS1CRUdJTiBSU0EgUFJJVkFURS", Letters::Base64, 40, ANY),
    ("LS0tLS1CRUdJTiBFQyBQUklWQVRF", Letters::Base64, 40, ANY),
    ("LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUg", Letters::Base64, 40, ANY),
    ("LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURS", Letters::Base64, 40, ANY),
    ("eyJ0eXBlIjoic2VydmljZV9hY2NvdW50", Letters::Base64, 60, ANY),
    ("eyJ0eXBlIjogInNlcnZpY2VfYWNjb3Vud", Letters::Base64, 60, ANY),
    ("ewogICJ0eXBlIjogInNlcnZpY2VfYWNjb3Vud", Letters::Base64, 60, ANY),
    ("b3BlbnNzaC1rZXktdjE", Letters::Base64, 40, ANY),
    ("MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0w", Letters::Base64, 20, ANY),
    ("MC4CAQAwBQYDK2VwBCIEI", Letters::Base64, 40, ANY),
    ("MHcCAQEEI", Letters::Base64, 100, ANY),
    ("RWRTY0Iy", Letters::Base64, 100, ANY),
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
    ("FlyV1 fm", Letters::Base64, 40, ANY),
    ("fm2_", Letters::Base64, 60, ANY),
    ("fm1r_", Letters::Base64, 60, ANY),
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
    ("xoxc-", Letters::Words, 24, ANY),
    ("xoxd-", Letters::Query, 24, ANY),
    ("xoxr-", Letters::Words, 24, ANY),
    ("EAAA", Letters::Words, 56, 68),
    ("sq0atp-", Letters::Words, 22, 24),
    ("xkeysib-", Letters::Words, 64, 90),
    ("xsmtpsib-", Letters::Words, 64, 90),
    ("sl.", Letters::Dotted, 100, ANY),
    ("oauth:", Letters::Plain, 30, 30),
    ("SSWS ", Letters::Words, 40, 44),
    ("dt0c01.", Letters::Dotted, 80, 100),
    ("dt0s16.", Letters::Dotted, 80, 100),
    ("duffel_live_", Letters::Words, 43, 43),
    ("duffel_test_", Letters::Words, 43, 43),
    ("FLWSECK-", Letters::Words, 32, 50),
    ("FLWSECK_TEST-", Letters::Words, 12, 50),
    ("shippo_live_", Letters::Hex, 40, 40),
    ("shippo_test_", Letters::Hex, 40, 40),
    ("EZTK", Letters::Plain, 50, 60),
    ("lin_oauth_", Letters::Plain, 32, ANY),
    ("tfp_", Letters::Dotted, 40, 70),
    ("pat-na1-", Letters::Words, 36, 36),
    ("pat-eu1-", Letters::Words, 36, 36),
    ("hcaik_", Letters::Plain, 50, 70),
    ("p8e-", Letters::Hex, 32, 32),
    ("ico-", Letters::Plain, 32, 32),
    ("fio-u-", Letters::Words, 60, 70),
    ("access-sandbox-", Letters::Words, 36, 36),
    ("access-production-", Letters::Words, 36, 36),
    ("access-development-", Letters::Words, 36, 36),
    ("polar_oat_", Letters::Plain, 40, 60),
    ("unkey_", Letters::Plain, 20, 40),
    ("rzp_live_", Letters::Plain, 14, 14),
    ("zpka_", Letters::Words, 40, 60),
    ("sk_prod_", Letters::Plain, 20, ANY),
    ("IGQV", Letters::Words, 80, ANY),
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
    ("whsec_", Letters::Base64, 24, ANY),
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
    ("EAA", Letters::Plain, 80, ANY),
    ("EZAK", Letters::Plain, 50, 60),
    ("sk.eyJ", Letters::Dotted, 60, ANY),
    ("AGE-SECRET-KEY-1", Letters::Capitals, 58, 58),
];

/// What surrounds a token that has no head of its own: what comes before it in the text, and its letters.
pub(super) const AFTER: &[Shape] = &[
    ("hooks.slack.com/services/T", Letters::Plain, 0, ANY),
    ("discord.com/api/webhooks/", Letters::Plain, 17, 20),
    ("discordapp.com/api/webhooks/", Letters::Plain, 17, 20),
    ("webhook.office.com/webhookb2/", Letters::Words, 36, ANY),
];

/// A part of a token that is made of several.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    Text(&'static str),
    /// Letters, and their least and greatest number.
    Run(Letters, usize, usize),
}

use Piece::{Run, Text};

/// Tokens of several parts, or with a mark that is not at their beginning.
pub(super) const PATTERNS: &[&[Piece]] = &[
    // Airtable, Mailgun, Mailchimp, Asana and Terraform.
    &[Text("pat"), Run(Letters::Plain, 14, 14), Text("."), Run(Letters::Hex, 64, 64)],
    &[Run(Letters::Hex, 32, 32), Text("-"), Run(Letters::Hex, 8, 8), Text("-"), Run(Letters::Hex, 8, 8)],
    &[Run(Letters::Hex, 32, 32), Text("-us"), Run(Letters::Digits, 1, 2)],
    &[
        Run(Letters::Digits, 1, 2),
        Text("/"),
        Run(Letters::Digits, 13, 18),
        Text("/"),
        Run(Letters::Digits, 13, 18),
        Text(":"),
        Run(Letters::Hex, 32, 32),
    ],
    &[Run(Letters::Plain, 14, 14), Text(".atlasv1."), Run(Letters::Words, 60, 70)],
    // The secret key of a vault of passwords.
    &[
        Text("A3-"),
        Run(Letters::Capitals, 6, 6),
        Text("-"),
        Run(Letters::Capitals, 6, 6),
        Text("-"),
        Run(Letters::Capitals, 5, 5),
        Text("-"),
        Run(Letters::Capitals, 5, 5),
        Text("-"),
        Run(Letters::Capitals, 5, 5),
    ],
    // The number of an account and its token, beside each other.
    &[Text("AC"), Run(Letters::Hex, 32, 32), Run(Letters::Between, 1, 6), Run(Letters::Hex, 32, 32)],
    // Private keys without the header of their file: two kinds of RSA.
    &[
        Text("MII"),
        Run(Letters::Plain, 3, 3),
        Text("IBADANBgkqhkiG9w0BAQEFAASC"),
        Run(Letters::Base64, 20, ANY),
    ],
    &[Text("MII"), Run(Letters::Base64, 3, 3), Text("IBAAKC"), Run(Letters::Base64, 40, ANY)],
    // A header of authorization, whatever the service.
    &[Text("Bearer "), Run(Letters::Query, 24, ANY)],
    &[Text("bearer "), Run(Letters::Query, 24, ANY)],
    // An address that anyone may call.
    &[
        Text("hooks.zapier.com/hooks/catch/"),
        Run(Letters::Digits, 5, 10),
        Text("/"),
        Run(Letters::Plain, 6, 10),
    ],
    // Microsoft's secrets of clients.
    &[Run(Letters::Plain, 3, 3), Text("8Q~"), Run(Letters::Query, 31, 34)],
];
