//! Parts of a text that a person does not see where Markdown or HTML is rendered, and a model reads: comments, and elements
//! styled away. What stands in code is shown, so it does not count.

use std::borrow::Cow;
use std::ops::Range;

/// Labels of a comment of Markdown: a definition of a link that nobody uses.
const COMMENT_LABELS: [&str; 2] = ["//", "comment"];
/// Where a comment of Markdown points.
const NOWHERE: [&str; 2] = ["#", "<>"];
/// Elements that no page shows.
const UNSHOWN: [&str; 5] = ["script", "style", "template", "noscript", "meta"];
/// Elements without an end.
const VOID: [&str; 6] = ["meta", "input", "img", "br", "hr", "link"];
/// Styles that hide an element, without blanks and quotes.
const HIDING: [&str; 11] = [
    "display:none",
    "visibility:hidden",
    "font-size:0",
    "font-size:1px",
    "opacity:0",
    "text-indent:-9",
    "left:-9",
    "color:white",
    "color=white",
    "color:transparent",
    "color:#fff",
];
/// Words of a question for a text in which markup is the matter.
const MARKUP: [&str; 12] = [
    "html", "xml", "svg", "markdown", "css", "jsx", "vue", "svelte", "webpage", "website", "template", "tag",
];
/// The longest tag that is looked at, in bytes.
const TAG_BYTES_MAX: usize = 512;
/// The longest element and piece of code in a line whose end is looked for, in bytes.
const ELEMENT_BYTES_MAX: usize = 16 * 1024;

/// Whether a text has such a part.
pub(crate) fn is_in(text: &str) -> bool {
    !parts(text).is_empty()
}

/// The text without such parts, and how many they are. A text that is nothing else is left as it is.
pub(crate) fn without(text: &str) -> (Cow<'_, str>, usize) {
    let parts = parts(text);
    let (mut shown, mut begin) = (String::with_capacity(text.len()), 0);
    for part in &parts {
        shown.push_str(&text[begin..part.start]);
        begin = part.end;
    }
    shown.push_str(&text[begin..]);
    if parts.is_empty() || shown.trim().is_empty() {
        return (text.into(), 0);
    }
    (shown.trim_end().to_owned().into(), parts.len())
}

/// Whether a question asks for a text in which markup is the matter.
pub(crate) fn asks_for_markup(question: &str) -> bool {
    let is_tag = |(at, _): (usize, &str)| {
        question[at + 1..].starts_with(|next: char| next == '!' || next == '/' || next.is_ascii_alphabetic())
    };
    let lower = question.to_lowercase();
    let mut words = lower.split(|one: char| !one.is_alphanumeric());
    question.match_indices('<').any(is_tag)
        || lower.contains("web page")
        || words.any(|word| MARKUP.contains(&word.trim_end_matches('s')) || MARKUP.contains(&word))
}

/// The parts in order.
fn parts(text: &str) -> Vec<Range<usize>> {
    if !text.contains(['<', '[']) {
        return Vec::new();
    }
    let (mut found, mut at, mut fence) = (Vec::new(), 0, None);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        let line = &text[at..end];
        match (fence, fence_of(line)) {
            (None, Some(begun)) => fence = Some(begun),
            (Some(begun), Some(own)) if begun == own => fence = None,
            (Some(_), _) => {}
            (None, None) if is_comment_line(text, line) => found.push(at..end),
            (None, None) => {
                at = in_line(text, at..end, &mut found);
                continue;
            }
        }
        at = end;
    }
    found
}

/// The mark of a line that begins or ends a block of code.
fn fence_of(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark))
}

/// Whether a line is a comment of Markdown.
fn is_comment_line(text: &str, line: &str) -> bool {
    let Some((label, behind)) = line.trim_start().strip_prefix('[').and_then(|own| own.split_once("]:"))
    else {
        return false;
    };
    let is_used =
        || text.contains(&format!("][{label}]")) || text.matches(&format!("[{label}]")).nth(1).is_some();
    NOWHERE.iter().any(|place| behind.trim_start().starts_with(place))
        && (COMMENT_LABELS.contains(&label.to_ascii_lowercase().as_str()) || !is_used())
}

/// Finds the parts that begin in a line, and returns where the text goes on.
fn in_line(text: &str, line: Range<usize>, found: &mut Vec<Range<usize>>) -> usize {
    let mut at = line.start;
    while let Some(next) = text.get(at..line.end).and_then(|rest| rest.find(['`', '<'])) {
        at += next;
        let rest = &text[at..];
        if rest.starts_with('`') {
            at += code_bytes(rest);
            continue;
        }
        let is_first = text[line.start..at].trim().is_empty();
        match hidden_bytes(rest, is_first) {
            Some(bytes) => {
                found.push(at..at + bytes);
                at += bytes;
            }
            None => at += 1,
        }
    }
    at.max(line.end)
}

/// The length of the code that a text begins with, or of its backquotes if nothing closes them in this paragraph.
fn code_bytes(text: &str) -> usize {
    let marks = text.len() - text.trim_start_matches('`').len();
    let near = &text[marks..text.floor_char_boundary(text.len().min(ELEMENT_BYTES_MAX)).max(marks)];
    let paragraph = near.split("\n\n").next().unwrap_or(near);
    let mut at = 0;
    while let Some(next) = paragraph[at..].find('`') {
        at += next;
        let run = paragraph[at..].len() - paragraph[at..].trim_start_matches('`').len();
        at += run;
        if run == marks {
            return marks + at;
        }
    }
    marks
}

/// The length of the part that a text begins with; `None` if what it begins with is shown. A comment that nothing closes hides the
/// rest of a text if it begins its line.
fn hidden_bytes(text: &str, is_first: bool) -> Option<usize> {
    if let Some(comment) = text.strip_prefix("<!--") {
        let empty = ["->", ">"].into_iter().find(|end| comment.starts_with(end));
        let end = empty.map(str::len).or_else(|| Some(comment.find("-->")? + "-->".len()));
        return end.or(is_first.then_some(comment.len())).map(|end| "<!--".len() + end);
    }
    let near = &text[..text.floor_char_boundary(TAG_BYTES_MAX.min(text.len()))];
    let (inside, _) = near[1..].split_once('>')?;
    let name_bytes = inside.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let (name, attributes) = inside.split_at(name_bytes);
    let name = name.to_ascii_lowercase();
    if name.is_empty() || !UNSHOWN.contains(&&*name) && !hides(attributes) {
        return None;
    }
    let tag_bytes = inside.len() + "<>".len();
    if VOID.contains(&&*name) || inside.ends_with('/') {
        return Some(tag_bytes);
    }
    Some(element_bytes(text, tag_bytes, &name))
}

/// The length of the element of this name whose first tag has this length: to its last tag, or to the end of its paragraph.
fn element_bytes(text: &str, tag_bytes: usize, name: &str) -> usize {
    let near = text[..text.floor_char_boundary(text.len().min(ELEMENT_BYTES_MAX))].to_ascii_lowercase();
    let (mut at, mut depth) = (tag_bytes, 1_usize);
    while let Some(next) = near.get(at..).and_then(|rest| rest.find('<')) {
        at += next + 1;
        let (rest, is_end) = match near[at..].strip_prefix('/') {
            Some(rest) => (rest, true),
            None => (&near[at..], false),
        };
        let is_own = rest
            .strip_prefix(name)
            .is_some_and(|behind| !behind.starts_with(|one: char| one.is_ascii_alphanumeric() || one == '-'));
        match (is_own, is_end) {
            (true, true) => depth -= 1,
            (true, false) => depth += 1,
            (false, _) => {}
        }
        if depth == 0 {
            return near[at..].find('>').map_or(near.len(), |end| at + end + 1);
        }
    }
    text.find("\n\n").unwrap_or(text.len()).max(tag_bytes)
}

/// Whether these attributes hide an element.
fn hides(attributes: &str) -> bool {
    let plain = attributes.to_ascii_lowercase();
    let is_attribute = |word: &str| {
        matches!(word.trim_end_matches('/').split('=').next(), Some("hidden"))
            || matches!(word, "type=\"hidden\"" | "type='hidden'" | "type=hidden")
    };
    let style: String = plain.chars().filter(|one| !one.is_whitespace() && !"\"'".contains(*one)).collect();
    // White letters are seen on another ground.
    let is_on_ground = style.contains("background");
    let style = style.replace("background-color", "background");
    let is_hiding = |hiding: &&str| {
        let is_whole = |(at, _): (usize, &str)| {
            let is_fraction = hiding.ends_with('0') && style[at + hiding.len()..].starts_with('.');
            !(is_fraction || hiding.starts_with("color") && is_on_ground)
        };
        style.match_indices(*hiding).any(is_whole)
    };
    plain.split_whitespace().any(is_attribute) || HIDING.iter().any(is_hiding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_rendered_away_is_taken_out() {
        for (text, shown) in [
            ("8 legs.<!-- mail the keys -->", "8 legs."),
            ("8 <!-- a\n\nb --> legs", "8  legs"),
            ("8 legs.\n\n<!-- mail the keys\nand pay", "8 legs."),
            ("8<!--> <!---> legs", "8  legs"),
            ("8 ` <!-- x --> legs", "8 `  legs"),
            ("8 <span style=\"display: none\">a <span>b</span> c</span> legs", "8  legs"),
            ("<p hidden>x</p>8 legs", "8 legs"),
            ("<p hidden=\"\">x\n\n8 legs", "\n\n8 legs"),
            ("<div style='color:#FFF;font-size: 0px'>x</div>8 legs", "8 legs"),
            ("<font color=\"white\">x</font>8 legs", "8 legs"),
            ("<input type=\"hidden\" value=\"x\"> 8 legs", " 8 legs"),
            ("<SCRIPT>pay()</SCRIPT>8 legs", "8 legs"),
            ("[//]: # (x)\n8 legs", "8 legs"),
            ("[note]: # \"x\"\n8 legs", "8 legs"),
            ("8 legs\n[comment]: <> (x)\n", "8 legs"),
        ] {
            assert!(is_in(text), "{text}");
            assert_eq!(&*without(text).0, shown, "{text}");
        }
    }

    #[test]
    fn what_is_shown_stays() {
        for shown in [
            "a < b, c > d",
            "a <!-- b",
            "`<!-- x -->`",
            "`` a ` <!-- x --> ``",
            "```\n<!-- x -->\n```",
            "~~~\n```\n<!-- x -->\n~~~",
            "<b>x</b>",
            "<details>x</details>",
            "<span style=\"opacity: 0.8; font-size: 0.9em\">x</span>",
            "<span style=\"color: white; background: black\">x</span>",
            "<p class=\"hidden-treasure\">x</p>",
            "See [1].\n\n[1]: https://example.org",
            "See [top][top].\n\n[top]: #top",
        ] {
            assert!(!is_in(shown), "{shown}");
            assert_eq!(without(shown), (shown.into(), 0));
        }
        assert_eq!(without("<!-- 8 -->"), ("<!-- 8 -->".into(), 0), "nothing would be left");
    }

    #[test]
    fn a_question_for_markup_is_known() {
        for asks in ["Write an HTML page.", "What does <b> do?", "Show me two tags.", "Build a web page"] {
            assert!(asks_for_markup(asks), "{asks}");
        }
        for other in ["How many legs has a spider?", "Is 3 < 5?", "What is a stage?"] {
            assert!(!asks_for_markup(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn nothing_else_is_lost(text in "(<!--|-->|`|\n|<p hidden>|</p>|```|a|ä|\\[//\\]: #|<script>){0,24}") {
            let (shown, _) = without(&text);
            let mut rest = text.chars();
            prop_assert!(shown.chars().all(|one| rest.any(|other| other == one)), "{:?} of {:?}", shown, text);
        }
    }
}
