//! A sentence of the service that quotes parts of mails. A reader that must not follow instructions in a mail, such as
//! a coding agent, gets the quotes apart from the sentence.

use std::fmt;

/// Around a quote, until the sentence is complete. Neither occurs in a quote.
const BEGIN: char = '\u{2}';
const END: char = '\u{3}';

/// A sentence, and what it quotes from mails and SMTP clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Own(String),
    Quote(String),
}

/// Marks `text`, which a sender or a client has chosen, as a quote in the text for [`Summary::new`].
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("{BEGIN}{}{END}", text.replace([BEGIN, END], " "))
}

impl Summary {
    /// The sentence with these marked quotes.
    #[must_use]
    pub fn new(marked: &str) -> Self {
        let mut pieces = Vec::new();
        for part in marked.split(BEGIN) {
            // Only the first part has no quote before it.
            let (quote, own) = part.split_once(END).map_or((None, part), |(quote, own)| (Some(quote), own));
            pieces.extend(quote.map(|quote| Piece::Quote(quote.to_owned())));
            pieces.push(Piece::Own(own.to_owned()));
        }
        Self(pieces)
    }

    /// The sentence with a reference `[1]` for each quote, and the quotes.
    #[must_use]
    pub fn apart(&self) -> (String, Vec<&str>) {
        let (mut sentence, mut quotes) = (String::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Own(own) => sentence.push_str(own),
                Piece::Quote(quote) => {
                    quotes.push(quote.as_str());
                    sentence.push_str(&format!("[{}]", quotes.len()));
                }
            }
        }
        (sentence, quotes)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Own(text) | Piece::Quote(text) => formatter.write_str(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_numbered_and_cannot_end_themselves() {
        let summary = Summary::new(&format!("None matches: {}, {}.", quoted("a\u{3}b\u{2}"), quoted("c")));
        assert_eq!(summary.to_string(), "None matches: a b , c.");
        assert_eq!(summary.apart(), ("None matches: [1], [2].".to_owned(), vec!["a b ", "c"]));
        assert_eq!(Summary::new("plain").apart(), ("plain".to_owned(), vec![]));
    }
}
