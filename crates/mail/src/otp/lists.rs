//! Lists of codes, such as backup codes: none of them is the code of the message.

use super::numbers::Number;

/// Minimum number of codes in a list.
const MIN_CODES: usize = 3;
/// Maximum number of bytes between two codes of a list.
const MAX_GAP: usize = 40;

/// Whether each of these numbers is in a list: three or more different ones with only spaces, line
/// breaks, punctuation or the numbers of a numbered list in between.
pub(super) fn listed(text: &str, numbers: &[Number]) -> Vec<bool> {
    let mut listed = vec![false; numbers.len()];
    let mut start = 0;
    for next in 1..=numbers.len() {
        let continues = numbers
            .get(next)
            .is_some_and(|number| is_gap(text, numbers[next - 1].end, number.start));
        if continues {
            continue;
        }
        let mut values: Vec<_> = numbers[start..next]
            .iter()
            .map(|number| &text[number.start..number.end])
            .collect();
        values.sort_unstable();
        values.dedup();
        listed[start..next].fill(values.len() >= MIN_CODES);
        start = next;
    }
    listed
}

fn is_gap(text: &str, start: usize, end: usize) -> bool {
    let Some(gap) = text.get(start..end).filter(|gap| gap.len() <= MAX_GAP) else {
        return false;
    };
    let mut words = gap.split(|one: char| one.is_whitespace() || ",;|·•*-–—>".contains(one));
    words.all(|word| {
        word.trim_end_matches(['.', ')', ':'])
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            && word.len() <= 3
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otp::numbers::candidates;

    #[test]
    fn three_different_codes_with_nothing_between_are_a_list() {
        for (text, expected) in [
            ("1234 5678\n8765 4321\n1111 2222", vec![true, true, true]),
            (
                "1. 48291\n2. 55019\n3. 77310\n\nor 4821",
                vec![true, true, true, false],
            ),
            ("4821, 5501; 7731", vec![true, true, true]),
            ("482913\n482913\n482913", vec![false, false, false]),
            ("482913\n550193", vec![false, false]),
            (
                "code 482913 for order 550193 or ticket 771024",
                vec![false, false, false],
            ),
        ] {
            assert_eq!(listed(text, &candidates(text)), expected, "{text}");
        }
    }
}
