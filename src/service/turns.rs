//! The order in which items of several owners are dealt with.

use std::collections::HashMap;
use std::hash::Hash;

/// The items in turns of their owners: the first of each, then the second of each. Those of one
/// keep their order.
pub fn in_turns<T, K: Eq + Hash>(items: &mut Vec<T>, owner: impl Fn(&T) -> K) {
    let mut taken: HashMap<K, usize> = HashMap::new();
    let turn = |item: T| {
        let turn = taken.entry(owner(&item)).or_default();
        *turn += 1;
        (*turn, item)
    };
    let mut turns: Vec<(usize, T)> = items.drain(..).map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    items.extend(turns.into_iter().map(|(_, item)| item));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_take_turns_and_keep_their_order() {
        let mut items = vec!["a1", "a2", "a3", "b1", "c1", "b2"];
        in_turns(&mut items, |item| item.as_bytes()[0]);
        assert_eq!(items, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }
}
