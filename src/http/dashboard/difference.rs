//! Compares the filter of a wait with a text that does not contain it, and marks where they differ: `acount` and
//! `account`.

/// A piece of a text: whether it differs, and its characters.
pub(super) type Piece = (bool, String);

/// A filter, and the text that it was compared with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) wanted: Vec<Piece>,
    pub(super) found: Vec<Piece>,
}

/// Maximum number of characters that are compared; the time grows with the product.
const MAX_WANTED: usize = 200;
const MAX_FOUND: usize = 500;

/// Marks the differences between `wanted` and the most similar part of `found`. Nothing is marked if less than half of
/// it is similar.
pub(super) fn difference(wanted: &str, found: &str) -> Difference {
    let wanted: Vec<char> = wanted.chars().take(MAX_WANTED).collect();
    let found: Vec<char> = found.chars().take(MAX_FOUND).collect();
    let plain = |text: &[char]| vec![(false, text.iter().collect())];
    let costs = costs(&wanted, &found);
    let last = &costs[wanted.len()];
    let end = (0..=found.len()).min_by_key(|&end| last[end]).unwrap_or(0);
    if last[end] * 2 > wanted.len() {
        return Difference { wanted: plain(&wanted), found: plain(&found) };
    }
    let (is_wanted_same, is_found_same, start) = same(&costs, &wanted, &found, end);
    let mut marked = pieces(&wanted, |index| !is_wanted_same[index]);
    marked.retain(|(_, text)| !text.is_empty());
    let differs = |index: usize| (start..end).contains(&index) && !is_found_same[index];
    Difference { wanted: marked, found: pieces(&found, differs) }
}

fn is_same(one: char, other: char) -> bool {
    one == other || one.to_lowercase().eq(other.to_lowercase())
}

/// The number of changes from the first characters of `wanted` to a part of `found` that ends at a place (Sellers'
/// algorithm): the part may start anywhere.
fn costs(wanted: &[char], found: &[char]) -> Vec<Vec<usize>> {
    let mut costs = vec![vec![0; found.len() + 1]];
    for (row, &character) in wanted.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &other) in found.iter().enumerate() {
            let replaced = costs[row][column] + usize::from(!is_same(character, other));
            next.push(replaced.min(costs[row][column + 1] + 1).min(next[column] + 1));
        }
        costs.push(next);
    }
    costs
}

/// Which characters are the same in both, and where the similar part of `found` starts.
fn same(costs: &[Vec<usize>], wanted: &[char], found: &[char], end: usize) -> (Vec<bool>, Vec<bool>, usize) {
    let (mut row, mut column) = (wanted.len(), end);
    let (mut is_wanted_same, mut is_found_same) = (vec![false; wanted.len()], vec![false; found.len()]);
    while row > 0 {
        let cost = costs[row][column];
        if column > 0 && is_same(wanted[row - 1], found[column - 1]) && cost == costs[row - 1][column - 1] {
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

    fn marked(pieces: &[Piece]) -> String {
        pieces.iter().map(|(differs, text)| if *differs { format!("[{text}]") } else { text.clone() }).collect()
    }

    #[test]
    fn the_difference_is_marked_in_both() {
        for (wanted, found, marks) in [
            ("acount", "Confirm your account", ("acount", "Confirm your a[c]count")),
            ("Confirm acccount", "confirm account", ("Confirm a[c]ccount", "confirm account")),
            ("Wilkommen", "Willkommen bei uns", ("Wilkommen", "Wi[l]lkommen bei uns")),
            ("reset", "Welcome!", ("reset", "Welcome!")),
            ("invoice 7", "Your invoice 8 is here", ("invoice [7]", "Your invoice 8 is here")),
            ("", "x", ("", "x")),
        ] {
            let difference = difference(wanted, found);
            assert_eq!((marked(&difference.wanted).as_str(), marked(&difference.found).as_str()), marks);
        }
    }
}
