//! Hidden content: styles that hide an element, and where a hidden element ends.

use super::elements::{self, COUNT, ElementId, Layout};

/// The effect of a `style` attribute on showing an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) hides: bool,
    /// `display`, if it changes the layout of the element: a block becomes inline, or an inline
    /// element a block.
    pub(super) layout: Option<Layout>,
    /// Whether `white-space` keeps line ends.
    pub(super) keeps_white_space: bool,
}

/// The properties that are read.
const READ: [&str; 9] = [
    "display",
    "visibility",
    "opacity",
    "max-height",
    "max-width",
    "height",
    "width",
    "overflow",
    "white-space",
];

impl Style {
    /// Reads a `style` attribute.
    pub(crate) fn parse(style: &str) -> Self {
        let mut parsed = Self::default();
        let mut is_flat = false;
        let mut clips = false;
        for declaration in style.split(';') {
            let Some((property, value)) = declaration.split_once(':') else {
                continue;
            };
            let property = property.trim();
            let Some(property) = READ.iter().find(|read| read.eq_ignore_ascii_case(property))
            else {
                continue;
            };
            let value = value.split('!').next().unwrap_or_default().trim();
            let is = |word: &&str| value.eq_ignore_ascii_case(word);
            match *property {
                "display" => {
                    parsed.hides |= is(&"none");
                    parsed.layout = display(value);
                }
                "visibility" => parsed.hides |= ["hidden", "collapse"].iter().any(is),
                "opacity" => parsed.hides |= value.parse() == Ok(0.0),
                "max-height" | "max-width" | "height" | "width" => is_flat |= is_zero(value),
                "overflow" => clips |= is(&"hidden"),
                "white-space" => {
                    parsed.keeps_white_space |= ["pre", "pre-wrap", "pre-line"].iter().any(is);
                }
                _ => {}
            }
        }
        parsed.hides |= is_flat && clips;
        parsed
    }
}

fn display(value: &str) -> Option<Layout> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    if is_one_of(&["inline-block", "inline-flex", "inline-table", "inline"]) {
        Some(Layout::Inline)
    } else if is_one_of(&["block", "flex", "grid", "table", "list-item", "table-row"]) {
        Some(Layout::Block)
    } else {
        is_one_of(&["table-cell"]).then_some(Layout::Cell)
    }
}

fn is_zero(length: &str) -> bool {
    length
        .trim_end_matches(|character: char| character.is_ascii_alphabetic() || character == '%')
        .parse()
        == Ok(0.0)
}

/// A hidden element that is still open. Elements within it are counted but not stored.
#[derive(Debug)]
pub(super) struct Region {
    root: Vec<u8>,
    root_id: Option<ElementId>,
    /// The number of open elements of the same kind, including the hidden one.
    depth: usize,
    inner: [u32; COUNT],
}

impl Region {
    pub(super) fn new(name: &[u8]) -> Self {
        Self {
            root: name.to_vec(),
            root_id: elements::by_name(name),
            depth: 1,
            inner: [0; COUNT],
        }
    }

    /// An element starts in the hidden region; returns whether this ends the region.
    pub(super) fn open(&mut self, name: &[u8], id: Option<ElementId>) -> bool {
        if let (Some(root), Some(id), 1) = (self.root_id, id, self.depth)
            && elements::implies_end(root, id)
            && self.inner.iter().all(|&count| count == 0)
        {
            return true;
        }
        if name == self.root {
            self.depth += 1;
        } else if let Some(id) = id.filter(|&id| elements::layout(id).has_content()) {
            self.inner[id] += 1;
        }
        false
    }

    /// An element ends. `is_open_outside`: whether an element of its kind was open when the region
    /// started. Returns whether this ends the region, and whether the end tag also counts outside.
    pub(super) fn close(
        &mut self,
        name: &[u8],
        id: Option<ElementId>,
        is_open_outside: bool,
    ) -> (bool, bool) {
        if name == self.root {
            self.depth -= 1;
            return (self.depth == 0, false);
        }
        let Some(id) = id else { return (false, false) };
        if self.inner[id] > 0 {
            self.inner[id] -= 1;
            return (false, false);
        }
        // The end tag of a block's parent ends the block, but an inline end tag without a start tag
        // has no effect.
        let ends = is_open_outside && elements::layout(id) != Layout::Inline;
        (ends, ends)
    }
}
