//! Lines with secrets and lines that look like them, each alone, in a page, in a log and as an added line of a diff.
//!
//! `%P12%` stands for twelve letters and digits by chance, `%H%` for hexadecimal digits, `%U%` for capitals and digits, `%L%` for
//! small letters and digits, `%B%` for Base64, `%W%` for the same in addresses, and `%D%` for digits, so that no scanner takes
//! this file for a key.

use std::path::Path;

use crate::attachment::secret::{by_content, by_name};

/// Lines with a secret, one of a kind.
const SECRETS: &[&str] = &[
    // Logs, lists and prose.
    "2026-03-04T10:11:12Z INFO auth ok user=svc_report pass=%P6%9x%P4% src=10.0.0.7",
    "[debug] connecting with username 'root' and password 'Mond7-%P5%'",
    "    * password: %P4%7%P7%",
    "Passwort: Lindenblatt#%D4%",
    "The new Wi-Fi password is %P5%4%P6%, please keep it to yourself.",
    "password for the staging database is %P6%8%P4%",
    "DEBUG retry url=https://api.example.net/v2/items?limit=5&access_token=%P36%",
    "GET /login?user=ada&password=%P5%3%P5%&next=%2Fhome HTTP/1.1",
    "smtp: user=mailer, pwd=%P4%!%P3%%D3%, port=587",
    "Zugang: admin / Birke$%D4%x",
    // Code.
    "let db_password: String = \"%P6%5%P8%\".into();",
    "private static readonly string ApiSecret = \"%P32%\";",
    "self.client = Minio(\"s3.acme.io\", access_key=\"%U20%\", secret_key=\"%P40%\")",
    "val signingKey by lazy { \"%B43%=\" } // secretKey = \"%P32%\"",
    "conn.setPassword(\"%P5%!%P6%%D2%\");",
    "const pool = new Pool({ user: 'app', password: '%P7%6%P5%', max: 4 });",
    "secret = os.environ.get(\"JWT_SECRET\", \"%P40%\")",
    "$dbPassword = getenv('DB_PASSWORD') ?: '%P6%2%P8%';",
    "smtp.authenticate(\"noreply@acme.io\", \"%P5%7%P8%\")",
    "const token = jwt.sign({ sub: id }, '%P32%', { expiresIn: '1h' });",
    "mac = hmac.new(b\"%H64%\", body, hashlib.sha256)",
    "var apiKey string = \"%P32%\"",
    "#define WIFI_PASSWORD \"Tannen_%D4%zapfen\"",
    "char auth_token[] = \"%H40%\";",
    "System.setProperty(\"javax.net.ssl.keyStorePassword\", \"%P4%5%P6%\");",
    // Settings.
    "spring.redis.password=%P5%8%P7%",
    "SECRET_KEY_BASE=%H128%",
    "STRIPE_KEY: \"sk_%%live_%P32%\"",
    "  DATADOG_API_KEY: %H32%",
    "CLIENT_SECRET=%H8%-%H4%-4%H3%-a%H3%-%H12%",
    "registryToken: %H8%-%H4%-4%H3%-b%H3%-%H12%",
    "<entry key=\"db.password\" value=\"%P4%9%P6%\"/>",
    "<Password>%P4%2%P7%</Password>",
    "psk=\"Apfel_Kuchen_%D4%\"",
    "requirepass %P10%4%P12%",
    "ENV JWT_SECRET=%P40%",
    // Records and tables.
    "machine git.acme.io login ada password %P16%",
    "db.acme.io:5432:shop:app:%P6%4%P9%",
    "deploy:$apr1$%P8%$%P22%",
    "root:$6$%P16%$%P86%:19700:0:99999:7:::",
    "| host | user | password |\n|---|---|---|\n| db1 | root | %P5%4%P7% |",
    "name,email,password\nada,ada@acme.io,%P5%1%P7%",
    // Commands.
    "mysql -u root -p%P5%6%P6% shop",
    "curl -u deploy:%P5%1%P8% https://repo.acme.io/upload",
    "sqlcmd -S db1 -U sa -P %P5%7%P7%",
    "echo \"deploy:%P5%3%P6%\" | chpasswd",
    "openssl enc -d -aes-256-cbc -in a.enc -pass pass:%P6%3%P6%",
    "sshpass -p '%P5%8%P5%' ssh root@10.1.1.1",
    "net use z: \\\\srv\\share /user:acme\\tom %P5%6%P7%",
    "New-LocalUser -Name svc -Password (ConvertTo-SecureString \"%P5%8%P6%\" -AsPlainText -Force)",
    "zip -P %P5%3%P6% out.zip report.csv",
    "mysqladmin -u root password \"%P5%!%P6%%D2%\"",
    "gpg --batch --passphrase \"%P6%5%P7%\" -d a.gpg",
    "helm install shop --set auth.rootPassword=%P6%5%P5%",
    // Statements and headers.
    "ALTER USER app IDENTIFIED BY \"%P6%4%P5%x2\";",
    "INSERT INTO users (name, password) VALUES ('ada', '%P5%7%P6%9x');",
    "spring.mail.password=%L4% %L4% %L4% %L4%",
    "define('AUTH_KEY', '%P20%>}%P20%[8h?%P12%');",
    "req.Header.Set(\"X-API-Key\", \"%P32%\")",
    "{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"%W43%\", \"d\": \"%W43%\"}",
    "accounts: [\"0x%H64%\"],",
    // Tokens by their shape.
    "gh%%p_%P36%",
    "github_%%pat_%P22%_%P59%",
    "glp%%at-%W20%",
    "xo%%xb-%D12%-%D13%-%P24%",
    "AK%%IA%U16%",
    "h%%f_%P34%",
    "sk-%%ant-api03-%W93%AA",
    "sk-%%proj-%W74%",
    "https://hooks.slack.com/services/T%U9%/B%U9%/%P24%",
    "https://api.telegram.org/bot%D10%:AA%W33%/sendMessage",
    "S%%G.%W22%.%W43%",
    "A%%Iza%W35%",
    "np%%m_%P36%",
    "do%%p_v1_%H64%",
    "shp%%at_%H32%",
    "https://acme.blob.core.windows.net/a?sv=2026-01-01&sp=r&sig=%P42%%%3D",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=a&X-Amz-Signature=%H64%",
    "postgres://app:%P14%@db.acme.io:5432/shop",
    "redis://:%P20%@cache.acme.io:6379/0",
    "Authorization: Bearer %P40%",
    "Cookie: theme=dark; JSESSIONID=%H32%",
    "AccountKey=%B86%==;EndpointSuffix=core.windows.net",
];

/// Lines that look like those.
const HARMLESS: &[&str] = &[
    // References.
    "password = random_password.main.result",
    "db_password: vault:kv/data/shop#password",
    "secret_arn: arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-AbC123",
    "token: projects/4711/secrets/ci-token/versions/3",
    "password: op://Private/db/password",
    "apiKey: '{{ .Values.global.apiKey }}'",
    "password=@db.password@",
    "API_KEY=%API_KEY%%",
    "password: !Ref DatabasePassword",
    "password = data.vault_generic_secret.db.data[\"password\"]",
    "secretKeyRef: {name: shop-db, key: password}",
    "token: ${{ secrets.DEPLOY_TOKEN_2 }}",
    "client_secret = settings.OIDC_CLIENT_SECRET",
    "AUTH_TOKEN=$(aws ssm get-parameter --name /shop/token)",
    // Names that describe.
    "token_ttl = 3600s",
    "API_KEY_PREFIX=acme_v2_live",
    "password_hash = bcrypt(password, rounds=12)",
    "passwordEncoder = new BCryptPasswordEncoder(12)",
    "PASSWORD_POLICY=min12-upper-digit",
    "tokenContract: 0x%H40%",
    "secret_name: shop-db-credentials-2026",
    "auth_url: https://id.acme.io/oauth2/v1/authorize",
    "access_token_lifetime: 15m30s",
    "PASSWORD_RESET_TIMEOUT_DAYS = 3",
    "max_tokens: 4096, stop_token: 128009",
    "primary_key = \"order_id_2026\"",
    "sort_key = \"pk#2026#eu\"",
    "csrf_token=%H32%",
    "nextPageToken: %P40%",
    "idempotency-key: %H8%-%H4%-4%H3%-a%H3%-%H12%",
    "public_key = \"%B43%=\"",
    // Headers and examples.
    "if line.startswith(\"-----BEGIN RSA PRIVATE KEY-----\"):",
    "The file begins with -----BEGIN OPENSSH PRIVATE KEY----- and ends alike.",
    "-----BEGIN PRIVATE KEY-----\n<paste your key here>\n-----END PRIVATE KEY-----",
    "AWS_ACCESS_KEY_ID=AKIA%%IOSFODNN7EXAMPLE",
    "curl -H \"Authorization: Bearer <token>\" https://api.acme.io",
    "curl -H \"Authorization: Bearer $TOKEN\" https://api.acme.io",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
    "OPENAI_API_KEY=sk-...",
    "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "password: changeme123",
    "POSTGRES_PASSWORD: postgres",
    "MYSQL_ROOT_PASSWORD=root",
    "- MINIO_ROOT_PASSWORD=minioadmin",
    "postgres://postgres:postgres@localhost:5432/test",
    "password = \"P@ssw0rd\"",
    "login(\"ada\", \"wrong-password\")",
    "session_id=run-2026-03-04-a",
    "access: read / Write2Disk",
    "TURNSTILE_SECRET_KEY=1x0000000000000000000000000000000AA",
    "token: abcdefghijklmnop",
    "STRIPE_PUBLISHABLE_KEY=pk_%%test_%P24%",
    "DB_PASSWORD=${DB_PASSWORD:-postgres}",
    "docker run -e POSTGRES_PASSWORD=mysecretpassword postgres:16",
    // Hashes, names by chance and code.
    "@Column(name = \"password_hash\", length = 60)",
    "private String passwordEncoderId = \"bcrypt-v2\";",
    "fn is_password(kind: TokenKind2) -> bool { kind == TokenKind2::Password }",
    "enum Kind {\n    Password, Secret,\n    Unknown1, Unknown2x,\n}",
    "sha256: %H64%",
    "commit %H40%",
    "\"integrity\": \"sha512-%B86%==\"",
    "ETag: \"%H32%\"",
    "request_id=%H8%-%H4%-4%H3%-a%H3%-%H12% token refreshed",
    "if password.len() < 12 { return Err(Weak); }",
    "const password = document.getElementById(\"password2\").value;",
    "token = self.tokens[i + 1]",
    "let token = Token::new(TokenKind::Ident2, span);",
    "expect(form.password).toBe(\"\");",
    "fn set_password(&mut self, password: &str, salt: [u8; 16])",
    "password: z.string().min(8).max(72),",
    "- **password**: the password of the user, at least 8 characters",
    "| password | string | yes | The password, 8 to 64 characters |",
    "user, password\nthe user, and how he proves it",
    "key: deps-v2-%H16%",
    "INFO password changed for user 4711 at 2026-03-04T10:11:12Z",
    "password=[FILTERED] token=******",
    "Set-Cookie: lang=en; Path=/; HttpOnly",
    "docker login -u \"$USER\" --password-stdin < token.txt",
    "mysql -u root -p\"$MYSQL_PASSWORD\" shop",
    "Passwort vergessen? Hier klicken.",
    "self.assertEqual(user.token_type, \"bearer\")",
    "tokenizer = AutoTokenizer.from_pretrained(\"google-bert/bert-base-uncased\")",
];

/// Makes letters by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn letter(&mut self, letters: &[u8]) -> char {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[(self.0 >> 33) as usize % letters.len()])
    }

    /// The line with what its marks stand for; `%%` is nothing, and a mark of another kind is left as it is.
    fn fill(&mut self, line: &str) -> String {
        let (mut filled, mut rest) = (String::new(), line);
        while let Some((before, after)) = rest.split_once('%') {
            filled.push_str(before);
            let (mark, next) = after.split_once('%').unwrap_or(("", ""));
            let (kind, count) = mark.split_at_checked(1).unwrap_or_default();
            let letters: &[u8] = match kind {
                "P" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "H" => b"0123456789abcdef",
                "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                "L" => b"abcdefghijklmnopqrstuvwxyz0123456789",
                "B" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                "W" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                "D" => b"0123456789",
                _ => b"",
            };
            match count.parse::<usize>() {
                Ok(count) if !letters.is_empty() => {
                    filled.extend((0..count).map(|_| self.letter(letters)));
                    rest = next;
                }
                _ if after.starts_with('%') => rest = &after[1..],
                _ => {
                    filled.push('%');
                    rest = after;
                }
            }
        }
        filled + rest
    }
}

/// The line where people have it: alone, in a page, in a log, and added by a diff.
fn places(line: &str) -> [(&'static str, String); 4] {
    let added = format!("+{}\n", line.replace('\n', "\n+"));
    [
        ("", format!("{line}\n")),
        (
            "notes.md",
            format!(
                "# Monday\n\nThe nightly job stops after four minutes. This is what I ran:\n\n{line}\n\nThen it printed 200.\n"
            ),
        ),
        (
            "app.log",
            format!("2026-03-04 INFO worker 1 started\n{line}\n2026-03-04 INFO worker 1 done in 12 ms\n"),
        ),
        (
            "",
            format!(
                "diff --git a/src/app.txt b/src/app.txt\n--- a/src/app.txt\n+++ b/src/app.txt\n@@ -1,2 +1,3 @@\n first\n{added} last\n"
            ),
        ),
    ]
}

/// Series of keys: what is found must not depend on their letters.
const SERIES: u64 = 6;

#[test]
fn of_each_hundred_lines_with_a_secret_ninety_are_found_and_of_each_hundred_others_two_at_most() {
    let taken = |lines: &[&'static str]| {
        let mut all = Vec::new();
        for series in 0..SERIES {
            let mut chance = Chance(series * 104_729 + 7);
            for line in lines {
                for (name, text) in places(&chance.fill(line)) {
                    let path = Path::new(name);
                    let sign = by_name(path, text.as_bytes()).or_else(|| by_content(path, text.as_bytes()));
                    all.push((*line, sign.is_some()));
                }
            }
        }
        all
    };
    let (secrets, harmless) = (taken(SECRETS), taken(HARMLESS));
    let missed: Vec<_> = secrets.iter().filter(|(_, found)| !found).map(|it| it.0).collect();
    let wrong: Vec<_> = harmless.iter().filter(|(_, found)| *found).map(|it| it.0).collect();
    assert!(
        missed.len() * 10 <= secrets.len(),
        "of {}, {} are missed: {missed:#?}",
        secrets.len(),
        missed.len()
    );
    assert!(
        wrong.len() * 50 <= harmless.len(),
        "of {}, {} are taken for one: {wrong:#?}",
        harmless.len(),
        wrong.len()
    );
}
