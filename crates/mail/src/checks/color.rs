//! Colours of styles, and the contrast between two (WCAG 2.2, relative luminance).

use std::fmt;

/// A colour that is not transparent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Color(u8, u8, u8);

/// The names that mails use most.
const NAMES: [(&str, Color); 20] = [
    ("white", Color(255, 255, 255)),
    ("black", Color(0, 0, 0)),
    ("red", Color(255, 0, 0)),
    ("green", Color(0, 128, 0)),
    ("blue", Color(0, 0, 255)),
    ("gray", Color(128, 128, 128)),
    ("grey", Color(128, 128, 128)),
    ("silver", Color(192, 192, 192)),
    ("lightgray", Color(211, 211, 211)),
    ("lightgrey", Color(211, 211, 211)),
    ("darkgray", Color(169, 169, 169)),
    ("darkgrey", Color(169, 169, 169)),
    ("whitesmoke", Color(245, 245, 245)),
    ("yellow", Color(255, 255, 0)),
    ("orange", Color(255, 165, 0)),
    ("navy", Color(0, 0, 128)),
    ("teal", Color(0, 128, 128)),
    ("maroon", Color(128, 0, 0)),
    ("purple", Color(128, 0, 128)),
    ("olive", Color(128, 128, 0)),
];

impl Color {
    /// Reads a name, `#rgb`, `#rrggbb` or `rgb()`. `None` for a colour that is transparent or not
    /// known.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(digits) = text.strip_prefix('#') {
            return Self::hexadecimal(digits);
        }
        if let Some(values) = text
            .strip_prefix("rgb")
            .and_then(|rest| rest.split_once('('))
        {
            let mut values = values
                .1
                .trim_end_matches(')')
                .split([',', ' ', '/'])
                .filter(|value| !value.is_empty());
            let mut next = || values.next()?.parse::<u8>().ok();
            let color = Self(next()?, next()?, next()?);
            let is_opaque = values
                .next()
                .is_none_or(|alpha| matches!(alpha, "1" | "1.0" | "100%"));
            return is_opaque.then_some(color);
        }
        NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, color)| *color)
    }

    fn hexadecimal(digits: &str) -> Option<Self> {
        let value = u32::from_str_radix(digits, 16).ok()?;
        match digits.len() {
            3 => {
                let [_, red, green, blue] =
                    [value >> 12, value >> 8, value >> 4, value].map(|one| (one & 15) as u8 * 17);
                Some(Self(red, green, blue))
            }
            6 => {
                let [_, red, green, blue] = value.to_be_bytes();
                Some(Self(red, green, blue))
            }
            _ => None,
        }
    }

    fn luminance(self) -> f32 {
        let linear = |part: u8| {
            let part = f32::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }
}

/// The contrast ratio, 1 to 21.
pub(super) fn contrast(one: Color, other: Color) -> f32 {
    let one = one.luminance();
    let other = other.luminance();
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

impl fmt::Display for Color {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_every_notation() {
        for (text, shown) in [
            ("#FFF", "#ffffff"),
            ("#1a2b3c", "#1a2b3c"),
            ("rgb(1, 2, 3)", "#010203"),
            ("rgba(1,2,3,1)", "#010203"),
            ("rgb(1 2 3)", "#010203"),
            (" Silver ", "#c0c0c0"),
        ] {
            assert_eq!(Color::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for text in [
            "",
            "#",
            "#12345",
            "#ggg",
            "rgba(1,2,3,.5)",
            "inherit",
            "rgb(1,2)",
            "var(--x)",
        ] {
            assert_eq!(Color::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_contrast_is_that_of_the_guidelines() {
        let ratio = |one: &str, other: &str| {
            contrast(Color::parse(one).unwrap(), Color::parse(other).unwrap())
        };
        assert!((ratio("black", "white") - 21.0).abs() < 0.01);
        assert!((ratio("white", "white") - 1.0).abs() < 0.01);
        assert!((ratio("#767676", "white") - 4.54).abs() < 0.01);
    }
}
