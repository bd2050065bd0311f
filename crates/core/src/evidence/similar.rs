//! Which inbox was possibly meant in place of another.

use crate::model::{Inbox, InboxId, SharedAddress, Similar};

/// Similar inboxes that are shown.
const SIMILAR: usize = 5;
/// Maximum number of edits between a local part and a mistyped one.
pub(super) const EDITS: usize = 2;

/// The inboxes whose address was possibly meant, each with its distance: at most two edits, or any
/// distance if incoming mail created the inbox.
pub(super) fn most_similar(inbox: &Inbox, others: Vec<Similar>) -> Vec<(usize, Similar)> {
    let address = |id: &InboxId, shared: Option<&SharedAddress>| {
        shared.map_or_else(|| id.to_string(), SharedAddress::to_string)
    };
    let characters = |text: String| text.chars().collect::<Vec<_>>();
    let own = characters(address(&inbox.id, inbox.shared.as_ref()));
    let others = others.into_iter().filter(|other| other.id != inbox.id);
    let distance = |other: &Similar| {
        let other = characters(address(&other.id, other.shared.as_ref()));
        edits(&own, &other, EDITS)
    };
    let mut similar: Vec<(usize, Similar)> = others
        .map(|other| (distance(&other), other))
        .filter(|(distance, other)| *distance <= EDITS || other.opened_by_mail)
        .collect();
    // A stable sort: of inboxes with the same distance, those with the newest mail stay first.
    similar.sort_by_key(|(distance, _)| *distance);
    similar.truncate(SIMILAR);
    similar
}

/// The number of insertions, deletions and replacements that turn one text into the other, or
/// `most + 1` if it is more than `most`. The time grows with the length of the texts, and not with
/// its square: there may be many long ones.
fn edits(one: &[char], other: &[char], most: usize) -> usize {
    let same = one
        .iter()
        .zip(other)
        .take_while(|(left, right)| left == right)
        .count();
    match (&one[same..], &other[same..]) {
        ([], rest) | (rest, []) => rest.len().min(most + 1),
        _ if most == 0 => 1,
        (one @ [_, one_rest @ ..], other @ [_, other_rest @ ..]) => {
            let replaced = edits(one_rest, other_rest, most - 1);
            1 + replaced
                .min(edits(one_rest, other, most - 1))
                .min(edits(one, other_rest, most - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (one, other, distance) in [
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("abc", "xabc", 1),
            ("abc", "acb", 2),
            ("abcd", "bcde", 2),
            ("é", "e", 1),
            ("", "abc", 3),
            ("abcdef", "uvwxyz", 3),
        ] {
            let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<_>>());
            let counted = (edits(&one, &other, EDITS), edits(&other, &one, EDITS));
            assert_eq!(counted, (distance, distance), "{one:?} {other:?}");
        }
    }

    #[test]
    fn long_texts_are_compared_in_linear_time() {
        let mut one = vec!['a'; 1_000_000];
        let mut other = vec!['a'; 1_000_000];
        (one[700_000], other[300_000]) = ('b', 'b');
        assert_eq!(edits(&one, &other, EDITS), 2);
        other[500_000] = 'c';
        assert_eq!(edits(&one, &other, EDITS), 3);
    }
}
