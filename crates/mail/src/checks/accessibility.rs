//! What people with a screen reader cannot read.

use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::problems::{Problems, quoted};

/// Texts of links that say nothing about where they lead.
const EMPTY_WORDS: &str = "here|click here|click|link|this|this link|more|read more|hier|hier klicken|klicken sie hier|\
    klick hier|mehr|mehr lesen|ici|cliquez ici|cliquer ici|lien|en savoir plus|aquí|haz clic aquí|haga clic aquí|\
    clic aquí|qui|clicca qui|aqui|clique aqui|klik hier|tutaj|kliknij tutaj|здесь|тут|нажмите здесь|här|klicka här|her|\
    klik her|klikk her|tästä|täällä|klikkaa tästä|buraya|buraya tıklayın|こちら|こちらをクリック|ここ|ここをクリック|点击这里|\
    这里|此处|點擊這裡|여기|여기를 클릭하세요|zde|klikněte zde|ide|kattintson ide|aici|click aici";

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Accessibility);
    if mail.html.trim().is_empty() {
        return;
    }
    match mail.page.html {
        Some((_, true)) => {}
        Some((at, false)) => {
            let detail =
                "The html element has no lang, so a screen reader has to guess the language.";
            problems.at(Severity::Warning, SourcePart::Html, at, detail);
        }
        None => problems.missing(Severity::Warning, "There is no html element with a lang."),
    }
    if !mail.page.has_title {
        problems.missing(Severity::Warning, "The HTML has no title.");
    }
    if let [first, ..] = mail.page.unmarked_tables[..] {
        let count = mail.page.unmarked_tables.len();
        let detail = match count {
            1 => "A table for the layout has no role=\"presentation\".".to_owned(),
            _ => format!("{count} tables for the layout have no role=\"presentation\"."),
        };
        problems.at(Severity::Warning, SourcePart::Html, first, detail);
    }
    for link in &mail.page.links {
        let words = link.words.trim();
        if words.is_empty() {
            let detail = format!("A link has no text: {}.", quoted(&link.href));
            problems.at(Severity::Warning, SourcePart::Html, link.offset, detail);
        } else if is_empty_phrase(words) {
            let detail = format!(
                "The text of a link does not say where it leads: {}.",
                quoted(words)
            );
            problems.at(Severity::Warning, SourcePart::Html, link.offset, detail);
        }
    }
}

fn is_empty_phrase(words: &str) -> bool {
    let words = words.to_lowercase();
    let words = words.trim_matches(|one: char| !one.is_alphanumeric());
    EMPTY_WORDS.split('|').any(|empty| empty == words)
}
