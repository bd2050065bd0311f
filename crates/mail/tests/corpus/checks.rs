//! The checks: each with messages that have the fault, and a good message that has none.

use restante_api::{MessageChecks, Severity};
use restante_mail::checks::checks;

/// Friday, 20 November 2026, 09:30:00 UTC.
const NOW: i64 = 1_795_167_000;
const GOOD_HEADER: &str = "From: Shop <shop@app.example>\nTo: ada@app.example\nSubject: Confirm your account\n\
    Date: Fri, 20 Nov 2026 10:30:00 +0100\nMessage-ID: <1@app.example>\nMIME-Version: 1.0\n";

fn run(mail: &str) -> MessageChecks {
    checks(mail.replace('\n', "\r\n").as_bytes(), NOW)
}

/// The problems as one line each: severity, check, part and line, detail.
fn found(mail: &str) -> Vec<String> {
    let problems = run(mail).problems.into_iter();
    let shown = problems.map(|problem| {
        let place = problem.part.map_or_else(String::new, |part| {
            format!(" {}:{}", part.as_str(), problem.line.unwrap())
        });
        format!(
            "{} {}{place} {}",
            problem.severity.as_str(),
            problem.check.as_str(),
            problem.detail
        )
    });
    shown.collect()
}

fn with_html(html: &str) -> String {
    format!(
        "{GOOD_HEADER}Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nConfirm at \
         https://app.example/confirm\n--b\nContent-Type: text/html; charset=utf-8\n\n<!doctype html><html lang=en>\
         <head><title>Hi</title></head><body>\n{html}\n</body></html>\n--b--\n"
    )
}

#[test]
fn a_good_message_has_no_problem() {
    let manual = "<a href='https://docs.example/constants.html#None'>The constants</a>";
    assert_eq!(found(&with_html(manual)), [""; 0]);
    let table = "<table role=\"presentation\" cellpadding=0 cellspacing=0><tr><td style=\"color:#333333;\
                 background-color:#ffffff\">Hello Ada, None of your data is lost.\
                 <a href=\"https://app.example/confirm?a=%41DMIN%20\">Confirm your account</a></td></tr></table>\
                 <img src=\"https://app.example/logo.png\" alt=\"\" width=10 height=10>";
    assert_eq!(found(&with_html(table)), ["warning accessibility"; 0]);
    let unseen = "<a target=_blank style='cursor:pointer' href='https://app.example/confirm'>Confirm your account</a>";
    assert_eq!(found(&with_html(unseen)), [""; 0]);
    let listed = run(&with_html(unseen)).html.unwrap().features;
    let is_listed = |slug| listed.iter().any(|feature| feature.slug == slug);
    assert!(
        is_listed("html-target") && is_listed("css-cursor"),
        "{listed:?}"
    );
    assert_eq!(
        found(&format!(
            "{GOOD_HEADER}\nSave 100% today, 50% OFF% tomorrow. {{\"a\": 1}}\n"
        )),
        [""; 0]
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn every_check_finds_its_fault_in_the_html() {
    for (html, expected) in [
        (
            "<p>Hello {{name}},",
            "error placeholder html:2 The HTML contains `{{name}}`.",
        ),
        (
            "<p>\n\n<b>{% if user %}</b>",
            "error placeholder html:4 The HTML contains `{% if user %}`.",
        ),
        (
            "<p>Hi ${user.name}",
            "error placeholder html:2 The HTML contains `${user.name}`.",
        ),
        (
            "<p>Hi %FIRST_NAME%!",
            "error placeholder html:2 The HTML contains `%FIRST_NAME%`.",
        ),
        (
            "<p>Hi [[name]]",
            "error placeholder html:2 The HTML contains `[[name]]`.",
        ),
        (
            "<p>Hi *|FNAME|*",
            "error placeholder html:2 The HTML contains `*|FNAME|*`.",
        ),
        (
            "<p>Hi &lt;%= name %&gt;",
            "error placeholder html:2 The HTML contains `<%= name %>`.",
        ),
        (
            "<p>Hello undefined,",
            "error placeholder html:2 The HTML contains `undefined`.",
        ),
        (
            "<p>Hi None!",
            "error placeholder html:2 The HTML contains `None`.",
        ),
        (
            "<p>Total: NaN",
            "error placeholder html:2 The HTML contains `NaN`.",
        ),
        (
            "<p>Order [object Object]",
            "error placeholder html:2 The HTML contains `[object Object]`.",
        ),
        (
            "<p>Hi {name}",
            "warning placeholder html:2 The HTML contains `{name}`.",
        ),
        (
            "<code>{{name}}</code>",
            "warning placeholder html:2 The HTML contains `{{name}}`.",
        ),
        (
            "<div style=display:none>{{preview}}</div>",
            "warning placeholder html:2 The HTML contains `{{preview}}`.",
        ),
        (
            "<a href='https://a.example/%7B%7Btoken%7D%7D'>Confirm it</a>",
            "error placeholder html:2 The link `https://a.example/%7B%7Btoken%7D%7D` contains `{{token}}`.",
        ),
        (
            "<a href='https://a.example/confirm/undefined'>Confirm it</a>",
            "warning placeholder html:2 The link `https://a.example/confirm/undefined` contains `undefined`.",
        ),
        (
            "<a href='https://a.example/confirm?token=undefined&b'>Confirm it</a>",
            "error placeholder html:2 The link `https://a.example/confirm?token=undefined&b` contains `undefined`.",
        ),
        (
            "<a href=''>Confirm it</a>",
            "error link html:2 A link is empty",
        ),
        (
            "<a href='#'>Confirm it</a>",
            "warning link html:2 A link leads nowhere: `#`",
        ),
        (
            "<a href='/confirm'>Confirm it</a>",
            "error link html:2 A link is relative, and a mail has no address to which it could be: `/confirm`",
        ),
        (
            "<a href='localhost:3000/x'>Confirm it</a>",
            "error link html:2 A link is relative, and a mail has no address to which it could be: `localhost:3000/x`",
        ),
        (
            "<a href='http://localhost:3000/x'>Confirm it</a>",
            "warning link html:2 A link leads to a private host: `http://localhost:3000/x`",
        ),
        (
            "<a href='https://192.168.0.1/x'>Confirm it</a>",
            "warning link html:2 A link leads to a private host: `https://192.168.0.1/x`",
        ),
        (
            "<a href='http://a.example/x'>Confirm it</a>",
            "warning link html:2 A link is not encrypted, unlike others: `http://a.example/x`",
        ),
        (
            "<a href='https:///x'>Confirm it</a>",
            "error link html:2 A link is not a URL: `https:///x`",
        ),
        (
            "<a href='https://a.example/a b'>Confirm it</a>",
            "error link html:2 A link has a space in it: `https://a.example/a b`",
        ),
        (
            "<a href='javascript:go()'>Confirm it</a>",
            "error link html:2 A link runs a script, which mail clients do not: `javascript:go()`",
        ),
        (
            "<img src='https://a.example/a.png' width=1 height=1>",
            "warning image html:2 An image has no alt attribute: `https://a.example/a.png`.",
        ),
        (
            "<img alt=a src='https://a.example/a.png'>",
            "warning image html:2 An image has no width or height: `https://a.example/a.png`.",
        ),
        (
            "<img alt=a width=1 src='a.png'>",
            "error image html:2 The address of an image is relative, so it is not shown: `a.png`.",
        ),
        (
            "<img alt=a width=1 src='cid:logo'>",
            "error image html:2 An image is not in the message: `cid:logo`.",
        ),
        (
            "<table cellpadding=0><tr><td>a</table>",
            "warning accessibility html:2 A table for the layout has no role=\"presentation\".",
        ),
        (
            "<a href='https://a.example/x'>Click here</a>",
            "warning accessibility html:2 The text of a link does not say where it leads: `Click here`.",
        ),
        (
            "<a href='https://a.example/x'> </a>",
            "warning accessibility html:2 A link has no text: `https://a.example/x`.",
        ),
    ] {
        assert!(
            found(&with_html(html))
                .iter()
                .any(|found| found == expected),
            "{html}: {:?}",
            found(&with_html(html))
        );
    }
    let clip = found(&with_html("<p style='clip-path:none'>a"));
    assert!(
        clip.iter()
            .any(|found| found.starts_with("warning html_support html:2 clip-path")),
        "{clip:?}"
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn every_check_finds_its_fault_in_the_rest() {
    let html = "Content-Type: text/html\n\n<html lang=en><title>a</title><p>Hi";
    let empty = "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n \n--b\n\
                 Content-Type: text/html\n\n<html lang=en><title>a</title><p>Hi\n--b--\n";
    let many: String = (0..11)
        .map(|number| format!("a{number}@app.example, "))
        .collect();
    for (mail, expected) in [
        (
            format!("{GOOD_HEADER}{html}"),
            "warning text_part There is no text part beside the HTML.",
        ),
        (
            format!("{GOOD_HEADER}{empty}"),
            "error text_part The text part is empty: a client that shows the text shows nothing.",
        ),
        (
            format!("{GOOD_HEADER}{html}{}", "<p>0123456789\n".repeat(9_000)),
            "warning size The HTML has 124 KiB. Gmail clips it after 102 KiB.",
        ),
        (
            GOOD_HEADER.replace("your account", "{{thing}}") + "\nHi\n",
            "error placeholder header:3 The subject contains `{{thing}}`.",
        ),
        (
            format!("{GOOD_HEADER}\nHi\nDear {{{{name}}}}\n"),
            "error placeholder text:2 The text contains `{{name}}`.",
        ),
        (
            format!("{GOOD_HEADER}\nHi\nhttps://app.example/null\n"),
            "warning placeholder text:2 The link `https://app.example/null` contains `null`.",
        ),
        (
            GOOD_HEADER.replace("From:", "X-From:") + "\nHi",
            "error headers There is no From field.",
        ),
        (
            GOOD_HEADER.replace("Date:", "X-Date:") + "\nHi",
            "error headers There is no Date field.",
        ),
        (
            GOOD_HEADER.replace("Message-ID:", "X-Id:") + "\nHi",
            "warning headers There is no Message-ID field.",
        ),
        (
            GOOD_HEADER.replace("Subject:", "X-Subject:") + "\nHi",
            "warning headers There is no Subject field.",
        ),
        (
            GOOD_HEADER.replace("Confirm your account", "") + "\nHi",
            "warning headers header:3 The subject is empty.",
        ),
        (
            GOOD_HEADER.replace("MIME-Version: 1.0", "Content-Type: text/plain") + "\nHi",
            "error headers header:6 There is no MIME-Version field, so the content type may be ignored (RFC 2045).",
        ),
        (
            format!("{GOOD_HEADER}Subject: Again\n\nHi"),
            "error headers header:7 There is more than one Subject field.",
        ),
        (
            format!("{GOOD_HEADER}X-Name: Zoë\n\nHi"),
            "warning headers header:7 X-Name has characters that are not encoded (RFC 2047).",
        ),
        (
            GOOD_HEADER.replace("20 Nov", "18 Nov") + "\nHi",
            "warning headers header:4 The Date is 2 days before the arrival.",
        ),
        (
            GOOD_HEADER.replace("Fri, 20 Nov 2026", "today") + "\nHi",
            "error headers header:4 The Date is not valid.",
        ),
        (
            format!("{GOOD_HEADER}List-Id: <news.app.example>\n\nHi"),
            "error unsubscribe header:7 The message has a List-Id, but there is no List-Unsubscribe.",
        ),
        (
            format!(
                "{GOOD_HEADER}Precedence: bulk\nList-Unsubscribe: <https://app.example/out>\n\nHi"
            ),
            "warning unsubscribe header:7 `List-Unsubscribe-Post: List-Unsubscribe=One-Click` is missing (RFC 8058).",
        ),
        (
            format!("{GOOD_HEADER}List-Unsubscribe: https://app.example/out\n\nHi"),
            "error unsubscribe header:7 List-Unsubscribe has no URI in angle brackets.",
        ),
        (
            GOOD_HEADER.replace("To: ada@app.example", &format!("To: {many}b@app.example"))
                + "\nHi",
            "warning unsubscribe header:2 The message has 12 recipients, but there is no List-Unsubscribe.",
        ),
    ] {
        assert!(
            found(&mail).iter().any(|found| found == expected),
            "{expected}: {:?}",
            found(&mail)
        );
    }
    let latin = [
        GOOD_HEADER.replace('\n', "\r\n").as_bytes(),
        b"X-Name: Zo\xeb\r\n\r\nHi",
    ]
    .concat();
    let problems = checks(&latin, NOW).problems;
    assert!(
        problems
            .iter()
            .any(|problem| problem.detail.contains("neither ASCII nor UTF-8")),
        "{problems:?}"
    );
}

#[test]
fn problems_are_limited_and_errors_come_first() {
    let html: String = (0..500)
        .map(|number| format!("<p>{{{{a{number}}}}}<img src=https://a.example/{number}>"))
        .collect();
    let problems = run(&with_html(&html)).problems;
    assert!(problems.len() < 100, "{}", problems.len());
    assert!(problems.is_sorted_by_key(|problem| problem.severity == Severity::Warning));
    assert!(
        problems
            .iter()
            .any(|problem| problem.detail == "480 more problems of this kind are not listed.")
    );
    assert!(problems.iter().all(|problem| {
        problem
            .source
            .as_ref()
            .is_none_or(|line| line.chars().count() <= 201)
    }));
    assert_eq!(problems[0].severity, Severity::Error);
}

/// A character reference is longer or shorter than what it stands for.
#[test]
fn a_problem_after_character_references_has_its_own_line() {
    for reference in ["&nGt;", "&NotEqualTilde;", "&amp;", "&#x1f511;", "&copy"] {
        let html = format!(
            "<p>{}\n{{{{a}}}}\n\n\n</p>",
            format!("{reference} ").repeat(60)
        );
        let problems = run(&with_html(&html)).problems;
        let places: Vec<_> = problems
            .iter()
            .map(|one| (one.line, one.source.as_deref()))
            .collect();
        assert_eq!(places, [(Some(3), Some("{{a}}"))], "{reference}");
    }
}

/// The benchmark `mime` shows that the time grows linearly with pages like these.
#[test]
fn hostile_pages_are_checked_to_their_end() {
    let pieces = [
        "{{",
        "<a href='{{'>",
        "<b>",
        "</b><i>",
        "%",
        "{",
        "<a>",
        "${",
        "undefined ",
        "<td><tr>",
        "<style>{",
        "\n",
    ];
    for piece in pieces
        .into_iter()
        .chain(["&nGt;", "&nGt;{{a}}", "&", "&amp{{a}}"])
    {
        let checks = run(&with_html(&piece.repeat(16 * 1024 / piece.len())));
        assert!(
            checks.html.is_some() && checks.problems.len() < 100,
            "{piece}"
        );
    }
    let only_html = |html: &str| {
        checks(
            format!("Content-Type: text/html\r\n\r\n{html}").as_bytes(),
            NOW,
        )
        .problems
    };
    let short = only_html(&format!("<p>{}{{{{a}}}}", "&nGt;".repeat(60)));
    assert!(
        short
            .iter()
            .any(|one| one.source.as_deref() == Some("{{a}}")),
        "{short:?}"
    );
}
