//! Finds the links of a text and their hosts, and removes links.
//!
//! The time is linear in the length of the text. A text is read as the most lenient client would read it: entities are
//! decoded, invisible characters and escapes skipped, wide letters narrowed, percent signs decoded, and user names before an
//! `@` dropped. So some text may be taken for a link that is none, but the aim is to miss none.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::text::injection::is_invisible;

/// The longest host in a message, in characters. Names may have 253, too many to read.
const HOST_CHARS_MAX: usize = 80;
/// The longest recognized scheme.
const SCHEME_CHARS_MAX: usize = 24;
/// The longest label of a name.
const LABEL_CHARS_MAX: usize = 63;
/// The longest recognized entity: `&NewLine;`, and room for padded numbers.
const ENTITY_BYTES_MAX: usize = 16;
/// The most passes of removal. Removing a link may join the text around it to another link.
const PASSES_MAX: usize = 16;
/// Reserved names that lead nowhere.
const RESERVED: [&str; 5] = ["localhost", "127.0.0.1", "example.com", "example.org", "example.net"];
/// Endings of names that are hosts without anything else. Endings of files and words of code (`io`, `md`, `info`) are not
/// among them.
const BARE_ENDINGS: [&str; 11] = ["com", "org", "net", "edu", "gov", "xyz", "biz", "icu", "ru", "cn", "tk"];
/// Endings that are so, too, where the name could not be anything else: written small, and not of one letter.
const SMALL_ENDINGS: [&str; 32] = [
    "ai", "co", "de", "uk", "fr", "nl", "eu", "es", "ch", "jp", "br", "au", "ca", "cz", "se", "dk", "fi",
    "kr", "tw", "nz", "za", "mx", "ua", "vn", "gr", "pt", "hu", "online", "website", "space", "vip", "ninja",
];
/// Endings that are also words of code: hosts if a hyphen is in the name, which has none in code.
const HYPHENATED_ENDINGS: [&str; 10] =
    ["io", "dev", "app", "shop", "store", "site", "club", "pro", "cloud", "tech"];
/// How names of packages begin, the other way round.
const REVERSED: [&str; 6] = ["com", "org", "net", "io", "de", "dev"];
/// Endings of names that are hosts if a path, a port or a query follows.
const ENDINGS_BEFORE_PATH: [&str; 36] = [
    "io", "co", "dev", "app", "info", "online", "site", "shop", "top", "club", "live", "link", "click", "me",
    "ai", "de", "uk", "fr", "nl", "eu", "us", "it", "es", "ch", "at", "jp", "be", "no", "in", "to", "pl",
    "gg", "store", "cloud", "tech", "sh",
];
/// Names that end so and are no hosts.
const NO_HOSTS: [&str; 6] = ["asp.net", "ado.net", "vb.net", "ml.net", "java.net", "system.net"];
/// Schemes without a host that carry or run their content.
const BARE_SCHEMES: [&str; 3] = ["javascript", "vbscript", "data"];

/// The bytes of a text that are analysed at once, which takes 24 times the memory.
const PAGE_BYTES: usize = 64 * 1024;
/// The overlap of two pages, so that a link at the edge is whole on one of them. No client follows longer links.
const OVERLAP_BYTES: usize = 8 * 1024;

/// A link of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The host in lower case without its port, or a scheme without a host such as `data:`.
    pub host: String,
    /// Its byte range in the text.
    pub span: Range<usize>,
}

/// A character as a client reads it, and the bytes that encode it.
#[derive(Clone, Copy)]
struct Unit {
    read: char,
    /// Whether it was a capital letter.
    was_large: bool,
    start: usize,
    end: usize,
}

/// The links of a text, in order.
pub fn links(text: &str) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut start = 0;
    while let Some(page) = page(text, start) {
        let found = links_of(&text[page.clone()]);
        // A link that begins near the end of a page is whole on the next one.
        let whole_to = if page.end == text.len() { text.len() } else { page.end - OVERLAP_BYTES };
        let found = found
            .into_iter()
            .map(|Link { host, span }| Link { host, span: span.start + page.start..span.end + page.start });
        links.extend(found.filter(|link| link.span.start < whole_to));
        if page.end == text.len() {
            break;
        }
        let seen_to = links.last().map_or(0, |link| link.span.end);
        start = text.ceil_char_boundary(whole_to.max(seen_to));
    }
    links
}

/// The range of the page that begins at `start`; `None` at the end.
fn page(text: &str, start: usize) -> Option<Range<usize>> {
    let end = text.floor_char_boundary((start + PAGE_BYTES).min(text.len()));
    (start < text.len()).then_some(start..end)
}

fn links_of(page: &str) -> Vec<Link> {
    let units = units(page);
    let mut links: Vec<Link> = Vec::new();
    let mut at = 0;
    while at < units.len() {
        match link(&units, at) {
            Some((host, range)) => {
                let span = units[range.start].start..units[range.end - 1].end;
                links.push(Link { host, span });
                at = range.end.max(at + 1);
            }
            None => at += 1,
        }
    }
    links
}

/// The wanted hosts that a text mentions, in a link or elsewhere.
pub fn mentioned(text: &str, wanted: &BTreeSet<String>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut start = 0;
    while let Some(page) = page(text, start) {
        let read: String = units(&text[page.clone()]).iter().map(|unit| unit.read).collect();
        let words = read.split(|one: char| !(one.is_alphanumeric() || "-._:[]".contains(one)));
        let words = words.flat_map(|word| [word, word.split(':').next().unwrap_or_default()]);
        let words = words.map(|word| word.trim_matches(|one: char| !one.is_alphanumeric()));
        named.extend(words.filter(|word| wanted.contains(*word)).map(str::to_owned));
        let linked = links_of(&text[page.clone()]).into_iter().map(|link| link.host);
        named.extend(linked.filter(|host| wanted.contains(host)));
        if page.end == text.len() {
            break;
        }
        start = text.ceil_char_boundary(page.end - OVERLAP_BYTES);
    }
    named
}

/// The text with the links to these hosts replaced by a plain note.
pub fn defused(text: &str, hosts: &BTreeSet<String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..PASSES_MAX {
        let found: Vec<Link> = links(&text).into_iter().filter(|link| hosts.contains(&link.host)).collect();
        if found.is_empty() {
            break;
        }
        for link in found.iter().rev() {
            text.replace_range(link.span.clone(), &format!("[link to {} left out]", displayed(&link.host)));
        }
    }
    text
}

/// A host for a message: short, and not a link for any client.
pub fn displayed(host: &str) -> String {
    let plain = |one: char| one.is_alphanumeric() || "-.:".contains(one);
    let short: String = host.chars().filter(|one| plain(*one)).take(HOST_CHARS_MAX).collect();
    short.replace('.', "[.]").trim_end_matches(':').to_owned()
}

/// Whether the name is reserved, so that no one can own it.
pub fn is_reserved(host: &str) -> bool {
    let ends =
        [".localhost", ".example", ".test", ".invalid", ".example.com", ".example.org", ".example.net"];
    RESERVED.contains(&host) || host == "::1" || ends.iter().any(|end| host.ends_with(end))
}

/// The link whose mark is here: the colon after a scheme, two slashes, `www.`, or the first dot of a name.
fn link(units: &[Unit], at: usize) -> Option<(String, Range<usize>)> {
    match units[at].read {
        ':' => after_scheme(units, at),
        '/' => without_scheme(units, at),
        'w' => from_www(units, at),
        '.' => from_name(units, at),
        _ => None,
    }
}

fn after_scheme(units: &[Unit], colon: usize) -> Option<(String, Range<usize>)> {
    let before = &units[colon.saturating_sub(SCHEME_CHARS_MAX)..colon];
    let is_part = |unit: &&Unit| unit.read.is_ascii_alphanumeric() || "+.-\\".contains(unit.read);
    let length = before.iter().rev().take_while(is_part).count();
    let from = colon - length;
    let scheme: String = units[from..colon].iter().map(|unit| unit.read).filter(|one| *one != '\\').collect();
    if !scheme.contains(|one: char| one.is_ascii_alphabetic()) {
        return None;
    }
    let (host_from, slashes) = after_slashes(units, colon + 1);
    if BARE_SCHEMES.contains(&scheme.as_str()) {
        return bare(units, from..colon, &scheme);
    }
    let (host, end) = authority(units, host_from)?;
    // A client reads `https:host` as `https://host`; elsewhere a colon after a word is only a colon.
    let is_web = ["http", "https", "ftp", "ws", "wss"].iter().any(|web| scheme.ends_with(web));
    (slashes >= 2 || is_web && (slashes == 1 || host.contains('.')))
        .then(|| (host, from..url_end(units, end)))
}

/// A link with its content inside, whose scheme is at `scheme_range`. `data` is also a common word, so a media type, or a comma, must follow.
fn bare(units: &[Unit], scheme_range: Range<usize>, scheme: &str) -> Option<(String, Range<usize>)> {
    let content = scheme_range.end + 1;
    let end = url_end(units, content);
    let rest: String = units[content..end].iter().take(64).map(|unit| unit.read).collect();
    let is_data = rest.starts_with([',', ';']) || rest.contains('/') && rest.contains([',', ';']);
    (!rest.is_empty() && (scheme != "data" || is_data))
        .then(|| (format!("{scheme}:"), scheme_range.start..end))
}

/// `//host` is a link after an opening character; elsewhere it may be a comment in code.
fn without_scheme(units: &[Unit], at: usize) -> Option<(String, Range<usize>)> {
    let mut before =
        units[..at].iter().rev().map(|unit| unit.read).skip_while(|one| *one == ' ' || *one == '\\');
    let opens = before.next().is_some_and(|one| "(<\"'=:[".contains(one));
    let (host_from, slashes) = after_slashes(units, at);
    if !opens || slashes < 2 {
        return None;
    }
    let (host, end) = authority(units, host_from)?;
    host.contains(['.', ':']).then(|| (host, at..url_end(units, end)))
}

fn from_www(units: &[Unit], at: usize) -> Option<(String, Range<usize>)> {
    let is_inside = at > 0 && (units[at - 1].read.is_alphanumeric() || ".-@".contains(units[at - 1].read));
    let is_www = units[at..].iter().map(|unit| unit.read).take(4).eq("www.".chars());
    if is_inside || !is_www {
        return None;
    }
    let (host, end) = authority(units, at)?;
    (host.len() > 4).then(|| (host, at..url_end(units, end)))
}

/// `evil.com` and `evil.io/x`: no client makes a link of every name, but people type them, and some clients do.
fn from_name(units: &[Unit], dot: usize) -> Option<(String, Range<usize>)> {
    let is_part = |unit: &&Unit| unit.read.is_alphanumeric() || unit.read == '-';
    let length = units[..dot].iter().rev().take(LABEL_CHARS_MAX).take_while(is_part).count();
    let from = dot - length;
    if length == 0 || is_inside_code(&units[..from]) {
        return None;
    }
    let is_name = |unit: &&Unit| is_part(unit) || unit.read == '.';
    let mut end = from + units[from..].iter().take(LABEL_CHARS_MAX * 4).take_while(is_name).count();
    while units[end - 1].read == '.' {
        end -= 1;
    }
    let host: String = units[from..end].iter().map(|unit| unit.read).collect();
    let (first, ending) = (host.split('.').next()?, host.rsplit('.').next()?);
    let behind = &units[end..];
    let written = units[from..end].iter().rev().take_while(|unit| unit.read != '.');
    let is_small = || first.len() > 1 && !written.clone().any(|unit| unit.was_large);
    let is_mail = || behind.first().is_some_and(|unit| unit.read == '@');
    let is_host = BARE_ENDINGS.contains(&ending)
        || !is_mail()
            && (ENDINGS_BEFORE_PATH.contains(&ending) && goes_on(behind)
                || is_small()
                    && !REVERSED.contains(&first)
                    && (SMALL_ENDINGS.contains(&ending)
                        || HYPHENATED_ENDINGS.contains(&ending) && has_hyphen(&host)));
    let is_code = is_code_before(behind) || NO_HOSTS.contains(&host.as_str());
    (is_host && !is_code && host.contains('.')).then(|| (host, from..url_end(units, end)))
}

/// Whether a name behind these characters is a part of something else. An underscore between a blank and a name is emphasis.
fn is_inside_code(before: &[Unit]) -> bool {
    let mut before = before.iter().rev().map(|unit| unit.read);
    match before.next() {
        Some('_') => before.find(|one| *one != '_').is_some_and(char::is_alphanumeric),
        Some(one) => ".@/\\#$&=%+".contains(one),
        None => false,
    }
}

/// Whether these characters behind a name are those of a call, an index or a longer word.
fn is_code_before(behind: &[Unit]) -> bool {
    let mut behind = behind.iter().map(|unit| unit.read);
    match behind.next() {
        Some('_') => behind.find(|one| *one != '_').is_some_and(char::is_alphanumeric),
        Some(one) => "([".contains(one),
        None => false,
    }
}

/// Whether a path, a port or a query is behind a name.
fn goes_on(behind: &[Unit]) -> bool {
    let mut behind = behind.iter().map(|unit| unit.read).take(LABEL_CHARS_MAX);
    match behind.next() {
        Some('/') => behind.next().is_some_and(char::is_alphanumeric),
        Some(':') => {
            let digits = behind.by_ref().take_while(char::is_ascii_digit).count();
            (2..=5).contains(&digits)
        }
        Some('?') => {
            let mut query = behind.skip_while(|one| one.is_alphanumeric() || *one == '_');
            query.next() == Some('=')
        }
        _ => false,
    }
}

/// Whether a hyphen is within a label before the last.
fn has_hyphen(host: &str) -> bool {
    host.split('.').any(|label| label.trim_matches('-').contains('-'))
}

/// The index after slashes of either kind, and their number.
fn after_slashes(units: &[Unit], from: usize) -> (usize, usize) {
    let count = units[from..].iter().take_while(|unit| matches!(unit.read, '/' | '\\')).count();
    (from + count, count)
}

/// The host that begins here, without a user name, and the index where it ends.
fn authority(units: &[Unit], from: usize) -> Option<(String, usize)> {
    let is_end = |unit: &&Unit| {
        let one = unit.read;
        one.is_whitespace() || one.is_control() || "/?#\\<>\"'`(){}|^,;!*".contains(one)
    };
    let end = from + units[from..].iter().take_while(|unit| !is_end(unit)).count();
    let raw: String = units[from..end].iter().map(|unit| unit.read).collect();
    let decoded = percent_decoded(&raw);
    let host = decoded.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split([':', ']', '[']).next().unwrap_or_default(),
    };
    let host = host.trim_matches(['.', '-', '~', '_', '&', '=', '$', '%', '+']).to_owned();
    host.contains(|one: char| one.is_alphanumeric()).then_some((host, end))
}

/// The index where a link ends, after path, query and fragment.
fn url_end(units: &[Unit], from: usize) -> usize {
    let goes_on =
        |unit: &&Unit| !(unit.read.is_whitespace() || unit.read.is_control() || "<>\"`)".contains(unit.read));
    let end = from + units[from..].iter().take_while(goes_on).count();
    // Punctuation after a link belongs to the sentence.
    let tail = units[from..end].iter().rev().take_while(|unit| ".,;:!?'*_]}|".contains(unit.read)).count();
    end - tail
}

fn percent_decoded(host: &str) -> String {
    if !host.contains('%') {
        return host.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(host.len()), host.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let coded = after.get(..2).filter(|_| *first == b'%');
        let byte = coded.and_then(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    units(&String::from_utf8_lossy(&bytes)).iter().map(|unit| unit.read).collect()
}

/// The characters of a text as a client reads them.
fn units(text: &str) -> Vec<Unit> {
    let mut units = Vec::with_capacity(text.len());
    let mut start = 0;
    while let Some(character) = text[start..].chars().next() {
        let entity = (character == '&').then(|| entity(&text[start..])).flatten();
        let (read, length) = entity.unwrap_or((character, character.len_utf8()));
        let end = start + length;
        // Clients drop encoded tabs and line ends from an address, and invisible characters.
        let is_dropped = is_invisible(read) || entity.is_some() && matches!(read, '\t' | '\n' | '\r');
        if !is_dropped {
            let narrow = narrow(read);
            let was_large = narrow.is_uppercase();
            units.extend(narrow.to_lowercase().map(|read| Unit { read, was_large, start, end }));
        }
        start = end;
    }
    units
}

/// The plain form of a wide letter, dot or slash.
fn narrow(read: char) -> char {
    match read {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(read) - 0xfee0).unwrap_or(read),
        '\u{3002}' | '\u{ff61}' | '\u{2024}' => '.',
        '\u{2044}' | '\u{2215}' => '/',
        other => other,
    }
}

/// The character of the entity at the beginning of a text, and the length of the entity in bytes.
fn entity(text: &str) -> Option<(char, usize)> {
    let window = &text[1..text.floor_char_boundary(ENTITY_BYTES_MAX)];
    let end = window.find(|one: char| !one.is_ascii_alphanumeric() && one != '#').unwrap_or(window.len());
    let name = &window[..end];
    let read = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            char::from_u32(hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?)?
        }
        None => match name {
            "colon" => ':',
            "sol" => '/',
            "bsol" => '\\',
            "period" => '.',
            "commat" => '@',
            "amp" => '&',
            "Tab" => '\t',
            "NewLine" => '\n',
            "lsqb" | "lbrack" => '[',
            "rsqb" | "rbrack" => ']',
            "num" => '#',
            "quest" => '?',
            _ => return None,
        },
    };
    Some((read, 1 + end + usize::from(window[end..].starts_with(';'))))
}
