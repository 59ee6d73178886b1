//! Invisible characters: their table, a text without them, and how many a text hides.
//!
//! Invisible characters can carry a message that a model reads and a person does not see. Some scripts need a few of them:
//! joiners between letters of Arabic or Indic scripts and between the parts of an emoji, the variation selector that turns a
//! symbol into an emoji, the tags of a flag. These are kept, but only next to the visible characters they belong to.

use std::borrow::Cow;

/// The most tags after a flag, such as `gbeng` and the end tag. A longer sequence is no flag.
const FLAG_TAGS_MAX: usize = 7;

/// Whether a character is invisible: Unicode's default ignorable characters, fillers and format characters.
pub const fn is_invisible(character: char) -> bool {
    // Every character of most texts is below all of these, and each text is searched several times.
    character >= '\u{ad}'
        && matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a character reorders the text around it.
const fn reorders(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character controls a terminal, a log or the order of the text around it instead of being read.
pub fn steers(character: char) -> bool {
    character.is_control() || reorders(character) || matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// The visible text: without unneeded invisible characters, and without control characters except line ends and tabs.
pub fn seen(text: &str) -> Cow<'_, str> {
    let is_dropped = |character: char| is_invisible(character) || is_stray_control(character);
    // Most texts have none, and scanning bytes is many times faster than copying characters.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    if text.bytes().all(is_plain) || !text.contains(is_dropped) {
        return text.into();
    }
    let needed = Needed::of(text);
    let is_kept = |(at, character): &(usize, char)| {
        !is_dropped(*character) || needed.contains(*at) && !reorders(*character)
    };
    text.char_indices().filter(is_kept).map(|(_, character)| character).collect::<String>().into()
}

/// An answer as it is handed on, and how many characters it loses: those that no person sees and no visible one needs. Unlike
/// [`seen`] it keeps the marks of direction of right-to-left text, which place what a person reads, and all line ends.
pub fn handed_on(text: &str) -> (Cow<'_, str>, usize) {
    let is_control = |one: char| is_stray_control(one) && !matches!(one, '\u{b}' | '\u{c}' | '\u{85}');
    if !text.contains(|one| is_invisible(one) || is_control(one)) {
        return (text.into(), 0);
    }
    let needed = Needed::of(text);
    let is_hidden =
        |(at, one): &(usize, char)| is_control(*one) || is_invisible(*one) && !needed.contains(*at);
    let count = text.char_indices().filter(is_hidden).count();
    let kept = text.char_indices().filter(|one| !is_hidden(one));
    (if count == 0 { text.into() } else { kept.map(|(_, one)| one).collect::<String>().into() }, count)
}

/// How many invisible characters of a text no visible character needs.
pub fn hidden(text: &str) -> usize {
    if !text.contains(is_invisible) {
        return 0;
    }
    let needed = Needed::of(text);
    text.char_indices().filter(|(at, character)| is_invisible(*character) && !needed.contains(*at)).count()
}

fn is_stray_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}

/// The byte positions of the invisible characters a text needs, sorted.
struct Needed(Vec<usize>);

impl Needed {
    fn of(text: &str) -> Self {
        let is_rtl = text.chars().any(is_right_to_left);
        let (mut needed, mut before) = (Vec::new(), None);
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            if !is_invisible(character) {
                before = Some(character);
                if character == '\u{1f3f4}' {
                    needed.extend(flag(&text[at + character.len_utf8()..], at + character.len_utf8()));
                }
                continue;
            }
            let behind = rest.peek().map(|(_, behind)| *behind);
            let is_needed = match character {
                // No script needs an override of the letter order.
                '\u{202d}' | '\u{202e}' => false,
                _ if reorders(character) => is_rtl,
                _ => before.is_some_and(|before| belongs(before, character, behind)),
            };
            needed.extend(is_needed.then_some(at));
            // Only the first invisible character after a visible one can belong to it; a joiner may also follow a variation
            // selector.
            before = before.filter(|before| character == '\u{fe0f}' && is_pictorial(*before));
        }
        needed.sort_unstable();
        Self(needed)
    }

    fn contains(&self, at: usize) -> bool {
        self.0.binary_search(&at).is_ok()
    }
}

/// Whether an invisible character belongs between the visible ones around it.
fn belongs(before: char, character: char, behind: Option<char>) -> bool {
    match character {
        '\u{200c}' => joins(before) && behind.is_some_and(joins),
        '\u{200d}' => joins(before) || is_pictorial(before) && behind.is_some_and(is_pictorial),
        '\u{fe0e}' | '\u{fe0f}' => {
            is_pictorial(before) || matches!(before, '#' | '*' | '0'..='9') && behind == Some('\u{20e3}')
        }
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
        _ => false,
    }
}

/// The byte positions of the tags of a flag. `behind` is the text after the black flag, which begins at byte `from`.
fn flag(behind: &str, from: usize) -> Vec<usize> {
    let tags: Vec<(usize, char)> = behind.char_indices().take(FLAG_TAGS_MAX).collect();
    let end = tags.iter().position(|(_, tag)| *tag == '\u{e007f}').unwrap_or(0);
    let is_region =
        |(_, tag): &(usize, char)| matches!(tag, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let is_flag = end > 0 && tags[..end].iter().all(is_region);
    tags[..if is_flag { end + 1 } else { 0 }].iter().map(|(at, _)| from + at).collect()
}

/// Letters that take joiners: of the Arabic scripts, and of the scripts of India and South-East Asia.
const fn joins(character: char) -> bool {
    matches!(character,
        '\u{620}'..='\u{6d5}' | '\u{6ee}'..='\u{77f}' | '\u{7ca}'..='\u{7ea}' | '\u{860}'..='\u{8e1}' | '\u{900}'..='\u{dff}'
            | '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{18af}' | '\u{1a20}'..='\u{1aad}'
            | '\u{a980}'..='\u{a9df}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
}

/// Symbols that can be drawn as emoji, and their skin tones.
const fn is_pictorial(character: char) -> bool {
    matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
            | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

const fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{60b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, count: usize) {
        assert_eq!((&*seen(text), hidden(text)), (expected, count), "{text:?}");
    }

    #[test]
    fn characters_that_a_script_needs_are_kept() {
        for text in [
            "plain\ttext\r\n",
            "می\u{200c}خواهم",
            "क्\u{200d}ष न\u{94d}\u{200d}",
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 👩🏽\u{200d}🚀 1\u{fe0f}\u{20e3} ©\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "ᠮᠣᠩᠭᠣᠯ\u{180e}ᠠ",
        ] {
            check(text, text, 0);
        }
        // Direction marks belong to right-to-left text, but a reader does not need them.
        check("שלום \u{200f}(\u{2067}abc\u{2069})", "שלום (abc)", 0);
    }

    #[test]
    fn an_answer_is_handed_on_with_what_it_needs() {
        let family =
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 می\u{200c}خواهم 🏴\u{e0067}\u{e0062}\u{e007f}.\r\n";
        let right_to_left = "שלום \u{200f}(a)";
        for (text, expected, count) in [
            (family, family, 0),
            ("8\u{200b} legs", "8 legs", 1),
            ("a\u{1b}[2J\u{85}b\u{c}", "a[2J\u{85}b\u{c}", 1),
            ("\u{200d}a", "a", 1),
            (right_to_left, right_to_left, 0),
            ("a\u{200f}(a)", "a(a)", 1),
        ] {
            assert_eq!(handed_on(text), (expected.into(), count), "{text:?}");
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        for hidden in [
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{2060}",
            "\u{2062}",
            "\u{feff}",
            "\u{ad}",
            "\u{34f}",
            "\u{115f}",
            "\u{1160}",
            "\u{3164}",
            "\u{ffa0}",
            "\u{180e}",
            "\u{17b5}",
            "\u{fe00}",
            "\u{fe0f}",
            "\u{e0041}",
            "\u{e0100}",
            "\u{e01ef}",
            "\u{202e}",
            "\u{200e}",
            "\u{2066}",
            "\u{fffb}",
            "\u{1d173}",
            "\u{206a}",
        ] {
            check(&format!("a{hidden}b"), "ab", 1);
        }
        // A sequence of selectors hides a message behind a needed one.
        check("😀\u{fe0f}\u{fe01}\u{fe0f}\u{e0110}", "😀\u{fe0f}", 3);
        check("🏴\u{e0049}\u{e0067}\u{e007f}", "🏴", 3);
        check("a\u{200d}👧", "a👧", 1);
        check("a\0\u{1b}[2J\u{9b}b", "a[2Jb", 0);
    }
}
