//! Parts of a text that a person does not see where Markdown or HTML is rendered, and a model reads: comments, and elements
//! styled away. What stands in code is shown, so it does not count.

/// How comments of Markdown begin: a definition of a link that nobody uses.
const DEFINITIONS: [&str; 4] = ["[//]: #", "[comment]: #", "[//]: <>", "[comment]: <>"];
/// Styles and attributes that hide an element, without blanks.
const HIDING: [&str; 8] = [
    "display:none",
    "visibility:hidden",
    "font-size:0",
    "opacity:0",
    "color:white",
    "color:#fff",
    "color:transparent",
    "hidden",
];
/// The longest tag that is looked at, in bytes.
const TAG_BYTES_MAX: usize = 512;

/// Whether a text has such a part.
pub(super) fn is_in(text: &str) -> bool {
    let mut is_code = false;
    text.lines().any(|line| {
        let begin = line.trim_start();
        if begin.starts_with("```") || begin.starts_with("~~~") {
            is_code = !is_code;
            return false;
        }
        !is_code && is_in_line(line)
    })
}

fn is_in_line(line: &str) -> bool {
    let begin = line.trim_start().to_ascii_lowercase();
    if DEFINITIONS.iter().any(|definition| begin.starts_with(definition)) {
        return true;
    }
    // The odd pieces are between backquotes.
    line.split('`').step_by(2).any(|shown| {
        let mut tags = shown.split('<').skip(1);
        tags.any(|tag| tag.starts_with("!--") || hides(tag))
    })
}

/// Whether a tag hides its element.
fn hides(tag: &str) -> bool {
    let Some((inside, _)) = tag[..tag.floor_char_boundary(TAG_BYTES_MAX.min(tag.len()))].split_once('>')
    else {
        return false;
    };
    let Some((_, attributes)) = inside.split_once(char::is_whitespace) else { return false };
    let style: String = attributes.to_ascii_lowercase().chars().filter(|it| !it.is_whitespace()).collect();
    let style = style.replace("background-color", "background");
    let (named, plain): (Vec<&str>, Vec<&str>) = HIDING.into_iter().partition(|it| it.contains(':'));
    named.iter().any(|it| style.contains(it))
        || attributes.split_whitespace().any(|word| plain.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn what_is_rendered_away_is_found_and_code_is_not() {
        for hiding in [
            "<!-- x -->",
            "a <span style=\"display: none\">b</span>",
            "<p hidden>x</p>",
            "<div style='color:#FFF;font-size: 0px'>x</div>",
            "[//]: # (x)",
        ] {
            assert!(is_in(hiding), "{hiding}");
        }
        for shown in
            ["a < b, c > d", "`<!-- x -->`", "```\n<!-- x -->\n```", "<b>x</b>", "<details>x</details>"]
        {
            assert!(!is_in(shown), "{shown}");
        }
    }
}
