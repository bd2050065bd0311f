//! The elements and their layout.

/// The layout of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Within a line.
    Inline,
    /// On separate lines.
    Block,
    /// A block with an empty line around it.
    Paragraph,
    /// A paragraph that keeps white space.
    Preformatted,
    /// A list, numbered or unnumbered.
    List,
    NumberedList,
    Item,
    Cell,
    /// A line break or a rule: has no content.
    Break,
    Rule,
    /// Neither the element nor its content is shown.
    Never,
    /// An element without content.
    Void,
}

/// Indexes of [`ELEMENTS`].
pub(super) type ElementId = usize;
/// The number of elements.
pub(super) const COUNT: usize = ELEMENTS.len();

/// Sorted by name. All other elements are inline.
const ELEMENTS: &[(&str, Layout)] = &[
    ("a", Layout::Inline),
    ("address", Layout::Block),
    ("area", Layout::Void),
    ("article", Layout::Block),
    ("aside", Layout::Block),
    ("b", Layout::Inline),
    ("base", Layout::Void),
    ("big", Layout::Inline),
    ("blockquote", Layout::Paragraph),
    ("body", Layout::Block),
    ("br", Layout::Break),
    ("button", Layout::Inline),
    ("caption", Layout::Block),
    ("center", Layout::Block),
    ("code", Layout::Inline),
    ("col", Layout::Void),
    ("datalist", Layout::Never),
    ("dd", Layout::Block),
    ("details", Layout::Block),
    ("dir", Layout::List),
    ("div", Layout::Block),
    ("dl", Layout::Paragraph),
    ("dt", Layout::Block),
    ("em", Layout::Inline),
    ("embed", Layout::Void),
    ("fieldset", Layout::Block),
    ("figcaption", Layout::Block),
    ("figure", Layout::Paragraph),
    ("font", Layout::Inline),
    ("footer", Layout::Block),
    ("form", Layout::Block),
    ("h1", Layout::Paragraph),
    ("h2", Layout::Paragraph),
    ("h3", Layout::Paragraph),
    ("h4", Layout::Paragraph),
    ("h5", Layout::Paragraph),
    ("h6", Layout::Paragraph),
    ("header", Layout::Block),
    ("hr", Layout::Rule),
    ("html", Layout::Block),
    ("i", Layout::Inline),
    ("iframe", Layout::Never),
    ("img", Layout::Void),
    ("input", Layout::Void),
    ("ins", Layout::Inline),
    ("label", Layout::Inline),
    ("legend", Layout::Block),
    ("li", Layout::Item),
    ("link", Layout::Void),
    ("main", Layout::Block),
    ("menu", Layout::List),
    ("meta", Layout::Void),
    ("nav", Layout::Block),
    ("noembed", Layout::Never),
    ("noframes", Layout::Never),
    ("ol", Layout::NumberedList),
    ("option", Layout::Block),
    ("p", Layout::Paragraph),
    ("param", Layout::Void),
    ("pre", Layout::Preformatted),
    ("script", Layout::Never),
    ("section", Layout::Block),
    ("small", Layout::Inline),
    ("source", Layout::Void),
    ("span", Layout::Inline),
    ("strong", Layout::Inline),
    ("style", Layout::Never),
    ("sub", Layout::Inline),
    ("summary", Layout::Block),
    ("sup", Layout::Inline),
    ("table", Layout::Block),
    ("tbody", Layout::Block),
    ("td", Layout::Cell),
    ("template", Layout::Never),
    ("textarea", Layout::Block),
    ("tfoot", Layout::Block),
    ("th", Layout::Cell),
    ("thead", Layout::Block),
    ("title", Layout::Never),
    ("tr", Layout::Block),
    ("track", Layout::Void),
    ("tt", Layout::Inline),
    ("u", Layout::Inline),
    ("ul", Layout::List),
    ("wbr", Layout::Void),
];

/// The names as numbers, which have the same order as the names and can be compared in one
/// instruction.
const NAMES: [u128; COUNT] = {
    let mut names = [0; COUNT];
    let mut element = 0;
    while element < COUNT {
        names[element] = number(ELEMENTS[element].0.as_bytes());
        element += 1;
    }
    names
};

/// A name of at most 16 bytes as a number.
const fn number(name: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let (filled, _) = bytes.split_at_mut(name.len());
    filled.copy_from_slice(name);
    u128::from_be_bytes(bytes)
}

/// The element with this lower-case name.
pub(super) fn by_name(name: &[u8]) -> Option<ElementId> {
    if name.len() > 16 {
        return None;
    }
    NAMES.binary_search(&number(name)).ok()
}

/// The layout of an element.
pub(super) fn layout(element: ElementId) -> Layout {
    ELEMENTS
        .get(element)
        .map_or(Layout::Inline, |&(_, layout)| layout)
}

impl Layout {
    /// Whether the element can have content.
    pub(super) fn has_content(self) -> bool {
        !matches!(self, Self::Void | Self::Break | Self::Rule)
    }
}

/// Whether the start of `next` closes an open `current` without an end tag (HTML, section
/// 13.1.2.4).
pub(super) fn implies_end(current: ElementId, next: ElementId) -> bool {
    let name = |element: ElementId| ELEMENTS.get(element).map_or("", |&(name, _)| name);
    match name(current) {
        "p" => !matches!(
            layout(next),
            Layout::Inline | Layout::Break | Layout::Void | Layout::Never
        ),
        "li" => name(next) == "li",
        "dd" | "dt" => matches!(name(next), "dd" | "dt"),
        "td" | "th" => matches!(name(next), "td" | "th" | "tr" | "tbody" | "tfoot"),
        "tr" => matches!(name(next), "tr" | "tbody" | "tfoot"),
        "option" => name(next) == "option",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_sorted() {
        assert!(ELEMENTS.is_sorted_by(|(a, _), (b, _)| a < b));
        assert_eq!(by_name(b"td").map(layout), Some(Layout::Cell));
        assert_eq!(by_name(b"o:p"), None);
        assert_eq!(by_name(&[b'a'; 17]), None);
        for (element, (name, _)) in ELEMENTS.iter().enumerate() {
            assert_eq!(by_name(name.as_bytes()), Some(element), "{name}");
        }
    }
}
