//! The names in style sheets and style attributes: properties, units, functions, at-rules,
//! selectors. It does not parse CSS: braces, semicolons and colons are enough to distinguish the
//! names.

/// Calls `found` with each name of a style sheet.
pub(crate) fn names_of_sheet(sheet: &str, found: &mut impl FnMut(&str)) {
    let sheet = without_comments(sheet, found);
    let mut start = 0;
    for (position, character) in sheet.char_indices() {
        if !matches!(character, '{' | '}' | ';') {
            continue;
        }
        let piece = sheet[start..position].trim();
        match character {
            '{' if piece.starts_with('@') => names_of_rule(piece, found),
            '{' => names_of_selector(piece, found),
            _ if piece.starts_with('@') => names_of_rule(piece, found),
            _ => names_of_declaration(piece, found),
        }
        start = position + 1;
    }
}

/// Calls `found` with each name of a style attribute.
pub(crate) fn names_of_declarations(style: &str, found: &mut impl FnMut(&str)) {
    let style = without_comments(style, found);
    style
        .split(';')
        .for_each(|piece| names_of_declaration(piece.trim(), found));
}

fn without_comments(text: &str, found: &mut impl FnMut(&str)) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        found("css-comment");
        plain.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.make_ascii_lowercase();
    plain
}

fn names_of_rule(rule: &str, found: &mut impl FnMut(&str)) {
    let name = rule[1..]
        .split(|character: char| !is_name(character))
        .next()
        .unwrap_or_default();
    found(&format!("at:{}", name.trim_start_matches("-webkit-")));
    if name == "media" {
        for feature in rule.split('(').skip(1) {
            let feature = feature
                .split(|character: char| !is_name(character))
                .next()
                .unwrap_or_default();
            let feature = feature
                .trim_start_matches("-webkit-")
                .trim_start_matches("min-")
                .trim_start_matches("max-");
            found(&format!("media:{feature}"));
        }
    }
}

fn names_of_selector(selector: &str, found: &mut impl FnMut(&str)) {
    for combinator in ["+", "~", ">", "*", "["] {
        if selector.contains(combinator) {
            found(&format!("sel:{combinator}"));
        }
    }
    for pseudo in selector.split(':').skip(1) {
        let name = pseudo
            .split(|character: char| !is_name(character))
            .next()
            .unwrap_or_default();
        found(&format!("pseudo:{name}"));
    }
}

fn names_of_declaration(declaration: &str, found: &mut impl FnMut(&str)) {
    let Some((property, value)) = declaration.split_once(':') else {
        return;
    };
    let property = property.trim().to_ascii_lowercase();
    let value = value.trim().to_ascii_lowercase();
    if property.is_empty() || !property.chars().all(is_name) {
        return;
    }
    found(&format!("prop:{property}"));
    found(&format!(
        "val:{property}:{}",
        value.split_whitespace().next().unwrap_or_default()
    ));
    if value.contains("!important") {
        found("important");
    }
    for word in
        value.split(|character: char| character.is_whitespace() || "(),/!".contains(character))
    {
        found(&format!("val:{word}"));
        let unit = word
            .trim_start_matches(['+', '-'])
            .trim_start_matches(|one: char| one.is_ascii_digit() || one == '.');
        if unit.len() < word.len() && !unit.is_empty() && !word.starts_with('#') {
            found(&format!("unit:{unit}"));
        }
    }
    for (position, _) in value.match_indices('(') {
        let name = value[..position]
            .rsplit(|character: char| !is_name(character))
            .next()
            .unwrap_or_default();
        found(&format!("fn:{}", name.trim_start_matches("-webkit-")));
    }
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sheet: &str) -> Vec<String> {
        let mut names = Vec::new();
        names_of_sheet(sheet, &mut |name| names.push(name.to_owned()));
        names
    }

    #[test]
    fn a_style_sheet_is_parsed_into_rules() {
        let found =
            names("@media (max-width:1px){a:hover{width:CALC(1px + 2.5rem)!important;}}/* x */");
        for name in [
            "at:media",
            "media:width",
            "pseudo:hover",
            "prop:width",
            "fn:calc",
            "unit:px",
            "unit:rem",
            "important",
        ] {
            assert!(found.iter().any(|one| one == name), "{name}: {found:?}");
        }
        assert!(found.iter().any(|one| one == "css-comment"));
    }

    #[test]
    fn broken_style_sheets_are_parsed_to_their_end() {
        for sheet in ["", "{", "}", "@", "@;", "a{b", "/*", "a:;:b{}", "é{ü:ä;}"] {
            names(sheet);
        }
    }
}
