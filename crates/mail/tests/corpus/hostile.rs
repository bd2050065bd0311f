//! Messages that once took a time that grew faster than their size, or that panicked. Each test
//! reads one in every way; before, it took at least half a minute, most took many minutes. A test
//! that does not end fails.

use restante_mail::display::Links;
use restante_mail::{parse, view};

/// Reads the message as a delivery does, and as a page shows it.
fn read(message: &str) -> String {
    let parsed = parse(message.as_bytes());
    let _ = (
        view::view(message.as_bytes()),
        view::page(message.as_bytes(), "/download", &Links::Shown),
    );
    parsed.text
}

fn html(start: &str, unit: &str, size: usize) -> String {
    format!(
        "Content-Type: text/html\r\n\r\n{start}{}",
        unit.repeat(size / unit.len())
    )
}

#[test]
fn a_root_that_cannot_be_shown_is_tried_once() {
    let mut message = String::new();
    for depth in 0..60 {
        let head = "Content-ID: <r>\r\nContent-Type: multipart/related; start=\"<r>\"; boundary=b";
        message += &format!("{head}{depth}\r\n\r\n--b{depth}\r\n");
    }
    message += "Content-ID: <r>\r\nContent-Type: application/x\r\n\r\nx\r\n";
    assert_eq!(read(&message), "");
}

#[test]
fn an_empty_part_in_many_alternatives_is_decoded_once() {
    let blank =
        "\r\n--m\r\nContent-Transfer-Encoding: base64\r\n\r\n".to_owned() + &"ICAg".repeat(1_000);
    let mut message = String::new();
    for depth in 0..60 {
        message += &format!(
            "Content-Type: multipart/alternative; boundary=a{depth}\r\n\r\n--a{depth}\r\n"
        );
    }
    message += "Content-Type: multipart/mixed; boundary=m\r\n";
    message += &(blank.repeat(900) + "\r\n--m\r\n\r\nHello\r\n--m--\r\n");
    assert_eq!(read(&message).trim(), "Hello");
}

#[test]
fn a_long_base_is_ignored() {
    let links: String = (0..10_000)
        .map(|number| format!("<a href={number}>"))
        .collect();
    read(&html(
        &format!(
            "<base href=\"https://b.example/{}\">{links}",
            "/".repeat(60_000)
        ),
        " ",
        1,
    ));
}

#[test]
fn a_text_of_one_word_is_searched_once() {
    for unit in ["a1", "1otp", "12None", "a12-34"] {
        read(&format!("\r\n{}", unit.repeat(256 * 1024 / unit.len())));
        read(&html("", unit, 256 * 1024));
    }
    // A compound that ends in a label.
    read(&format!("\r\n4821 {}", "kode".repeat(64 * 1024)));
}

#[test]
fn references_to_images_without_an_end_are_read_once() {
    let image = "--b\r\nContent-Type: image/png\r\nContent-ID: <i>\r\n\r\nx\r\n";
    let page = html("", "cid:", 512 * 1024);
    read(&format!(
        "Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\n{page}\r\n{image}--b--\r\n"
    ));
}

#[test]
fn white_space_is_skipped_once_for_all_parts() {
    let parts = "--b\r\nContent-Type: text/html\r\n\r\nxz\r\n--b\r\n\r\nxz\r\n".repeat(450);
    let spaces = " ".repeat(4 * 1024 * 1024);
    read(&format!(
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx{spaces}y\r\n{parts}--b--\r\n"
    ));
}

#[test]
fn escapes_of_iso_2022_jp_may_end_anywhere() {
    for end in ["GygbGw==", "GyQbGw==", "GxsbGw==", "Gygb", "GyQ="] {
        let word = format!("=?iso-2022-jp?B?{end}?=");
        let head = format!(
            "From: {word} <a@b.example>\r\nTo: {word}\r\nMessage-ID: {word}\r\nX: {word}\r\n"
        );
        let body = format!(
            "Content-Type: text/plain; charset=iso-2022-jp\r\nContent-Transfer-Encoding: base64\r\n\r\n{end}"
        );
        read(&format!("{head}{body}"));
    }
}
