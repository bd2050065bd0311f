//! Splits the source of an HTML body into pieces with a class each, so that a page can show it in
//! colours. The classes are used for display only.

/// A piece of the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// `tag`, `name`, `value`, `comment`, or nothing for text.
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// After this number of pieces, the rest of the text is one piece.
const PIECES: usize = 20_000;

/// The pieces of `html`; together they are the whole text.
pub(super) fn pieces(html: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = html;
    while !rest.is_empty() && pieces.len() < PIECES {
        let text = rest.find('<').unwrap_or(rest.len());
        rest = push(&mut pieces, "", rest, text);
        if rest.starts_with("<!") {
            let end = if rest.starts_with("<!--") {
                rest.find("-->").map(|end| end + 3)
            } else {
                end_of_tag(rest)
            };
            rest = push(&mut pieces, "comment", rest, end.unwrap_or(rest.len()));
        } else if !rest.is_empty() {
            rest = tag(&mut pieces, rest);
        }
    }
    push(&mut pieces, "", rest, rest.len());
    pieces
}

/// A tag with its attributes.
fn tag<'h>(pieces: &mut Vec<Piece>, html: &'h str) -> &'h str {
    let inside = |character: char| !character.is_ascii_whitespace() && character != '>';
    let name = html
        .find(|character| !inside(character))
        .unwrap_or(html.len());
    let mut rest = push(pieces, "tag", html, name);
    while let Some(first) = rest.chars().next().filter(|_| pieces.len() < PIECES) {
        match first {
            '>' => return push(pieces, "tag", rest, 1),
            '"' | '\'' => {
                let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
                rest = push(pieces, "value", rest, end);
            }
            '=' => rest = push(pieces, "", rest, 1),
            _ if first.is_ascii_whitespace() => {
                let end = rest
                    .find(|character: char| !character.is_ascii_whitespace())
                    .unwrap_or(rest.len());
                rest = push(pieces, "", rest, end);
            }
            _ => {
                let end = rest
                    .find(|character: char| !inside(character) || character == '=')
                    .unwrap_or(rest.len());
                rest = push(pieces, "name", rest, end);
            }
        }
    }
    rest
}

fn end_of_tag(html: &str) -> Option<usize> {
    html.find('>').map(|end| end + 1)
}

/// Takes the first `length` bytes as one piece, and returns the rest.
fn push<'h>(pieces: &mut Vec<Piece>, class: &'static str, text: &'h str, length: usize) -> &'h str {
    let (taken, rest) = text.split_at(length);
    if !taken.is_empty() {
        pieces.push(Piece {
            class,
            text: taken.to_owned(),
        });
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_attributes_and_comments_have_their_classes() {
        let found = pieces("<!-- x --><a href=\"/\" b>é</a>");
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|piece| (piece.class, piece.text.as_str()))
            .collect();
        let expected = [
            ("comment", "<!-- x -->"),
            ("tag", "<a"),
            ("", " "),
            ("name", "href"),
            ("", "="),
            ("value", "\"/\""),
            ("", " "),
            ("name", "b"),
            ("tag", ">"),
            ("", "é"),
            ("tag", "</a"),
            ("tag", ">"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_lost_whatever_the_source_is() {
        let tags = "<a b=c>".repeat(PIECES);
        let attributes = "<a".to_owned() + &" b".repeat(PIECES);
        for html in [
            "",
            "<",
            "<a",
            "<a b='",
            "<!--",
            "a < b > c",
            "<é=\"ü",
            "<a =>",
            &tags,
            &attributes,
        ] {
            let pieces = pieces(html);
            assert_eq!(
                pieces
                    .iter()
                    .map(|piece| piece.text.as_str())
                    .collect::<String>(),
                html
            );
            assert!(pieces.len() < PIECES + 10, "{}", pieces.len());
        }
    }
}
