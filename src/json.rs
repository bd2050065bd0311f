//! Counts what a JSON text has before it is parsed, because many small values need many times its
//! size.

/// What a JSON text has outside its strings, and the strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub strings: usize,
    /// Opening brackets of objects and lists.
    pub brackets: usize,
    pub commas: usize,
}

/// Counts in a text, which may not be JSON.
#[must_use]
pub fn count(json: &[u8]) -> Counted {
    let mut counted = Counted::default();
    let mut in_string = false;
    let mut is_escaped = false;
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => {
                counted.strings += usize::from(!in_string);
                in_string = !in_string;
            }
            b'{' | b'[' if !in_string => counted.brackets += 1,
            b',' if !in_string => counted.commas += 1,
            _ => {}
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_not_looked_into() {
        let expected = Counted {
            strings: 2,
            brackets: 3,
            commas: 4,
        };
        assert_eq!(count(br#"{"a": ["b,{[\"", 1, 2, 3, {}]}"#), expected);
    }
}
