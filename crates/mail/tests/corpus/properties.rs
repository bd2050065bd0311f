//! Properties of every message: parsing never panics, always gives the same result, and every field
//! has its form.

use proptest::prelude::*;
use restante_mail::checks::checks;
use restante_mail::{ParsedMessage, parse, threading};

/// Pieces with a meaning for the parser. A random sequence of them tests more than random bytes.
const PIECES: &[&str] = &[
    "From: ",
    "Subject: ",
    "Content-Type: ",
    "text/plain",
    "text/html",
    "multipart/mixed; boundary=b",
    "multipart/alternative; boundary=a",
    "; charset=",
    "utf-8",
    "iso-2022-jp",
    "utf-7",
    "gb18030",
    "; format=flowed",
    "Content-Transfer-Encoding: ",
    "base64",
    "quoted-printable",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "--b",
    "--a",
    "--",
    "=?utf-8?q?",
    "=?utf-8?b?",
    "=?iso-2022-jp?q?",
    "?=",
    "=C3=A9",
    "=\r\n",
    "WW91ciBjb2Rl",
    "<a@b.example>",
    "<a href=\"",
    "https://x.example/",
    "\">",
    "</a>",
    "<table><td>",
    "<div style='display:none'>",
    "</div>",
    "<base href=/>",
    "<!--",
    "-->",
    "Your code is ",
    "482913",
    "482 913",
    "4 8 2 9 1 3",
    "@x.example #123456",
    "Order ",
    "验证码",
    "é",
    "\u{200b}",
    "\0",
    "&amp;",
    "&nGt;&nGt;&nGt;&nGt;&nGt;&nGt;",
    "\x1b",
    "\x1b(",
    "\x1b$",
    "~{",
    "Content-ID: <r>\r\n",
    "multipart/related; boundary=b; start=\"<r>\"",
    "cid:",
    "{{name}}",
    "<style>p{color:red}</style>",
    "<img src=",
    "Hi undefined,",
    "List-Id: ",
    "Date: ",
    "&#x1f511;",
    "#",
    "://",
    "xn--",
    "[::1]",
    "%",
    " ",
    "\t",
];

fn message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..8),
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

fn check(message: &ParsedMessage) -> Result<(), TestCaseError> {
    let code = &message.otp;
    prop_assert!(
        code.is_empty()
            || (4..=8).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_digit())
    );
    prop_assert!(
        !message.subject.contains(['\r', '\n', '\0']),
        "{:?}",
        message.subject
    );
    for text in [&message.text, &message.html] {
        prop_assert!(!text.contains(['\r', '\0']), "{text:?}");
    }
    for (index, link) in message.links.iter().enumerate() {
        prop_assert!(is_absolute_uri(link), "{link}");
        prop_assert!(!message.links[..index].contains(link), "{link} twice");
    }
    Ok(())
}

/// An absolute URI with an authority and only valid characters (RFC 3986).
fn is_absolute_uri(link: &str) -> bool {
    let characters = "-._~:/?#[]@!$&'()*+,;=%";
    let known = |byte: u8| byte.is_ascii_alphanumeric() || characters.as_bytes().contains(&byte);
    let escapes_whole = link.split('%').skip(1).all(|rest| {
        rest.as_bytes()
            .get(..2)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let Some((scheme, rest)) = link.split_once("://") else {
        return false;
    };
    let has_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    has_scheme && !rest.is_empty() && link.bytes().all(known) && escapes_whole
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn made_up_messages_are_read(raw in message()) {
        let read = parse(&raw);
        check(&read)?;
        prop_assert_eq!(read, parse(&raw));
        prop_assert_eq!(threading(&raw), threading(&raw));
    }

    #[test]
    fn made_up_messages_are_checked(raw in message()) {
        let checked = checks(&raw, 0);
        prop_assert_eq!(&checked, &checks(&raw, 0));
        for problem in checked.problems {
            prop_assert_eq!(problem.part.is_some(), problem.line.is_some() && problem.source.is_some());
        }
    }

    #[test]
    fn random_bytes_are_read(raw in prop::collection::vec(any::<u8>(), 0..2_000)) {
        check(&parse(&raw))?;
        let _ = checks(&raw, 0);
    }

    #[test]
    fn plain_text_survives_a_round_trip(text in "[ -~]{0,200}") {
        let raw = format!("From: a@b.example\r\n\r\n{text}");
        prop_assert_eq!(parse(raw.as_bytes()).text, text);
    }
}
