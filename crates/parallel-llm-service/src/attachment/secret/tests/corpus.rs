//! Kinds of files that hold secrets, and harmless files that look like them, counted together: found, and falsely found.
//!
//! Every key is made when the test runs, and heads are written in two pieces, so no scanner takes this file for one.

use std::path::Path;

use crate::attachment::secret::{by_content, by_name};

/// Makes keys, the same in each run.
struct Keys(u64);

impl Keys {
    fn of(&mut self, letters: &str, count: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letters[(self.0 >> 33) as usize % letters.len()]
        };
        (0..count).map(|_| next()).collect()
    }

    fn plain(&mut self, count: usize) -> String {
        self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", count)
    }

    fn hex(&mut self, count: usize) -> String {
        self.of("0123456789abcdef", count)
    }

    fn capitals(&mut self, count: usize) -> String {
        self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", count)
    }

    fn base64(&mut self, count: usize) -> String {
        self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", count)
    }

    fn github(&mut self) -> String {
        format!("gh{}_{}", "p", self.plain(36))
    }

    fn amazon(&mut self) -> String {
        format!("AK{}{}", "IA", self.capitals(16))
    }

    fn openai(&mut self) -> String {
        format!("sk-{}-{}", "proj", self.plain(60))
    }

    fn signed(&mut self) -> String {
        format!("ey{}{}.ey{}{}.{}", "J", self.plain(34), "J", self.plain(60), self.plain(43))
    }

    /// A password that is no word.
    fn password(&mut self) -> String {
        format!("{}!{}", self.plain(7), self.hex(3))
    }
}

/// A diff of one file.
fn diff(path: &str, before: &str, after: &str) -> String {
    let lines = |mark: &str, text: &str| {
        text.lines().map(|line| format!("{mark}{line}\n")).collect::<Vec<_>>().concat()
    };
    format!(
        "diff --git a/{path} b/{path}\nindex 3f1c2d4..9a8b7c6 100644\n--- a/{path}\n+++ b/{path}\n@@ -10,7 +10,8 @@ context\n import os\n{}{} \n",
        lines("-", before),
        lines("+", after)
    )
}

type Case = (&'static str, &'static str, String);

/// Changes of files that hold secrets.
fn secret_diffs(k: &mut Keys) -> Vec<Case> {
    vec![
        ("a new .env", "", diff(".env", "", "PORT=3000\nGREETING=hello\n")),
        (
            "a new .env in a folder",
            "",
            diff("deploy/prod/.env.production", "", &format!("DB_PASSWORD={}\n", k.password())),
        ),
        (
            "a key in code",
            "",
            diff("src/client.py", "api_key = None", &format!("api_key = \"{}\"", k.openai())),
        ),
        (
            "a password in settings",
            "",
            diff("config/app.yml", "  password: x", &format!("  password: {}", k.password())),
        ),
        (
            "a token taken out",
            "",
            diff("ci.sh", &format!("curl -H 'Private-Token: glp{}-{}' $URL", "at", k.plain(20)), "curl $URL"),
        ),
        (
            "a compose file",
            "",
            diff("docker-compose.yml", "", &format!("      - POSTGRES_PASSWORD={}", k.password())),
        ),
        ("a Dockerfile", "", diff("Dockerfile", "", &format!("ENV API_TOKEN {}", k.plain(32)))),
    ]
}

/// Further changes.
fn more_secret_diffs(k: &mut Keys) -> Vec<Case> {
    vec![
        ("a Terraform file", "", diff("main.tf", "", &format!("  password = \"{}\"", k.password()))),
        ("a private key", "", diff("deploy/id_ed25519", "", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU")),
        (
            "credentials of the cloud",
            "",
            diff("home/.aws/credentials", "", &format!("aws_secret_access_key = {}", k.base64(40))),
        ),
        (
            "a deleted .env",
            "",
            format!(
                "diff --git a/.env b/.env\ndeleted file mode 100644\n--- a/.env\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-PORT=1\n-TOKEN={}\n",
                k.plain(20)
            ),
        ),
        (
            "a log of changes",
            "",
            format!(
                "commit {}\nAuthor: a <a@b.example>\nDate: today\n\n    add settings\n\n{}",
                k.hex(40),
                diff(
                    "settings.py",
                    "",
                    &format!(
                        "SECRET_KEY = '{}'",
                        k.of("abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*-_=+", 50)
                    )
                )
            ),
        ),
        (
            "properties",
            "",
            diff(
                "src/main/resources/application.properties",
                "",
                &format!("spring.datasource.password={}", k.password()),
            ),
        ),
        (
            "JSON settings",
            "",
            diff("appsettings.json", "", &format!("    \"ClientSecret\": \"{}\",", k.plain(34))),
        ),
    ]
}

/// Code, scripts and pages with tokens of services.
fn secret_code(k: &mut Keys) -> Vec<Case> {
    let heads = [
        (
            "Slack",
            format!("xo{}-{}-{}-{}", "xb", k.of("0123456789", 12), k.of("0123456789", 13), k.plain(24)),
        ),
        ("Stripe", format!("sk_{}_{}", "live", k.plain(24))),
        ("Google", format!("AI{}{}", "za", k.plain(35))),
        ("Hugging Face", format!("h{}_{}", "f", k.plain(34))),
        ("SendGrid", format!("S{}.{}.{}", "G", k.plain(22), k.plain(43))),
        ("npm", format!("np{}_{}", "m", k.plain(36))),
        ("GitLab", format!("glp{}-{}", "at", k.plain(20))),
        ("Databricks", format!("da{}{}", "pi", k.hex(32))),
        ("Anthropic", format!("sk-{}-api03-{}", "ant", k.plain(80))),
        ("OpenRouter", format!("sk-{}-v1-{}", "or", k.hex(64))),
        ("Vault", format!("hv{}.{}", "s", k.plain(90))),
        ("Shopify", format!("shp{}_{}", "at", k.hex(32))),
        ("DigitalOcean", format!("do{}_v1_{}", "p", k.hex(64))),
        ("a signed token", k.signed()),
    ];
    let mut cases: Vec<Case> = heads
        .into_iter()
        .map(|(name, token)| {
            (
                name,
                "src/lib.rs",
                format!("// calls the service\nfn client() -> Client {{\n    Client::new(\"{token}\")\n}}\n"),
            )
        })
        .collect();
    cases.extend([
        ("Python", "app.py", format!("import boto3\n\ns3 = boto3.client('s3', aws_access_key_id='{}', aws_secret_access_key='{}')\nprint(s3)\n", k.amazon(), k.base64(40))),
        ("JavaScript", "index.js", format!("const gh = new Octokit({{ auth: '{}' }});\nexport default gh;\n", k.github())),
        ("a password in Java", "Db.java", format!("class Db {{\n  private static final String PASSWORD = \"{}\";\n  Db() {{ open(PASSWORD); }}\n}}\n", k.password())),
        ("PHP", "wp-config.php", format!("<?php\ndefine('DB_NAME', 'shop');\ndefine('DB_PASSWORD', '{}');\n$table_prefix = 'wp_';\n", k.password())),
        ("a key in Go", "main.go", format!("package main\n\nvar apiKey = \"{}\"\n\nfunc main() {{ run(apiKey) }}\n", k.plain(32))),
        ("a key in TypeScript", "env.ts", format!("export const environment = {{\n  production: true,\n  apiSecret: '{}',\n}};\n", k.plain(40))),
        ("a page", "README.md", format!("# Setup\n\nRun it with the key `{}` until we rotate it.\n\nThen open the page.\n", k.openai())),
        ("a mail", "mail.eml", format!("From: a@b.example\nSubject: access\n\nHi, here is the token: {}\nRegards\n", k.github())),
        ("a webhook", "notify.py", format!("URL = 'https://hooks.slack.com/services/T{}/B{}/{}'\n", k.capitals(8), k.capitals(8), k.plain(24))),
        ("SQL", "init.sql", format!("CREATE DATABASE shop;\nCREATE USER app WITH PASSWORD '{}';\nGRANT ALL ON shop TO app;\n", k.password())),
        ("MySQL", "grants.sql", format!("CREATE USER 'app'@'%' IDENTIFIED BY '{}';\nFLUSH PRIVILEGES;\n", k.password())),
        ("a notebook", "a.ipynb", format!("{{\"cells\": [{{\"cell_type\": \"code\", \"source\": [\"import openai\\n\", \"openai.api_key = \\\"{}\\\"\\n\"]}}], \"nbformat\": 4}}", k.openai())),
        ("a notebook with a password", "b.ipynb", format!("{{\"cells\": [{{\"source\": [\"conn = connect(host='db', user='me', password='{}')\\n\"]}}]}}", k.password())),
    ]);
    cases
}

/// What programs write and read: scripts, logs, histories, settings.
fn secret_operations(k: &mut Keys) -> Vec<Case> {
    vec![
        ("a script", "deploy.sh", format!("#!/bin/sh\nset -e\nexport AWS_SECRET_ACCESS_KEY={}\nterraform apply -auto-approve\n", k.base64(40))),
        ("a script with curl", "call.sh", format!("#!/bin/sh\ncurl -s -H \"Authorization: Bearer {}\" https://api.example.org/v1/things | jq .\n", k.plain(40))),
        ("a script with a user", "get.sh", format!("curl -u deploy:{} https://repo.example.org/a.tgz -o a.tgz\ntar xf a.tgz\n", k.password())),
        ("a history", ".bash_history", format!("cd work\nls\nmysql -h db -u app -p{} shop\nexit\n", k.password())),
        ("a history of zsh", "history.txt", format!(": 1700000000:0;cd work\n: 1700000004:0;export GITHUB_TOKEN={}\n: 1700000009:0;git push\n", k.github())),
        ("a history with PGPASSWORD", "notes.txt", format!("ls -la\nPGPASSWORD={} psql -h db -U app shop\nexit\nvim a.py\ngit status\n", k.password())),
        ("a history with docker", "notes.txt", format!("docker ps\ndocker login -u me -p {} registry.example.org\ndocker pull a\n", k.password())),
        ("a history with sshpass", "notes.txt", format!("ls\nsshpass -p '{}' ssh root@10.0.0.5\nexit\n", k.password())),
        ("a Dockerfile", "Dockerfile", format!("FROM debian:12\nRUN apt-get update\nENV DB_PASSWORD={}\nCMD [\"/app\"]\n", k.password())),
        ("a Dockerfile, apart", "Dockerfile", format!("FROM node:22\nENV NPM_AUTH_TOKEN {}\nRUN npm ci\nCMD [\"node\", \"a.js\"]\n", k.plain(36))),
        ("a build argument", "", format!("FROM node:22\nARG SECRET_KEY={}\nRUN npm ci\nCMD [\"node\", \"a.js\"]\n", k.plain(24))),
        ("a compose list", "docker-compose.yml", format!("services:\n  db:\n    image: postgres:17\n    environment:\n      - POSTGRES_USER=app\n      - POSTGRES_PASSWORD={}\n    ports:\n      - \"5432:5432\"\n", k.password())),
        ("a compose list, piped", "", format!("services:\n  db:\n    image: mariadb\n    environment:\n      - MARIADB_ROOT_PASSWORD={}\n    volumes:\n      - db:/var/lib/mysql\n", k.password())),
        ("a deployment", "deploy.yaml", format!("apiVersion: apps/v1\nkind: Deployment\nspec:\n  containers:\n  - name: app\n    env:\n    - name: DB_PASSWORD\n      value: {}\n", k.password())),
        ("an address in a log", "app.log", format!("2026-11-27T10:00:00Z INFO start\n2026-11-27T10:00:01Z DEBUG connecting to postgres://app:{}@db.internal:5432/shop\n2026-11-27T10:00:02Z INFO ready\n", k.password().replace('!', "-"))),
        ("a header in a log", "access.log", format!("10.0.0.1 - - [27/Nov/2026] \"GET /a HTTP/1.1\" 200\nrequest headers: {{'Authorization': 'Bearer {}', 'Accept': '*/*'}}\n", k.plain(48))),
        ("an address with a key", "app.log", format!("INFO fetch https://api.example.org/v1/items?api_key={}&page=2\nINFO 200\n", k.hex(32))),
        ("a trace", "trace.txt", format!("+ cd /srv\n+ export API_TOKEN={}\n+ ./run\ndone\n", k.plain(32))),
        ("an archive of requests", "a.har", format!("{{\"log\": {{\"entries\": [{{\"request\": {{\"headers\": [{{\"name\": \"Accept\", \"value\": \"*/*\"}}, {{\"name\": \"Authorization\", \"value\": \"Bearer {}\"}}]}}}}]}}}}", k.plain(48))),
        ("a cookie", "b.har", format!("{{\"headers\": [{{\"name\": \"Cookie\", \"value\": \"theme=dark; session_id={}; lang=en\"}}]}}", k.plain(40))),
        ("a connection string", "Program.cs", format!("var c = new SqlConnection(\"Server=db;Database=shop;User Id=app;Password={};\");\n", k.password())),
        ("a storage key", "a.config.txt", format!("endpoint: DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}==;EndpointSuffix=core.windows.net\n", k.base64(86))),
        ("JDBC", "Main.java", format!("String url = \"jdbc:mysql://db:3306/shop?user=app&password={}\";\n", k.password().replace('!', "-"))),
        ("a DSN", "run.py", format!("conn = psycopg.connect(\"host=db dbname=shop user=app password={}\")\nprint(conn)\n", k.password())),
        ("MongoDB", "db.ts", format!("await connect('mongodb+srv://app:{}@cluster0.example.net/shop');\n", k.plain(12))),
        ("Redis", "notes.txt", format!("cache is at redis://:{}@cache.internal:6379/0, ask ops\nfor more\n", k.plain(20))),
        ("a unit", "app.service", format!("[Unit]\nDescription=app\n[Service]\nEnvironment=SECRET_TOKEN={}\nExecStart=/app\n[Install]\nWantedBy=multi-user.target\n", k.plain(30))),
        ("a crontab", "crontab", format!("MAILTO=me@example.org\n*/5 * * * * API_KEY={} /usr/bin/sync\n", k.plain(32))),
        ("variables of Terraform", "prod.tfvars", format!("region = \"eu-west-1\"\ndb_password = \"{}\"\n", k.password())),
        ("PowerShell", "run.ps1", format!("Set-Location C:\\app\n$env:CLIENT_SECRET = \"{}\"\n.\\run.exe\n", k.plain(34))),
        ("a remote", "config.txt", format!("[remote \"origin\"]\n\turl = https://me:{}@github.com/me/a.git\n\tfetch = +refs/heads/*\n", k.github())),
        ("a clone in a log", "ci.log", format!("$ git clone https://oauth2:{}@gitlab.example.org/a/b.git\nCloning into 'b'...\n", k.plain(26))),
        ("Basic authorization in a log", "wire.log", "2026-03-04 02:00:11 DEBUG wire - http-outgoing-0 >> \"Authorization: Basic ZWRpLXN5bmM6TjlQQiEwR0FtU3IhazNKQTdKSw==[\\r][\\n]\"\n".to_owned()),
        ("a static key of OpenVPN", "office.ovpn", format!("<tls-crypt>\n-----{} OpenVPN Static key V1-----\nb1b7633b4e1fc5a26965b816323ecc0c\nf50553e2c7a165d953eb3e0022b771b1\n-----END OpenVPN Static key V1-----\n</tls-crypt>\n", "BEGIN")),
        ("Basic authorization", "proxy.conf", "location / {\n  proxy_set_header Authorization \"Basic ZGVwbG95OlhrOW1QMnZMNW4=\";\n  proxy_pass http://app;\n}\n".to_owned()),
        ("flags", "run.txt", format!("we start it with\n./server --port 80 --admin-password {} --verbose\nand watch\n", k.password())),
    ]
}

/// Harmless code and changes.
fn harmless_code(k: &mut Keys) -> Vec<Case> {
    vec![
        ("a change of code", "", diff("src/login.py", "password = form.password", "password = form.cleaned_data[\"password\"]\ntoken = make_token(user)")),
        ("a change of types", "", diff("src/login.ts", "  token: string;", "  token?: string;\n  password: Password;\n  apiKey: ApiKey | null;")),
        ("a change of a manual", "", diff("README.md", "", "Set `API_KEY=your-key-here` and `DB_PASSWORD=changeme`, then run it.")),
        ("a change of a template", "", diff(".env.example", "", "OPENAI_API_KEY=\nDB_PASSWORD=changeme\nAPI_TOKEN=<token>")),
        ("a change of a lock file", "", diff("Cargo.lock", "", &format!("checksum = \"{}\"", k.hex(64)))),
        ("a change of npm's lock file", "", diff("package-lock.json", "", &format!("      \"integrity\": \"sha512-{}==\",", k.base64(86)))),
        ("a change of a certificate", "", diff("ca.crt", "", &k.base64(64))),
        ("a change of a workflow", "", diff(".github/workflows/ci.yml", "", "      token: ${{ secrets.GITHUB_TOKEN }}\n      password: ${{ secrets.DOCKER_PASSWORD }}")),
        ("a change of tests", "", diff("tests/login.rs", "", "    let user = login(\"ada\", \"wrong password\");\n    assert!(user.token.is_none());")),
        ("a change of a stylesheet", "", diff("a.css", "", ".sk-fading-circle-container-wrapper { animation: sk-rotate 1.2s; }")),
        ("Rust", "a.rs", "pub struct Token(String);\nimpl Token {\n    pub fn secret(&self) -> &str { &self.0 }\n}\nconst TOKEN_BYTES_MAX: usize = 16_384;\nlet password = rpassword::prompt_password(\"Password: \")?;\n".to_owned()),
        ("Python", "a.py", "API_KEY = os.environ['API_KEY']\npassword = getpass.getpass()\nsecret = config.get('secret', '')\ntoken: str = request.headers['Authorization'].split()[1]\n".to_owned()),
        ("a test", "test_a.py", "def test_login():\n    assert login('user', password='password123').ok\n    assert not login('user', password='wrong')\n    headers = {'Authorization': 'Bearer test-token'}\n".to_owned()),
        ("Go", "a.go", "token := os.Getenv(\"TOKEN\")\nif password == \"\" { return errNoPassword }\nreq.Header.Set(\"Authorization\", \"Bearer \"+token)\n".to_owned()),
        ("Java", "A.java", "String password = props.getProperty(\"db.password\");\nprivate final AccessTokenProviderFactoryV2 accessTokenProvider;\ntoken = accessTokenProviderFactoryV2.createToken();\n".to_owned()),
        ("JavaScript", "a.js", "const { apiKey, secretKey } = process.env;\nconst token = localStorage.getItem('authTokenV2Current');\nfetch(url, { headers: { Authorization: `Bearer ${token}` } });\n".to_owned()),
        ("minified", "a.min.js", "!function(e){var t={password:\"password\",token:e.token,key:\"x\"};e.passKey=function(n){return n.authKey||t.token}}(window);".to_owned()),
        ("SQL", "a.sql", "CREATE TABLE users (id uuid, password_hash text, api_key text);\nSELECT token FROM sessions WHERE token = $1;\nALTER USER app WITH PASSWORD :'pw';\n".to_owned()),
        ("C", "a.c", "char *token = strtok(line, \" \");\nstatic const char key_map[] = \"0123456789abcdef\";\nint pass = 0;\n".to_owned()),
        ("Shell", "a.sh", "#!/bin/sh\nTOKEN=$(cat /run/secrets/token)\nexport DB_PASSWORD=\"${DB_PASSWORD:?}\"\npassword=\"$1\"\ncurl -u \"$USER:$PASS\" -H \"Authorization: Bearer $TOKEN\" \"$URL\"\n".to_owned()),
        ("HTML", "a.html", format!("<meta name=\"csrf-token\" content=\"{}\">\n<input type=\"password\" name=\"password\" autocomplete=\"current-password\">\n<script integrity=\"sha384-{}\"></script>\n", k.base64(32), k.base64(64))),
        ("a type", "a.ts", "type Auth = { kind: 'token'; secret: Secret } | { kind: 'password'; passphrase: string };\nexport const AUTH_TOKEN_KEY = 'auth-token';\nconst PASSWORD_MIN = 12;\n".to_owned()),
        ("a tokenizer", "tokenizer.json", "{\"added_tokens\": [{\"id\": 0, \"content\": \"<|endoftext|>\"}], \"bos_token\": \"<s>\", \"model\": {\"vocab\": {\"token\": 1, \"secret\": 2}}}".to_owned()),
        ("a page of results", "a.json", format!("{{\"items\": [], \"nextPageToken\": \"{}\", \"etag\": \"{}\"}}", k.plain(40), k.hex(32))),
    ]
}

/// Harmless documents, logs and data.
fn harmless_data(k: &mut Keys) -> Vec<Case> {
    let base64_lines = |k: &mut Keys, lines: usize| {
        (0..lines).map(|_| format!("{}\n", k.base64(76))).collect::<Vec<_>>().concat()
    };
    vec![
        ("a manual", "README.md", "Put your key into the environment: `export OPENAI_API_KEY=sk-...`.\n\n```sh\ncurl -H \"Authorization: Bearer YOUR_API_KEY\" https://api.example.org\ncurl -u user:password https://example.org\n```\n".to_owned()),
        ("a manual of a database", "db.md", "Start it: `docker run -e POSTGRES_PASSWORD=mysecretpassword postgres`.\nThen connect to `postgres://user:password@localhost:5432/db` or `postgresql://postgres:postgres@localhost/test`.\n".to_owned()),
        ("a manual with sample keys", "keys.md", "Keys look like `AKIAIOSFODNN7EXAMPLE`, `ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`, `xoxb-your-token-here`, `sk-1234567890abcdef1234567890abcdef` and `AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX`.\n".to_owned()),
        ("the sample of signed tokens", "jwt.md", "A token: `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c`.\n".to_owned()),
        ("hashes", "SHA256SUMS", (0..6).map(|n| format!("{}  file-{n}.tar.gz\n", k.hex(64))).collect::<Vec<_>>().concat()),
        ("hashes of commits", "log.txt", (0..8).map(|n| format!("{} change number {n}\n", k.hex(40))).collect::<Vec<_>>().concat()),
        ("names by chance", "ids.txt", (0..6).map(|_| format!("{}-{}-4{}-a{}-{}\n", k.hex(8), k.hex(4), k.hex(3), k.hex(3), k.hex(12))).collect::<Vec<_>>().concat()),
        ("a lock file", "Cargo.lock", format!("[[package]]\nname = \"token\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"{}\"\n", k.hex(64))),
        ("npm's lock file", "package-lock.json", format!("{{\"packages\": {{\"node_modules/js-tokens\": {{\"version\": \"4.0.0\", \"resolved\": \"https://registry.npmjs.org/js-tokens/-/js-tokens-4.0.0.tgz\", \"integrity\": \"sha512-{}==\"}}}}}}", k.base64(86))),
        ("Go's sums", "go.sum", (0..5).map(|n| format!("golang.org/x/a v0.{n}.0 h1:{}=\n", k.base64(43))).collect::<Vec<_>>().concat()),
        ("Python's hashes", "requirements.txt", format!("requests==2.32.0 \\\n    --hash=sha256:{} \\\n    --hash=sha256:{}\n", k.hex(64), k.hex(64))),
        ("yarn's lock file", "yarn.lock", format!("\"@babel/token@^7\":\n  version \"7.1.0\"\n  resolved \"https://registry.yarnpkg.com/a.tgz#{}\"\n  integrity sha512-{}==\n", k.hex(40), k.base64(86))),
        ("a picture", "a.svg", format!("<svg><image href=\"data:image/png;base64,{}\"/></svg>", k.base64(4_000))),
        ("a picture in a page", "a.md", format!("![plan](data:image/png;base64,{})\n", k.base64(6_000))),
        ("a mail with a picture", "a.eml", format!("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n{}", base64_lines(k, 60))),
        ("names of bundled files", "manifest.json", "{\n  \"password-reset.js\": \"password-reset.874a738876e20e3433eb.js\",\n  \"token-list.js\": \"token-list.c33c4d06684a23a813c3.js\"\n}\n".to_owned()),
        ("a certificate", "a.txt", format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", base64_lines(k, 20))),
        ("a public key", "authorized", format!("ssh-ed25519 {} me@home\nssh-rsa {} you@work\n", k.base64(68), k.base64(372))),
        ("a notebook with a picture", "a.ipynb", format!("{{\"cells\": [{{\"outputs\": [{{\"data\": {{\"image/png\": \"{}\"}}}}], \"source\": [\"tokens = tokenizer(text)\\n\", \"password = input()\\n\"]}}]}}", k.base64(5_000))),
        ("a log", "app.log", format!("2026-11-27 INFO user ada logged in with password\n2026-11-27 INFO request_id={} token refreshed, expires_in=3600\n2026-11-27 WARN invalid token for session of ada\n", k.hex(32))),
        ("a log of tests", "test.log", "test token::tests::a_token_is_read ... ok\ntest secret::names_are_known ... ok\npass: 120, fail: 0, key: none\n".to_owned()),
        ("a log of tokens", "llm.log", "prompt_tokens=412 completion_tokens=96 total_tokens=508 max_tokens=16000 stop_token=128009\n".to_owned()),
        ("CI", "ci.yml", "env:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n  POSTGRES_PASSWORD: postgres\nsteps:\n- run: echo \"$TOKEN\" | docker login -u me --password-stdin\n".to_owned()),
        ("compose", "docker-compose.yml", "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=postgres\n      - POSTGRES_PASSWORD_FILE=/run/secrets/db\n      - API_KEY=${API_KEY}\n".to_owned()),
        ("a Dockerfile", "Dockerfile", "FROM debian\nARG TOKEN\nENV DB_PASSWORD=changeme\nENV PASSWORD_FILE /run/secrets/db\nRUN --mount=type=secret,id=token cat /run/secrets/token\n".to_owned()),
        ("a deployment", "a.yaml", "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password\n- name: SECRET_NAME\n  value: db-credentials\n".to_owned()),
        ("a chart", "values.yaml", "auth:\n  existingSecret: \"\"\n  secretKeys:\n    adminPasswordKey: admin-password\n  password: \"\"\n".to_owned()),
        ("Terraform", "a.tf", "variable \"db_password\" {\n  type = string\n  sensitive = true\n}\nresource \"a\" \"b\" {\n  password = var.db_password\n  token = data.vault_secret.token.value\n}\n".to_owned()),
        ("translations", "de.properties", "login.password=Passwort\nlogin.password.forgotten=Passwort vergessen?\nlogin.token=Zugangscode\n".to_owned()),
        ("translations in JSON", "fr.json", "{\"password\": \"Mot de passe\", \"token\": \"Jeton\", \"apiKey\": \"Clé\"}".to_owned()),
        ("a schema", "openapi.yaml", "components:\n  securitySchemes:\n    bearer:\n      type: http\n      scheme: bearer\n  schemas:\n    Login:\n      properties:\n        password: {type: string, format: password}\n        token: {type: string}\n".to_owned()),
        ("a table", "users.csv", "id,name,password_policy,token_count\n1,ada,strict,40\n2,bob,loose,12\n".to_owned()),
        ("a help text", "help.txt", "Usage: server [OPTIONS]\n  --password <PASSWORD>   The password\n  --token TOKEN           The token; default: from TOKEN\n  --api-key KEY           The key\n  -u, --user USER:PASS    Who asks\n".to_owned()),
        ("a question", "", "How should I store a password? Is `bcrypt` fine, and where do API keys belong? My token expires after 3600 s.\n".to_owned()),
        ("a trace", "trace.txt", "thread 'main' panicked at src/auth/token.rs:120:9:\ninvalid token: expected `=` after `password`, found `:`\n  at parse_password_or_secret_key (lib.rs:44)\n".to_owned()),
        ("a source map", "a.js.map", format!("{{\"version\":3,\"sources\":[\"token.ts\"],\"mappings\":\"{}\"}}", "AAAA,SAASA,MAAM,CAAC".repeat(40))),
        ("an embedding", "a.json", "{\"object\": \"embedding\", \"data\": [0.0123, -0.4411, 0.9981], \"usage\": {\"total_tokens\": 8}}".to_owned()),
        ("settings of this program", "config.toml", "panel = [\"openai/gpt-6.1-sol\", \"x-ai/grok-4.7\"]\nmax_tokens = 16000\n[providers.mine]\nkey_variable = \"MY_KEY\"\nkey_command = [\"pass\", \"show\", \"llm\"]\n".to_owned()),
    ]
}

fn sign(path: &str, text: &str) -> Option<String> {
    by_name(Path::new(path), text.as_bytes()).or_else(|| by_content(Path::new(path), text.as_bytes()))
}

/// Series of keys: what is found must not depend on their letters.
const SERIES: u64 = 8;

#[test]
fn of_each_hundred_secrets_ninety_are_found_and_of_each_hundred_look_alikes_two_at_most_are_taken_for_one() {
    let (mut secrets, mut harmless, mut missed, mut wrong) = (0, 0, Vec::new(), Vec::new());
    for series in 0..SERIES {
        let mut keys = Keys(series * 7_919 + 13);
        let diffs = [secret_diffs(&mut keys), more_secret_diffs(&mut keys)].concat();
        let holding = [diffs, secret_code(&mut keys), secret_operations(&mut keys)].concat();
        let look_alike = [harmless_code(&mut keys), harmless_data(&mut keys)].concat();
        assert!(holding.len() >= 60 && look_alike.len() >= 60, "{} and {}", holding.len(), look_alike.len());
        (secrets, harmless) = (secrets + holding.len(), harmless + look_alike.len());
        missed
            .extend(holding.into_iter().filter(|(_, path, text)| sign(path, text).is_none()).map(|it| it.0));
        let found = look_alike.iter().filter_map(|(name, path, text)| Some((*name, sign(path, text)?)));
        wrong.extend(found);
    }
    assert!(missed.len() * 10 <= secrets, "of {secrets}, {} are missed: {missed:?}", missed.len());
    assert!(wrong.len() * 50 <= harmless, "of {harmless}, {} are taken for one: {wrong:?}", wrong.len());
}
