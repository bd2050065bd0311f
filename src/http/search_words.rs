//! The words of a search, as the dashboard and the API of Mailpit read them: separated by spaces,
//! except within quotation marks, which are left out.

/// Maximum number of bytes of a search, and of words in it.
const MAX_BYTES: usize = 4 * 1024;
const MAX_WORDS: usize = 50;

/// A word.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where the first quotation mark was.
    mark: Option<usize>,
}

/// The words of a search.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub(super) fn words(search: &str) -> Result<Vec<Word>, String> {
    if search.len() > MAX_BYTES {
        return Err(format!("The search is longer than {MAX_BYTES} bytes."));
    }
    let mut words = Vec::new();
    let mut word = Word::default();
    let mut is_quoted = false;
    for character in search.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.mark.get_or_insert(word.text.len());
            }
            _ if character.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            _ => word.text.push(character),
        }
    }
    words.push(word);
    words.retain_mut(|word| {
        word.text = word.text.trim().to_owned();
        !word.text.is_empty()
    });
    if words.len() > MAX_WORDS {
        return Err(format!("The search has more than {MAX_WORDS} words."));
    }
    Ok(words)
}

impl Word {
    /// The part before its first colon, in lower case, and the value after it.
    pub(super) fn operator(&self) -> Option<(String, &str)> {
        let (name, value) = self.text.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim()))
    }

    /// Whether its first colon is within quotation marks, or after them.
    pub(super) fn is_quoted(&self) -> bool {
        self.mark
            .is_some_and(|mark| self.text.find(':').is_some_and(|colon| mark <= colon))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_outside_quotation_marks() {
        for (search, expected) in [
            ("sign  in", &["sign", "in"][..]),
            ("\"sign in\" now", &["sign in", "now"]),
            ("subject:\"Sign in\"", &["subject:Sign in"]),
            ("\"not closed", &["not closed"]),
            ("  \"\" \" \"", &[]),
        ] {
            let words = words(search).unwrap();
            let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(texts, expected, "{search}");
        }
        assert!(words(&"a".repeat(MAX_BYTES + 1)).is_err());
        assert!(words(&"a ".repeat(MAX_WORDS + 1)).is_err());
        assert!(words(&"a ".repeat(MAX_WORDS)).is_ok());
    }
}
