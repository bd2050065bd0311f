//! Compares two texts and marks where they differ: the filter of a wait and a text that does not
//! contain it, such as `acount` and `account`; or two addresses.

/// A piece of a text: whether it differs, and its characters.
pub type Piece = (bool, String);

/// What was wanted, and what it was compared with.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// The pieces of what was wanted.
    pub wanted: Vec<Piece>,
    /// The pieces of what was found.
    pub found: Vec<Piece>,
}

/// Maximum number of characters that are compared; the time grows with the product.
const MAX_WANTED: usize = 200;
const MAX_FOUND: usize = 500;

impl Difference {
    /// Marks the differences between `wanted` and the most similar part of `found`. Nothing is
    /// marked if less than half of it is similar.
    #[must_use]
    pub fn with_part(wanted: &str, found: &str) -> Self {
        let wanted = characters(wanted, MAX_WANTED);
        let found = characters(found, MAX_FOUND);
        let costs = costs(&wanted, &found, true);
        let last = &costs[wanted.len()];
        let end = (0..=found.len()).min_by_key(|&end| last[end]).unwrap_or(0);
        if last[end] * 2 > wanted.len() {
            return Self {
                wanted: pieces(&wanted, |_| false),
                found: pieces(&found, |_| false),
            };
        }
        let (is_wanted_same, is_found_same, start) = same(&costs, &wanted, &found, end);
        let differs = |index: usize| (start..end).contains(&index) && !is_found_same[index];
        Self {
            wanted: pieces(&wanted, |index| !is_wanted_same[index]),
            found: pieces(&found, differs),
        }
    }

    /// Marks the differences between two whole texts.
    #[must_use]
    pub fn of(wanted: &str, found: &str) -> Self {
        let wanted = characters(wanted, MAX_FOUND);
        let found = characters(found, MAX_FOUND);
        let (is_wanted_same, is_found_same, _) =
            same(&costs(&wanted, &found, false), &wanted, &found, found.len());
        Self {
            wanted: pieces(&wanted, |index| !is_wanted_same[index]),
            found: pieces(&found, |index| !is_found_same[index]),
        }
    }
}

/// The text with its marked characters in brackets.
#[must_use]
pub fn bracketed(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|(differs, text)| {
            if *differs {
                format!("[{text}]")
            } else {
                text.clone()
            }
        })
        .collect()
}

fn characters(text: &str, most: usize) -> Vec<char> {
    text.chars().take(most).collect()
}

fn is_same(one: char, other: char) -> bool {
    one == other || one.to_lowercase().eq(other.to_lowercase())
}

/// The number of changes from the first characters of `wanted` to the first of `found`, or to a
/// part of it that ends there and may start anywhere (Sellers' algorithm).
fn costs(wanted: &[char], found: &[char], starts_anywhere: bool) -> Vec<Vec<usize>> {
    let first = |column: usize| if starts_anywhere { 0 } else { column };
    let mut costs = vec![(0..=found.len()).map(first).collect::<Vec<_>>()];
    for (row, &character) in wanted.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &other) in found.iter().enumerate() {
            let replaced = costs[row][column] + usize::from(!is_same(character, other));
            next.push(
                replaced
                    .min(costs[row][column + 1] + 1)
                    .min(next[column] + 1),
            );
        }
        costs.push(next);
    }
    costs
}

/// Which characters are the same in both, and where the similar part of `found` starts.
fn same(
    costs: &[Vec<usize>],
    wanted: &[char],
    found: &[char],
    end: usize,
) -> (Vec<bool>, Vec<bool>, usize) {
    let mut row = wanted.len();
    let mut column = end;
    let mut is_wanted_same = vec![false; wanted.len()];
    let mut is_found_same = vec![false; found.len()];
    while row > 0 {
        let cost = costs[row][column];
        if column > 0
            && is_same(wanted[row - 1], found[column - 1])
            && cost == costs[row - 1][column - 1]
        {
            (row, column) = (row - 1, column - 1);
            (is_wanted_same[row], is_found_same[column]) = (true, true);
        } else if column > 0 && cost == costs[row][column - 1] + 1 {
            column -= 1;
        } else if column > 0 && cost == costs[row - 1][column - 1] + 1 {
            (row, column) = (row - 1, column - 1);
        } else {
            row -= 1;
        }
    }
    (is_wanted_same, is_found_same, column)
}

/// Characters with the same mark together.
fn pieces(text: &[char], differs: impl Fn(usize) -> bool) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (index, &character) in text.iter().enumerate() {
        match pieces.last_mut() {
            Some((is_different, piece)) if *is_different == differs(index) => piece.push(character),
            _ => pieces.push((differs(index), character.into())),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(difference: &Difference) -> (String, String) {
        (bracketed(&difference.wanted), bracketed(&difference.found))
    }

    #[test]
    fn the_difference_to_the_most_similar_part_is_marked_in_both() {
        for (wanted, found, marks) in [
            (
                "acount",
                "Confirm your account",
                ("acount", "Confirm your a[c]count"),
            ),
            (
                "Confirm acccount",
                "confirm account",
                ("Confirm a[c]ccount", "confirm account"),
            ),
            (
                "Wilkommen",
                "Willkommen bei uns",
                ("Wilkommen", "Wi[l]lkommen bei uns"),
            ),
            ("reset", "Welcome!", ("reset", "Welcome!")),
            (
                "invoice 7",
                "Your invoice 8 is here",
                ("invoice [7]", "Your invoice 8 is here"),
            ),
            ("", "x", ("", "x")),
        ] {
            assert_eq!(
                marked(&Difference::with_part(wanted, found)),
                (marks.0.to_owned(), marks.1.to_owned())
            );
        }
    }

    #[test]
    fn the_difference_of_two_texts_is_marked_in_both() {
        for (one, other, marks) in [
            ("u5@a.b", "u59@a.b", ("u5@a.b", "u5[9]@a.b")),
            ("z0br", "0br", ("[z]0br", "0br")),
            ("abc", "abx", ("ab[c]", "ab[x]")),
            ("", "x", ("", "[x]")),
        ] {
            assert_eq!(
                marked(&Difference::of(one, other)),
                (marks.0.to_owned(), marks.1.to_owned())
            );
        }
    }
}
