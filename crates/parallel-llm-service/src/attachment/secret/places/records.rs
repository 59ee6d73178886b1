//! Lines of files of passwords, alone or among other text: `.netrc`, `.pgpass`, `htpasswd` and `shadow`.

use crate::attachment::secret::judgement::strength::{is_mixed, is_password};

/// How many lines below `machine` belong to it.
const LINES_BELOW: usize = 4;
/// Heads of hashes of passwords.
const HASHES: &[&str] = &["$apr1$", "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "{SHA}", "{SSHA}"];
/// The shortest hash of a password, in bytes. A shorter one is an example.
const HASH_BYTES_MIN: usize = 28;
/// The longest name of a user, in bytes.
const USER_BYTES_MAX: usize = 64;

/// What the lines above say.
#[derive(Default)]
pub(super) struct Records {
    /// How many of the next lines belong to a machine.
    lines_left: usize,
}

impl Records {
    /// Whether the next line holds a password.
    pub(super) fn hold_secret(&mut self, line: &str) -> bool {
        let line = line.trim_start_matches(['+', '-', ' ', '\t']);
        self.holds_password_of_machine(line) || is_record(line) || hashed_user(line)
    }

    /// `machine HOST login NAME password SECRET`, on one line or on several.
    fn holds_password_of_machine(&mut self, line: &str) -> bool {
        let inline = line.find("machine ").map(|at| &line[at..]).filter(|rest| rest.contains(" login "));
        self.lines_left = self.lines_left.saturating_sub(1);
        if line.starts_with("machine ") {
            self.lines_left = LINES_BELOW;
        }
        let rest = inline.or_else(|| (self.lines_left > 0).then_some(line));
        let mut words = rest.unwrap_or_default().split_whitespace();
        words.any(|word| word == "password")
            && words.next().is_some_and(|word| is_password(word.trim_matches(['"', '\'', '\\'])))
    }
}

/// `machine HOST login NAME password SECRET`, on one line or on several, as a whole file.
pub(crate) fn is_netrc(lines: &[&str]) -> bool {
    let begins = lines.first().and_then(|line| line.split_whitespace().next());
    let words = || lines.iter().flat_map(|line| line.split_whitespace());
    matches!(begins, Some("machine" | "default" | "macdef"))
        && words().any(|word| word == "login")
        && words().any(|word| word == "password")
}

/// `host:port:database:user:password`.
pub(crate) fn is_pgpass(line: &str) -> bool {
    let fields: Vec<&str> = line.splitn(6, ':').collect();
    let is_port =
        |text: &str| text == "*" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    fields.len() >= 5
        && is_port(fields[1])
        && fields[..5].iter().all(|field| !field.is_empty())
        && !line.contains(char::is_whitespace)
}

/// The same, among other lines: a host, and a password that is no word.
fn is_record(line: &str) -> bool {
    let is_host = |host: &str| {
        (host.contains('.') || host == "localhost" || host == "*")
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-*".contains(&byte))
    };
    line.split(':').next().is_some_and(is_host)
        && is_pgpass(line)
        && line.splitn(5, ':').nth(4).is_some_and(is_mixed)
}

/// `name:HASH`, the password format of Apache and Unix.
pub(crate) fn is_htpasswd(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else { return false };
    !name.is_empty()
        && !name.contains(char::is_whitespace)
        && HASHES.iter().any(|hash| rest.starts_with(hash))
}

/// The same, among other lines: a whole hash after the name of a user.
fn hashed_user(line: &str) -> bool {
    let Some((before, rest)) = line.split_once(":$").or_else(|| line.split_once(":{S")) else { return false };
    let name = before
        .rsplit(|it: char| !it.is_ascii_alphanumeric() && !"._-@".contains(it))
        .next()
        .unwrap_or_default();
    let hash = &line
        [line.len() - rest.len() - if rest.starts_with("HA}") || rest.starts_with("SHA}") { 2 } else { 1 }..];
    let length = hash.bytes().take_while(|it| it.is_ascii_alphanumeric() || b"$./{}=+".contains(it)).count();
    (1..=USER_BYTES_MAX).contains(&name.len())
        && HASHES.iter().any(|head| hash.starts_with(head))
        && length >= HASH_BYTES_MIN
        && !hash[..length].contains("...")
}
