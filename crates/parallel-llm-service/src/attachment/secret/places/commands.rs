//! Passwords on command lines: after a flag, beside a user, as the last word, or piped into a program that reads one.
//!
//! What always holds: a command is looked for once in a line, and only the beginning of what follows is read.

use std::sync::LazyLock;

use super::set::{clipped, value_of};
use crate::attachment::secret::judgement::strength::{is_mixed, is_password};
use crate::attachment::secret::judgement::words::is_number;

/// Where a command takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PasswordPlace {
    /// The word after a flag.
    Word,
    /// The same, and it may be glued to the flag: `mysql -pSECRET`.
    Glued,
    /// The word after a flag is `user:password`, or with another sign between them.
    Pair,
    /// The last word of the line.
    Last,
    /// The next word but one: a user is before it.
    Second,
    /// It is in the text that is piped into the command.
    Piped,
}

/// A command, what is before its password, and where that stands.
type Command = (&'static str, &'static str, PasswordPlace);

/// Commands, what is before their password, and where that stands.
const COMMANDS: &[Command] = &[
    ("sshpass", " -p", PasswordPlace::Glued),
    ("mysql", " -p", PasswordPlace::Glued),
    ("mariadb", " -p", PasswordPlace::Glued),
    ("docker login", " -p", PasswordPlace::Word),
    ("podman login", " -p", PasswordPlace::Word),
    ("helm registry login", " -p", PasswordPlace::Word),
    ("oc login", " -p", PasswordPlace::Word),
    ("cf login", " -p", PasswordPlace::Word),
    ("az login", " -p", PasswordPlace::Word),
    ("mongo", " -p", PasswordPlace::Word),
    ("sqlcmd", " -p", PasswordPlace::Word),
    ("bcp ", " -p", PasswordPlace::Word),
    ("twine upload", " -p", PasswordPlace::Word),
    ("zip", " -p", PasswordPlace::Word),
    ("redis-cli", " -a", PasswordPlace::Word),
    ("ldapsearch", " -w", PasswordPlace::Word),
    ("ldapmodify", " -w", PasswordPlace::Word),
    ("ldapadd", " -w", PasswordPlace::Word),
    ("plink", " -pw", PasswordPlace::Word),
    ("pscp", " -pw", PasswordPlace::Word),
    ("keytool", " -storepass", PasswordPlace::Word),
    ("keytool", " -keypass", PasswordPlace::Word),
    ("jarsigner", " -storepass", PasswordPlace::Word),
    ("openssl", " pass:", PasswordPlace::Word),
    ("openssl", " -k", PasswordPlace::Word),
    ("cmdkey", "/pass:", PasswordPlace::Word),
    ("xfreerdp", "/p:", PasswordPlace::Word),
    ("convertto-securestring", " ", PasswordPlace::Word),
    ("gh secret set", " --body", PasswordPlace::Word),
    ("gh secret set", " -b", PasswordPlace::Word),
    ("wandb login", " ", PasswordPlace::Word),
    ("vault login", " ", PasswordPlace::Word),
    ("rabbitmqctl add_user", " ", PasswordPlace::Second),
    ("rabbitmqctl change_password", " ", PasswordPlace::Second),
    ("cf auth", " ", PasswordPlace::Second),
    ("net use", "/user:", PasswordPlace::Second),
    ("net user", " ", PasswordPlace::Second),
    ("htpasswd -b", " ", PasswordPlace::Last),
    ("mc alias set", " ", PasswordPlace::Last),
    ("mc config host add", " ", PasswordPlace::Last),
    ("context token", " ", PasswordPlace::Last),
    ("smbclient", " -u", PasswordPlace::Pair),
    ("curl", " -u", PasswordPlace::Pair),
    ("curl", " --user", PasswordPlace::Pair),
    ("curl", " --proxy-user", PasswordPlace::Pair),
    ("wget", " --user", PasswordPlace::Pair),
    ("lftp", " -u", PasswordPlace::Pair),
    ("http", " -a", PasswordPlace::Pair),
    ("skopeo", "creds", PasswordPlace::Pair),
    ("sqlplus", " ", PasswordPlace::Pair),
    ("expdp", " ", PasswordPlace::Pair),
    ("impdp", " ", PasswordPlace::Pair),
    ("chpasswd", "", PasswordPlace::Piped),
    ("passwd --stdin", "", PasswordPlace::Piped),
    ("--password-stdin", "", PasswordPlace::Piped),
    ("sudo -s", "", PasswordPlace::Piped),
    ("cryptsetup", "", PasswordPlace::Piped),
    ("kinit", "", PasswordPlace::Piped),
    ("--passphrase-fd", "", PasswordPlace::Piped),
];

/// The most commands of a line that are read.
const COMMANDS_MAX: usize = 8;
/// The most places of a flag that are read in a line.
const PLACES_MAX: usize = 32;

/// The position of a password on a command line.
pub(super) fn find(line: &str, lower: &str) -> Option<usize> {
    static BY_FIRST: LazyLock<[Vec<&Command>; 128]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            COMMANDS.iter().filter(|(command, ..)| usize::from(command.as_bytes()[0]) == byte).collect()
        })
    });
    let bytes = lower.as_bytes();
    let is_begin = |at: &usize| *at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let mut seen = 0;
    (0..bytes.len()).filter(is_begin).find_map(|at| {
        let begin_so = BY_FIRST.get(usize::from(bytes[at])).into_iter().flatten();
        begin_so.copied().filter(|(command, ..)| bytes[at..].starts_with(command.as_bytes())).find_map(
            |command| {
                seen += 1;
                (seen <= COMMANDS_MAX).then(|| password_of(line, lower, at, command)).flatten()
            },
        )
    })
}

/// The password of the command that begins here.
fn password_of(line: &str, lower: &str, begin: usize, command: &Command) -> Option<usize> {
    let (command, before, place) = command;
    if *place == PasswordPlace::Piped {
        return is_piped(&line[..begin]).then_some(0);
    }
    let from = begin + command.len();
    let places = lower[from..].match_indices(before).map(|(at, _)| from + at + before.len());
    // A command with words after it takes the first of them.
    let most = if *before == " " { 1 } else { PLACES_MAX };
    places.take(most).find(|at| takes(clipped(&line[*at..]), before, *place))
}

/// Whether a password is here.
fn takes(rest: &str, before: &str, place: PasswordPlace) -> bool {
    // `-preview` and `-port` are other flags.
    let ends_flag = before.ends_with([' ', ':'])
        || rest.starts_with([' ', '=', '\'', '"'])
        || place == PasswordPlace::Glued;
    if !ends_flag {
        return false;
    }
    let rest = rest.trim_start_matches([' ', '=']);
    let words = || rest.split_whitespace().map(|word| value_of(word).0);
    match place {
        PasswordPlace::Word | PasswordPlace::Glued => {
            let value = value_of(rest).0;
            let (begin, password) = value.split_once(':').unwrap_or(("", value));
            is_given(if begin == "pass" { password } else { value })
        }
        PasswordPlace::Second => words().nth(1).is_some_and(is_given),
        PasswordPlace::Last => words().next_back().is_some_and(is_mixed),
        PasswordPlace::Pair => {
            let value = value_of(rest).0;
            // `user/password@address`, and a user with a domain.
            let pair = value.split_once([':', '%']).or_else(|| value.split_once('/'));
            let end = |password: &str| {
                password.split_once("@/").map_or(password.to_owned(), |(it, _)| it.to_owned())
            };
            pair.is_some_and(|(_, password)| is_given(&end(password)))
        }
        PasswordPlace::Piped => false,
    }
}

/// `echo "root:PASSWORD" |`.
fn is_piped(before: &str) -> bool {
    let Some((echo, _)) = before.rsplit_once('|') else { return false };
    let Some((_, said)) = echo.rsplit_once("echo ").or_else(|| echo.rsplit_once("printf ")) else {
        return false;
    };
    let said = said.trim().trim_start_matches("-n ").trim_matches(['"', '\'', ' ']);
    is_given(said.split_once(':').map_or(said, |(_, password)| password))
}

fn is_given(password: &str) -> bool {
    is_password(password) && !is_number(password)
}
