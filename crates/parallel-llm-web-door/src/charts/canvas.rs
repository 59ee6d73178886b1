//! A picture in SVG, drawn by plotters in a few fixed colours, which the page's style replaces by those of its theme.

use parallel_llm_engine::value::answer::steers;
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Color, DrawingArea, IntoDrawingArea, IntoFont, PathElement, Polygon, RGBColor, Rectangle,
    SVGBackend, ShapeStyle, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The width of every picture in pixels. It scrolls in a narrower window, so that its text stays legible.
pub(super) const WIDTH: i32 = 880;
/// The font of all text. Plotters divides its size by 1.24.
const FONT: (&str, f64) = ("sans-serif", 16.0);
/// Why drawing cannot fail.
const IN_MEMORY: &str = "a picture is drawn to memory";

/// Text. This colour and the following ones are those of the light theme; `assets/page.css` lists each of them.
pub(super) const INK: RGBColor = RGBColor(0x1A, 0x1D, 0x21);
/// Text and marks of less weight.
pub(super) const FAINT: RGBColor = RGBColor(0x5A, 0x60, 0x69);
/// The lines of a grid.
pub(super) const LINE: RGBColor = RGBColor(0xDC, 0xDF, 0xE2);
/// The measured values.
pub(super) const ACCENT: RGBColor = RGBColor(0x1F, 0x5B, 0xC4);
/// Success.
pub(super) const GOOD: RGBColor = RGBColor(0x18, 0x73, 0x3B);
/// Failure that passes.
pub(super) const WARN: RGBColor = RGBColor(0x8A, 0x53, 0x00);
/// Failure.
pub(super) const BAD: RGBColor = RGBColor(0xB3, 0x26, 0x1E);

/// Pixels from the left and from the top.
pub(super) type Place = (i32, i32);

/// A picture in progress.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Where the place of a text is: at its beginning, its middle or its end.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws a picture of this height in pixels. `id` and `title` are our own words.
pub(super) fn picture(id: &str, title: &str, height: i32, paint: impl FnOnce(&Canvas<'_>)) -> String {
    let mut svg = String::new();
    {
        let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        paint(&canvas);
        canvas.area.present().expect(IN_MEMORY);
    }
    let named = format!("<svg role=\"img\" aria-labelledby=\"{id}-picture\" ");
    let titled = format!("><title id=\"{id}-picture\">{title}</title>\n");
    svg.replacen("<svg ", &named, 1).replacen(">\n", &titled, 1)
}

impl Canvas<'_> {
    /// A text on one line, vertically centred on its place.
    pub(super) fn text(&self, text: &str, place: Place, colour: RGBColor, anchor: Anchor) {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = FONT.into_font().color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text, place, style)).expect(IN_MEMORY);
    }

    /// A filled rectangle between two corners.
    pub(super) fn block(&self, corners: [Place; 2], colour: impl Color) {
        self.area.draw(&Rectangle::new(corners, colour.filled())).expect(IN_MEMORY);
    }

    /// The outline of a rectangle.
    pub(super) fn frame(&self, corners: [Place; 2], colour: RGBColor) {
        self.area.draw(&Rectangle::new(corners, outline(colour, 1))).expect(IN_MEMORY);
    }

    /// Lines from place to place, of this width in pixels.
    pub(super) fn path(&self, places: Vec<Place>, colour: RGBColor, width: u32) {
        self.area.draw(&PathElement::new(places, outline(colour, width))).expect(IN_MEMORY);
    }

    /// A filled shape.
    pub(super) fn shape(&self, corners: Vec<Place>, colour: RGBColor) {
        self.area.draw(&Polygon::new(corners, colour.filled())).expect(IN_MEMORY);
    }

    /// A point, filled or hollow.
    pub(super) fn point(&self, place: Place, colour: RGBColor, is_filled: bool) {
        const RADIUS: i32 = 5;
        let style = if is_filled { colour.filled() } else { outline(colour, 2) };
        self.area.draw(&Circle::new(place, RADIUS, style)).expect(IN_MEMORY);
    }
}

fn outline(colour: RGBColor, width: u32) -> ShapeStyle {
    colour.stroke_width(width)
}

/// A foreign name as a picture shows it: without invisible characters, and with its middle left out if it is wider than so
/// many letters.
pub(super) fn short(name: &str, letters_max: usize) -> String {
    let letters: Vec<char> =
        name.chars().map(|letter| if steers(letter) { '\u{fffd}' } else { letter }).collect();
    // A letter of three bytes or more may be as wide as two.
    let width =
        |letters: &[char]| letters.iter().map(|letter| 1 + usize::from(letter.len_utf8() > 2)).sum::<usize>();
    if width(&letters) <= letters_max {
        return letters.into_iter().collect();
    }
    let half = (letters_max - 1) / 2;
    let (mut begin, mut end) = (letters.len().min(half), letters.len().saturating_sub(half));
    while width(&letters[..begin]) > half {
        begin -= 1;
    }
    while width(&letters[end..]) > half {
        end += 1;
    }
    letters[..begin].iter().chain(&['…']).chain(&letters[end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle_and_an_invisible_letter_is_seen() {
        assert_eq!(short("openai/gpt", 27), "openai/gpt");
        assert_eq!(short(&format!("lab/{}-mini", "x".repeat(200)), 15), "lab/xxx…xx-mini");
        assert_eq!(short(&"模".repeat(200), 9), "模模…模模");
        assert_eq!(short("a\u{202e}b\nc", 27), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_hostile_name_is_text() {
        let svg = picture("a", "A title", 20, |canvas| {
            canvas.text("</text><script>\"'&", (0, 9), INK, Anchor::Start);
        });
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&quot;&apos;&amp;"), "{svg}");
        let begin = "<svg role=\"img\" aria-labelledby=\"a-picture\" width=\"880\" height=\"20\" ";
        assert!(
            svg.starts_with(begin) && svg.contains("><title id=\"a-picture\">A title</title>\n<text "),
            "{svg}"
        );
        assert!(!svg.contains("style=") && !svg.contains("<script"), "{svg}");
    }
}
