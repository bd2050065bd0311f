//! format=flowed (RFC 3676): joins lines that were wrapped for transport to paragraphs.

/// Not flowed, although it ends with a space (section 4.3).
const SIGNATURE_SEPARATOR: &str = "-- ";

/// Joins each line that ends with a space with the next line of the same quote depth.
/// `delete_space` is the parameter DelSp: the space was added when the line was broken.
pub(super) fn unwrapped(text: &str, delete_space: bool) -> String {
    let mut unwrapped = String::with_capacity(text.len());
    // The quote depth of a line that continues.
    let mut flowing: Option<usize> = None;
    for (index, line) in text.split('\n').enumerate() {
        let depth = line.bytes().take_while(|&byte| byte == b'>').count();
        let content = &line[depth..];
        let content = content.strip_prefix(' ').unwrap_or(content);
        let goes_on =
            flowing == Some(depth) && content != SIGNATURE_SEPARATOR && !content.is_empty();
        if !goes_on {
            if flowing.is_some() {
                unwrapped.truncate(unwrapped.trim_end_matches(' ').len());
            }
            begin_line(&mut unwrapped, index, depth, content);
        }
        let flows = content.ends_with(' ') && content != SIGNATURE_SEPARATOR;
        unwrapped.push_str(if flows && delete_space {
            &content[..content.len() - 1]
        } else {
            content
        });
        flowing = flows.then_some(depth);
    }
    unwrapped
}

fn begin_line(unwrapped: &mut String, index: usize, depth: usize, content: &str) {
    if index > 0 {
        unwrapped.push('\n');
    }
    unwrapped.extend(std::iter::repeat_n('>', depth));
    if depth > 0 && !content.is_empty() {
        unwrapped.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_quotes_and_signatures_are_kept() {
        let text =
            "One line \nthat flows.\n\n> quoted \n> too\n>> deeper\n From here\n-- \nMe \n-- \n";
        let expected = "One line that flows.\n\n> quoted too\n>> deeper\nFrom here\n-- \nMe\n-- \n";
        assert_eq!(unwrapped(text, false), expected);
    }

    #[test]
    fn the_added_space_goes_where_delsp_says_so() {
        assert_eq!(
            unwrapped("https://x.example/a \nb\n", true),
            "https://x.example/ab\n"
        );
        assert_eq!(unwrapped("a \n\nb", false), "a\n\nb");
    }
}
