//! Which names and contents are taken for secrets, and which are not.

use std::path::Path;

use super::{by_content, by_name};

/// The head and the end of a PEM block of this kind, in two pieces so that no scanner takes this file for a key.
fn pem(kind: &str) -> String {
    format!("-----{} {kind}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END {kind}-----\n", "BEGIN")
}

#[track_caller]
fn check(path: &str, content: &str, expected: Option<&str>) {
    let path = Path::new(path);
    let sign = by_name(path, content.as_bytes()).or_else(|| by_content(path, content.as_bytes()));
    assert_eq!(sign.as_deref(), expected, "{}: {content}", path.display());
}

#[test]
fn names_of_secrets_are_known_in_any_case_and_as_copies() {
    let variables = Some("by its name it holds environment variables with secrets");
    for name in [
        ".env",
        ".ENV",
        ".env.local",
        ".env.production",
        ".Env.Prod",
        ".env-ci",
        ".env_test",
        ".env~",
        ".env.bak",
        ".envrc",
        "prod.env",
        "work/.env",
        ".env.example.local",
        "/proc/self/environ",
    ] {
        check(name, "PORT=3000\n", variables);
    }
    let key = Some("by its name it holds a private key");
    for name in [
        "id_rsa",
        "ID_RSA",
        "id_ed25519",
        "id_ed25519_work",
        "id_rsa.old",
        "id_ecdsa-2020",
        "server.pem",
        "server.key",
        "Server.KEY",
        "a.p12",
        "a.pfx",
        "a.jks",
        "a.keystore",
        "a.ppk",
        "secring.gpg",
        "a.p12.bak",
    ] {
        check(name, "nothing to see", key);
    }
    let passwords = Some("by its name it holds passwords");
    for name in ["vault.kdbx", "vault.KDBX", "login.keychain-db", "/etc/shadow", "default.keyring"] {
        check(name, "nothing to see", passwords);
    }
}

#[test]
fn files_of_credentials_are_known_where_they_are_kept() {
    let credentials = Some("by its name it holds credentials");
    for name in [
        ".netrc",
        "_netrc",
        ".pgpass",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        "home/.aws/credentials",
        ".AWS/Credentials",
        ".kube/config",
        "kubeconfig",
        "prod.kubeconfig",
        ".docker/config.json",
        ".config/gcloud/application_default_credentials.json",
        "application_default_credentials.json",
        "gcloud/credentials.db",
        ".ssh/work",
        ".ssh/deploy_key",
        ".gnupg/x",
        "keyrings/login",
        ".cargo/credentials.toml",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".config/parallel-llm-mcp/keys.toml",
        ".codex/auth.json",
        ".claude/.credentials.json",
        "secrets.yaml",
        "client_secret.json",
        ".my.cnf",
    ] {
        check(name, "nothing to see", credentials);
    }
}

#[test]
fn a_secret_is_recognized_by_content_under_any_file_name() {
    for kind in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        for text in [pem(kind), format!("diff --git a/k b/k\n+{}", pem(kind).replace('\n', "\n+"))] {
            check("notes.txt", &text, Some("it holds a private key"));
        }
    }
    let both = format!("{}{}", pem("CERTIFICATE"), pem("EC PRIVATE KEY"));
    check("server.crt", &both, Some("it holds a private key"));
    check("notes.txt", "PuTTY-User-Key-File-3: ssh-ed25519\n", Some("it holds a private key"));
    check("k.txt", "# created: 2026\nAGE-SECRET-KEY-1QQQQ\n", Some("it holds a private key"));

    for text in [
        "{\"type\": \"service_account\", \"private_key\": \"MIIEvQIBADANBgkqhkiG9w0\"}",
        "{\"type\": \"authorized_user\", \"client_id\": \"a\", \"refresh_token\": \"1//0gQ4h7Kz\"}",
        "{\"installed\": {\"client_secret\": \"GOCSPX-4hJ2k1\"}}",
        "{\"auths\": {\"ghcr.io\": {\"auth\": \"dXNlcjpwYXNz\"}}}",
        "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    client-key-data: LS0tLS1CRUdJ\n",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: aHVudGVyMg==\n",
        "machine api.example.org login me password hunter2\n",
        "machine api.example.org\n  login me\n  password hunter2\n",
        "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=npm_0a1B2c3D4e5F\n",
    ] {
        check("notes.txt", text, Some("it holds credentials"));
    }
    for text in [
        "db.example.org:5432:*:me:hunter2\n",
        "https://me:ghp_0a1B2c3D4e5F@github.com\n",
        "me:$apr1$x0$7h2k\nyou:$2y$05$abc\n",
        "root:$6$salt$hash:19000:0:99999:7:::\n",
    ] {
        check("notes.txt", text, Some("it holds passwords"));
    }
    for text in [
        "# keys\nOPENAI_API_KEY=sk-proj-0a1B2c3D4e5F6g7H\nPORT=3000\n",
        "export OPENROUTER_API_KEY='sk-or-v1-0123456789abcdef0123'\n",
        "DB_HOST=db\nDB_PASSWORD=hunter2\n",
        "DATABASE_URL=postgres://app:hunter2@db/app\n",
        "[default]\naws_access_key_id = AKIAQ3EGRTYU7PLK2MNB\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfi\n",
        "[pypi]\nusername = __token__\npassword = pypi-AgEIcHlwaS5v\n",
        "accessToken=\"0a1B2c3D4e5F6g7H\"\n",
    ] {
        check("notes.txt", text, Some("it holds variables with secrets"));
    }
    check(
        ".env.example",
        "OPENAI_API_KEY=sk-proj-0a1B2c3D4e5F6g7H\n",
        Some("it holds variables with secrets"),
    );
    check(
        "copy.toml",
        "# Written by `parallel-llm-mcp keys`. Nobody else may read it.\n\n[providers]\nopenai = \"x\"\n",
        Some("it holds kept keys of providers"),
    );
}

#[test]
fn a_text_that_only_resembles_a_secret_passes() {
    for (name, content) in [
        (
            "environment.md",
            "# Environment\n\nSet `API_KEY=...` before you start. The password is asked for.\n",
        ),
        ("keyboard.txt", "qwerty\n"),
        ("monkey.key.md", "about keys"),
        (".env.example", "OPENAI_API_KEY=your-key-here\nDB_PASSWORD=postgres\n"),
        (".env.sample", "OPENAI_API_KEY=\n"),
        (".env.local.template", "OPENAI_API_KEY=<key>\n"),
        ("example.env", "TOKEN=changeme\n"),
        ("id_rsa.pub", "ssh-rsa AAAAB3NzaC1yc2E me@home\n"),
        (".ssh/id_ed25519.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1 me@home\n"),
        (".ssh/config", "Host a\n  IdentityFile ~/.ssh/id_rsa\n"),
        ("id_rsa_notes.md.pub", "x"),
        ("identity.rs", "fn main() {}\n"),
        (".npmrc", "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"),
        ("token.rs", "const MAX_TOKENS: u32 = 4096;\nfn token() -> String { String::new() }\n"),
        ("config.toml", "max_tokens = 400\nkey_variable = \"MY_API_KEY\"\nsynthesizer = \"openai/gpt\"\n"),
        ("settings.ini", "[db]\nhost = db\nport = 5432\npassword_file = /run/secrets/db\n"),
        ("package.json", "{\"name\": \"a\", \"dependencies\": {\"refresh_token\": {}}}"),
        ("schema.json", "{\"properties\": {\"client_secret\": {\"type\": \"string\"}}}"),
        ("deploy.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 2\n"),
        ("log.txt", "10:20:30:40:50 seen\n"),
        ("main.py", "password = os.environ[\"DB_PASSWORD\"]\ntoken = get_token()\n"),
        ("guide.md", "Clone https://user:password@host and go on.\n\nThen build it.\n"),
        ("config.json", "{\"auths\": {}}"),
        ("environ", "nothing"),
    ] {
        check(name, content, None);
    }
    for name in ["server.crt", "fullchain.pem", "ca.pem", "public.key", "key.pub.pem"] {
        check(name, &pem("CERTIFICATE"), None);
        check(name, &format!("{}{}", pem("CERTIFICATE"), pem("PUBLIC KEY")), None);
    }
    check(".docker/config.json", "{\"auths\": {}, \"credHelpers\": {\"a\": \"b\"}}", None);
}

#[cfg(unix)]
#[test]
fn a_link_is_judged_by_where_it_leads_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join(".env");
    std::fs::write(&secret, "PORT=1\n").unwrap();
    let link = folder.path().join("notes.txt");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let variables = Some("by its name it holds environment variables with secrets");
    check(link.to_str().unwrap(), "PORT=1\n", variables);
}
