//! Checks that the time and the memory of parsing and of the checks grow linearly with the size of
//! any message: the worst inputs at four sizes. `cargo bench --bench mime`.

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use restante_mail::checks::checks;
use restante_mail::parse;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 4] = [25 << 10, 250 << 10, 2560 << 10, 25 << 20];

/// A name, the start of the message, and the text that is repeated up to the size.
type Input = (&'static str, &'static str, &'static str);

const INPUTS: &[Input] = &[
    (
        "nested multiparts",
        "",
        "Content-Type: multipart/mixed; boundary=a\n\n--a\n",
    ),
    (
        "nested multiparts, each with its own boundary",
        "",
        "NESTED",
    ),
    (
        "parts",
        "Content-Type: multipart/mixed; boundary=a\n\n",
        "--a\n\nx\n",
    ),
    (
        "parts whose boundary never comes",
        "Content-Type: multipart/mixed; boundary=a\n\n",
        "--a\nContent-Type: multipart/mixed; boundary=b\n\n",
    ),
    (
        "lines like boundaries",
        "Content-Type: multipart/mixed; boundary=a\n\n--a\n\n",
        "--b\n",
    ),
    ("headers", "", "A:\n"),
    ("one header", "Subject: ", "x\n "),
    (
        "RFC 2231 continuations",
        "Content-Type: text/plain",
        ";\n a*NUMBER*=x",
    ),
    (
        "RFC 2231 continuations in parts",
        "Content-Type: multipart/mixed; boundary=a\n\n",
        "--a\nContent-Type: text/plain; a*1=x; b*1=y; c*1=z; d*1=z\n\n",
    ),
    ("encoded-words", "Subject: ", "=?utf-8?q?=C3=A9?= "),
    ("encoded-words that never end", "Subject: ", "=?utf-8?q?"),
    (
        "encoded-words of an unknown encoding",
        "Subject: ",
        "=?a?x?",
    ),
    ("address literals that never end", "From: ", "@["),
    ("addresses", "From: ", "\"a\" <a@b.example>, "),
    ("comments", "From: ", "("),
    ("nested div", "Content-Type: text/html\n\n", "<div>"),
    (
        "nested div, then closed",
        "Content-Type: text/html\n\n",
        "DIVS",
    ),
    (
        "hidden div",
        "Content-Type: text/html\n\n<div hidden>",
        "<div><p></b>",
    ),
    (
        "styled",
        "Content-Type: text/html\n\n",
        "<b style=display:block>a",
    ),
    ("lists", "Content-Type: text/html\n\n", "<ol><li>a"),
    ("unclosed tags", "Content-Type: text/html\n\n", "<a href="),
    ("less-than signs", "Content-Type: text/html\n\n", "<"),
    ("comments in HTML", "Content-Type: text/html\n\n", "<!--"),
    ("attributes", "Content-Type: text/html\n\n<a ", "NUMBER=x "),
    ("entities", "Content-Type: text/html\n\n", "&ampamp"),
    (
        "links in HTML",
        "Content-Type: text/html\n\n",
        "<a href=https://x.example/NUMBER>https://x.example/NUMBER</a>",
    ),
    (
        "one long link",
        "Content-Type: text/html\n\n<a href=\"https://x.example/",
        "\u{e9}",
    ),
    ("text in HTML", "Content-Type: text/html\n\n", "word "),
    ("digits", "\n", "1"),
    ("digits apart", "\n", "1 "),
    ("numbers", "\n", "482913 code "),
    ("labels", "\n", "code code\n"),
    (
        "forms under a long subject",
        "Subject: LONG\n\n",
        "code XKQ-729\n",
    ),
    (
        "codes without spaces",
        "Content-Type: text/plain; charset=utf-8\n\n",
        "\u{e7}\u{a0}\u{81}482913",
    ),
    ("codes on lines", "\n", "code NUMBER0000\n"),
    (
        "codes in HTML quotes",
        "Content-Type: text/html\n\n",
        "<blockquote>code 482913</blockquote>",
    ),
    ("fields of quotes", "\n", "From: 1\n"),
    ("fields above quoted lines", "\n", "From:\nSubject:\n>\n"),
    ("lines above quotes", "\n", "On 1 2 wrote:\n"),
    (
        "separators of quotes",
        "\n",
        "--original message--\n\n\n>\n",
    ),
    ("at signs", "\n", "@"),
    ("addresses in text", "\n", "a@b.example "),
    ("http://", "\n", "http://"),
    ("separators", "\n", "://"),
    ("URLs", "\n", "https://x.example/NUMBER "),
    ("brackets", "\n", "https://x.example/(((("),
    (
        "flowed",
        "Content-Type: text/plain; format=flowed\n\n",
        "> a \n",
    ),
    (
        "windows-1252",
        "Content-Type: text/plain; charset=windows-1252\n\n",
        "\u{80}",
    ),
    ("unlabelled", "\n", "\u{e9} \u{e0} "),
    (
        "UTF-7",
        "Content-Type: text/plain; charset=utf-7\n\n",
        "+AGE-",
    ),
    ("NUL", "\n", "\0"),
    ("carriage returns", "\n", "\r"),
    (
        "base64",
        "Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n",
        "PGRpdj4=\n",
    ),
    (
        "quoted-printable",
        "Content-Transfer-Encoding: quoted-printable\n\n",
        "=3D=",
    ),
];

/// The worst inputs of the checks, which read the first MiB.
const CHECKED: &[Input] = &[
    ("open placeholders", "Content-Type: text/html\n\n", "{{"),
    (
        "other open placeholders",
        "Content-Type: text/html\n\n",
        "${",
    ),
    ("percent signs", "Content-Type: text/html\n\n", "%"),
    (
        "words like placeholders",
        "Content-Type: text/html\n\n",
        "undefined ",
    ),
    (
        "open placeholders in links",
        "Content-Type: text/html\n\n",
        "<a href='{{'>",
    ),
    ("open elements", "Content-Type: text/html\n\n", "<b>"),
    (
        "elements in the wrong order",
        "Content-Type: text/html\n\n",
        "</b><i>",
    ),
    ("rows in cells", "Content-Type: text/html\n\n", "<td><tr>"),
    (
        "open style sheets",
        "Content-Type: text/html\n\n",
        "<style>{",
    ),
    ("lines", "Content-Type: text/html\n\n", "\n"),
    (
        "character references",
        "Content-Type: text/html\n\n",
        "&nGt;",
    ),
    (
        "placeholders after character references",
        "Content-Type: text/html\n\n",
        "&nGt;{{a}}",
    ),
];

fn main() {
    divan::main();
}

/// One iteration each, because at full size an input takes up to a second.
#[divan::bench(args = cases(INPUTS), sample_count = 1, sample_size = 1)]
fn worst(bencher: Bencher<'_, '_>, case: &Case) {
    let message = case.message();
    bencher
        .counter(BytesCount::of_slice(&message))
        .bench_local(|| parse(divan::black_box(&message)));
}

#[divan::bench(args = cases(CHECKED), sample_count = 1, sample_size = 1)]
fn worst_checked(bencher: Bencher<'_, '_>, case: &Case) {
    let message = case.message();
    bencher
        .counter(BytesCount::of_slice(&message))
        .bench_local(|| checks(divan::black_box(&message), 0));
}

struct Case {
    input: &'static Input,
    size: usize,
}

impl std::fmt::Display for Case {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}, {} KiB", self.input.0, self.size >> 10)
    }
}

fn cases(inputs: &'static [Input]) -> Vec<Case> {
    inputs
        .iter()
        .flat_map(|input| SIZES.map(|size| Case { input, size }))
        .collect()
}

impl Case {
    fn message(&self) -> Vec<u8> {
        let (_, start, unit) = *self.input;
        let mut message = latin1(&start.replace("LONG", &"word ".repeat(20_000)));
        for number in 0.. {
            if message.len() >= self.size {
                break;
            }
            match unit {
                "NESTED" => {
                    let part = format!(
                        "Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"
                    );
                    message.extend(part.into_bytes());
                }
                "DIVS" if message.len() < self.size / 2 => message.extend(b"<div>"),
                "DIVS" => message.extend(b"</div>"),
                _ => message.extend(latin1(&unit.replace("NUMBER", &number.to_string()))),
            }
        }
        message.truncate(self.size);
        message
    }
}

/// One byte per character, because the inputs have bytes that are not UTF-8.
fn latin1(text: &str) -> Vec<u8> {
    text.chars()
        .filter_map(|character| u8::try_from(u32::from(character)).ok())
        .collect()
}
