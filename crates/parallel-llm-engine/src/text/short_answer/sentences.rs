//! The words, sentences and paragraphs of a request.

/// The longest request that is read, in bytes. A longer one is a document with a question somewhere in it.
pub(super) const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// The words of a text in lower case, without the marks around them.
pub(super) fn words(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|one: char| !(one.is_alphanumeric() || matches!(one, '\'' | '’' | '-')))
        .map(|word| word.trim_matches(['\'', '’', '-']))
        .filter(|word| !word.is_empty())
}

/// The paragraphs of a request, each on one line, without blocks of code and the options of a list.
pub(super) fn paragraphs(request: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in without_code(request).lines() {
        let line = line.trim();
        if is_code(line) {
            continue;
        }
        let option = super::option::of_line(line);
        let begins = line.is_empty()
            || line.starts_with(['-', '*', '#', '•', '>', '{', '['])
            || line.starts_with(|one: char| one.is_ascii_digit());
        if begins || option.is_some() {
            paragraphs.push(String::new());
        }
        // Behind the text of an option something may be asked.
        let asks_behind =
            option.is_some() && sentences(line).iter().skip(2).any(|sentence| !sentence.is_empty());
        let own = match option {
            Some(_) if asks_behind => sentences(line).into_iter().skip(2).collect::<Vec<_>>().join(" "),
            Some(_) => String::new(),
            None => line.to_owned(),
        };
        let last = paragraphs.last_mut().expect("there is one from the start");
        last.push_str(&own);
        last.push(' ');
    }
    paragraphs
}

/// A request without what stands between fences or tags.
fn without_code(request: &str) -> String {
    let fences = request.matches("```").count();
    let plain: String = match fences % 2 {
        0 => request.split("```").step_by(2).collect::<Vec<_>>().join("\n\n"),
        _ => request.to_owned(),
    };
    without_tagged(plain)
}

/// A request without what stands between tags such as `[PYTHON]` and `[/PYTHON]`.
pub(super) fn without_tagged(mut plain: String) -> String {
    while let Some(end) = plain.find("[/") {
        let Some(name) = plain[end + 2..].split(']').next().filter(|name| name.len() < 20) else { break };
        let (open, close) = (format!("[{name}]"), format!("[/{name}]"));
        let Some(begin) = plain[..end].find(&open) else { break };
        plain.replace_range(begin..(end + close.len()).min(plain.len()), "\n\n");
    }
    plain
}

/// Whether a line is code.
pub(super) fn is_code(line: &str) -> bool {
    let begins = [
        "def ", "assert ", "class ", "import ", "return ", "print(", "#include", "fn ", "const ", "var ",
        "//",
    ];
    begins.iter().any(|begin| line.starts_with(begin)) && line.contains(['(', ':', ';', '=', '<', '"'])
}

/// The sentences of a paragraph, each with the mark that ends it.
pub(super) fn sentences(paragraph: &str) -> Vec<&str> {
    let (mut found, mut begin) = (Vec::new(), 0);
    let mut characters = paragraph.char_indices().peekable();
    while let Some((at, one)) = characters.next() {
        let is_followed = characters
            .peek()
            .is_none_or(|(_, next)| next.is_whitespace() || matches!(next, '"' | '”' | ')' | '$'));
        let is_end = matches!(one, '?' | '？' | '؟' | '。' | '！')
            || matches!(one, '.' | '!' | ':' | ';') && is_followed;
        // A colon ends a heading, and not a sentence.
        let is_heading = !is_end || one != ':' || words(&paragraph[begin..at]).take(3).count() <= 2;
        if is_end && is_heading && !(one == '.' && is_abbreviated(&paragraph[begin..at])) {
            let end = at + one.len_utf8();
            found.push(paragraph[begin..end].trim());
            begin = end;
        }
    }
    found.push(paragraph[begin..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Whether the point behind this text belongs to its last word: `Mr.`, `e.g.`, `J.`
fn is_abbreviated(text: &str) -> bool {
    let word = text.rsplit([' ', '(']).next().unwrap_or(text);
    let is_title = matches!(
        word,
        "a.m"
            | "p.m"
            | "Mr"
            | "Mrs"
            | "Ms"
            | "Dr"
            | "St"
            | "Prof"
            | "vs"
            | "e.g"
            | "i.e"
            | "etc"
            | "No"
            | "approx"
    );
    is_title || word.len() == 1 && word.starts_with(|one: char| one.is_ascii_uppercase())
}
