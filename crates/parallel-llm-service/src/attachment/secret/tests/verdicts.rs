//! Which names and contents are taken for secrets, and which are not.

use std::path::Path;

use crate::attachment::secret::{by_content, by_name};

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
        ".ssh/keys/work",
        "me/.ssh/a/b/c",
        ".gnupg/x/y",
        ".aws/sso/credentials",
        ".password-store/web/mail.gpg",
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
fn a_document_that_declares_a_secret_is_recognized() {
    for (name, text) in [
        ("a.json", r#"{"api_key": "0a1B2c3D4e5F6g7H"}"#),
        ("a.json", r#"{"user": "me", "password": "hunter2"}"#),
        ("a.json", r#"{"db": {"password": "swordfish"}}"#),
        ("a.json", r#"{"access_token": "ya29xa0ARrdaM8"}"#),
        ("a.json", r#"{"accessToken": "0a1B2c3D4e5F"}"#),
        ("a.json", r#"{"token": "0a1B2c3D4e5F"}"#),
        ("a.json", r#"{"clientSecret": "0a1B2c3D4e5F"}"#),
        ("a.json", r#"{"OPENAI_API_KEY": "sk-proj-0a1B2c3D4e5F6g7H"}"#),
        ("a.json", r#"[{"a": 1}, {"passphrase": "correct-horse"}]"#),
        ("a.json", r#"{"ConnectionStrings": {"Main": "Server=db;User Id=app;Password=hunter2;"}}"#),
        ("a.json", r#"{"url": "postgres://app:hunter2@db/app"}"#),
        ("a.jsonl", "{\"a\": 1}\n{\"password\": \"hunter2\"}\n"),
        ("a.json", "{\n  // the database\n  \"password\": \"hunter2\",\n}\n"),
        ("a.yaml", "db:\n  user: me\n  password: hunter2\n"),
        ("a.yaml", "api_key: sk-proj-0a1B2c3D4e5F6g7H\n"),
        ("hosts.yml", "github.com:\n    oauth_token: gho_0a1B2c3D4e5F6g7H\n    user: me\n"),
        ("a.yml", "- name: x\n  password: 'swordfish' # of the test\n"),
        ("notes.txt", "user: me\npassword: hunter2\n"),
        ("a.yaml", "headers:\n  Authorization: Bearer 0a1B2c3D4e5F6g7H\n"),
        (
            "accessKeys.csv",
            "Access key ID,Secret access key\nAKIAQ3EGRTYU7PLK2MNB,wJalrXUtnFEMI/K7MDENG/bPxRfi\n",
        ),
        (
            "a.csv",
            "User name,Password,Access key ID,Secret access key,Console login link\nme,,AKIAQ3EGRTYU7PLK2MNB,wJalrXUtnFEMI/K7,https://a.example\n",
        ),
        ("export.csv", "name,url,username,password\nmail,https://a.example,me,hunter2\n"),
        (
            "settings.xml",
            "<settings><servers><server><username>me</username><password>hunter2</password></server></servers></settings>",
        ),
        (
            "NuGet.Config",
            "<configuration>\n<add key=\"ClearTextPassword\" value=\"hunter2\" />\n</configuration>",
        ),
        ("web.config", "<a><add name=\"m\" connectionString=\"Data Source=db;User=sa;Pwd=hunter2\"/></a>"),
    ] {
        check(name, text, Some("it holds credentials"));
    }
    for text in [
        "sk-ant-api03-0a1B2c3D4e5F6g7H\n",
        "ghp_0a1B2c3D4e5F6g7H8i9J\n",
        "hf_0a1B2c3D4e5F6g7H8i9J",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N\n",
    ] {
        check("notes.txt", text, Some("it holds a token"));
    }
    let long = format!("PORT=1\n{}DB_PASSWORD=hunter2\n", "NAME=value\n".repeat(40_000));
    assert!(long.len() > 256 * 1024);
    assert!(by_content(Path::new("long.txt"), long.as_bytes()).is_some());
}

#[test]
fn a_document_or_a_source_that_only_names_a_secret_passes() {
    for (name, text) in [
        (
            "de.json",
            r#"{"login": {"password": "Passwort", "token": "Token", "forgot": "Passwort vergessen?"}}"#,
        ),
        ("ja.json", r#"{"password": "\u30d1\u30b9", "secret": "秘密の質問"}"#),
        ("schema.json", r#"{"password": {"type": "string", "format": "password"}, "type": "object"}"#),
        ("theme.json", r#"[{"token": "comment.line.double-slash", "foreground": "6a9955"}]"#),
        ("tokens.json", r#"{"token": "color-blue-500", "secret": "true"}"#),
        ("a.json", r#"{"password": "changeme", "api_key": "<your key>", "token": "${TOKEN}"}"#),
        (
            "a.json",
            r#"{"max_tokens": 400, "token_type": "bearer", "tokenUrl": "https://a.example/o/0a1B2c3D4e5F"}"#,
        ),
        (
            "package.json",
            r#"{"name": "password-generator", "keywords": ["password", "token"], "version": "1.0.0"}"#,
        ),
        ("package-lock.json", r#"{"integrity": "sha512-0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P=="}"#),
        ("ci.yml", "env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  password: \"{{ vault_password }}\"\n"),
        (
            "k8s.yaml",
            "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-secret\n      key: password\n",
        ),
        (
            "compose.yml",
            "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD}\n      password_file: /run/secrets/db\n",
        ),
        ("openapi.yaml", "password:\n  type: string\n  format: password\n  description: The password\n"),
        ("a.ts", "interface Login {\n  user: string;\n  password: string;\n  token?: string;\n}\n"),
        ("a.rs", "struct Login {\n    user: String,\n    password: String,\n    token: token.clone(),\n}\n"),
        ("a.py", "def login(user: str, password: str):\n    token = make(password)\n    return token\n"),
        ("a.py", "password = os.environ[\"PASSWORD\"]\nsecret = getenv(\"SECRET\")\n"),
        ("a.js", "const options = {\n  password: req.body.password,\n  token: userToken,\n};\n"),
        ("a.rb", "user:\n  password: <%= ENV['PASSWORD'] %>\n"),
        ("strings.xml", "<resources><string name=\"password\">Password</string></resources>"),
        ("login.html", "<form><input type=\"password\" name=\"password\" placeholder=\"Password\"></form>"),
        ("pom.xml", "<server><password>${env.PASSWORD}</password></server>"),
        ("rows.csv", "name,password policy\na,strict\n"),
        ("users.csv", "name,password\n"),
        ("words.txt", "sk-learn-documentation-index\n"),
        ("notes.md", "# Login\n\nThe password: ask me.\n\n- token: see the manual\n"),
        (".m2/repository/a/settings.txt", "nothing"),
        ("project/git/src/config.rs", "fn main() {}\n"),
        ("project/keyrings/src/lib.rs", "fn main() {}\n"),
    ] {
        check(name, text, None);
    }
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
