//! The language of the repository: plain words. Reads every tracked
//! text file.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::RegexSet;

/// Files whose text is checked for words.
const PROSE: [&str; 16] = [
    ".rs", ".md", ".html", ".js", ".css", ".sql", ".cfg", ".conf", ".ts", ".mjs", ".py", ".go",
    ".java", ".yaml", ".yml", SCENARIOS,
];
/// The only JSON that is written by hand for readers.
const SCENARIOS: &str = "clients/scenarios.json";
/// A line with this marker may use the words of an RFC.
const QUOTATION: &str = "RFC quotation";
/// Text that is not ours, or that a program writes or compares: licences, lock files, published
/// JSON, test data.
const DATA: [&str; 10] = [
    "LICENSE-",
    ".lock",
    "go.sum",
    ".json",
    ".jsonl",
    ".eml",
    ".dialog",
    ".svg",
    "languages.txt",
    "hostile.txt",
];
/// Each word with what to write instead.
const WORDS: [(&str, &str); 33] = [
    (r"octets?\b", "bytes"),
    (
        r"\b(whoever|whomever|whichever|whatever|wherever)\b",
        "name the caller, the writer, the place",
    ),
    (
        r"\bstands? in line\b|\b(has|have|gets?) (its|their) turn\b",
        "is queued, runs",
    ),
    (r"\bagain and again\b", "repeatedly; for code: polled"),
    (r"\bin a circle\b", "deadlock"),
    (r"\b(is|are|was|were) away\b", "unavailable"),
    (r"\b(lies|lie) in\b", "is in"),
    (r"\b(begun|made ready)\b", "started, ready"),
    (
        r"\bbehind (the (first|last|next|previous|answer|reply|attempt|dot|colon|code))\b",
        "after",
    ),
    (r"\b(hears?|heard) (of|from)\b", "receives, is notified"),
    (r"\bin a hundred\b", "%"),
    (r"\bstands? (in|on|at|beside|between|alone|before)\b", "is"),
    (r"\banew\b", "again"),
    (r"\b(took|taken) up\b", "uses, reads again"),
    (
        r"\b(come|comes|came|become|becomes|became) of\b",
        "the result of",
    ),
    (r"\b(gives?|gave|given) back\b", "returns, frees"),
    (r"\b(all the same|but for)\b", "nevertheless, except"),
    (r"\bbesides\b", "in addition to, except"),
    (
        r"\b(nothing|none) where\b|\bwhere there (is|are|was|were)\b",
        "none if, if there is",
    ),
    (r"\bseam\b", "interface"),
    (
        r"\b(hence|whence|thereof|whereof|lest|nought)\b",
        "so, of it, so that … not",
    ),
    (
        r"\b(mail|messages?|emails?|it) (does not |did not |must not )?(comes?|came)\b",
        "arrives, arrived",
    ),
    (r"\btakes? mail\b", "accepts mail"),
    (r"\btime-outs?\b", "timeout"),
    (r"\bby (itself|themselves)\b", "automatically"),
    (r"\bfaults? on request\b", "fault injection"),
    (
        r"\b(takes?|took|taken) (it |this |that )?back\b",
        "undoes, undone",
    ),
    (r"\btakes a free\b", "selects a free"),
    (r"\bTLS from the first byte\b", "implicit TLS"),
    (r"\b(earlier|same) life\b", "earlier inbox, same inbox"),
    (r"\bshown only (now|this once)\b", "shown only once"),
    (
        r"\bthe (most|fewest) (bytes|characters|entries|lines|messages|numbers|waits|concurrent)\b",
        "maximum number of",
    ),
    (
        r"\b((most|least|longest|shortest)_[a-z_]+: |PATIENCE\b|rubbish)",
        "MAX_ and MIN_; a name that says what it is",
    ),
];
/// The same, only for documents.
const WORDS_OF_DOCUMENTS: [(&str, &str); 9] = [
    (
        r"\b(a|one|each|every|another|that|this) mail([.,;:)]|$| (that|which|is|was|has|to|from|in|of|and|or)\b)",
        "a message",
    ),
    (r"\bmails\b", "messages"),
    (r"\bwhat (did come|came)\b", "which messages arrived"),
    (r"\be-mails?\b", "email"),
    (
        r"\bof (its|their) own([.,;:)]|$| (and|on|in|that|for|with)\b)",
        "its own, a separate",
    ),
    (
        r"\b(inbox|inboxes|messages?|files?) a (test|second|message|command)\b",
        "per test, per second",
    ),
    (r"\banswered with 4\d\d\b", "returns 404"),
    (r"\b(without|with) a script\b", "JavaScript"),
    (r"\bas you like\b", "at your option"),
];

#[test]
fn no_text_uses_a_word_of_the_list() {
    let found = uses(&WORDS, |path| {
        PROSE.iter().any(|end| path.ends_with(end)) && path != "tests/architecture/language.rs"
    });
    assert_none("words that stop a reader", &found);
}

#[test]
fn no_document_uses_a_word_of_its_list() {
    assert_none(
        "words that stop a reader",
        &uses(&WORDS_OF_DOCUMENTS, |path| path.ends_with(".md")),
    );
}

/// The places in the wanted files that use one of the words.
fn uses(words: &[(&str, &str)], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    // All words at once: one after the other takes ten seconds.
    let any = RegexSet::new(words.iter().map(|(word, _)| format!("(?i){word}"))).unwrap();
    lines(wanted)
        .filter(|(_, line)| !line.contains(QUOTATION) && !line.contains("octet-stream"))
        .flat_map(|(place, line)| {
            let hits = any.matches(&line).into_iter().map(|hit| words[hit]);
            hits.map(|(word, instead)| format!("{place}: {word} (write: {instead})"))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

/// Every line of the tracked text files with a wanted path, with its place as `path:number`.
fn lines(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let paths = String::from_utf8(listed.stdout).unwrap();
    let paths: Vec<_> = paths
        .split('\0')
        .filter(|path| wanted(path) && !is_data(path))
        .map(str::to_owned)
        .collect();
    assert!(!paths.is_empty(), "git lists no files");
    paths.into_iter().flat_map(move |path| {
        // A file that is not text is none of ours to read; a deleted one is not there.
        let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
        let numbered = text
            .lines()
            .enumerate()
            .map(|(index, line)| (format!("{path}:{}", index + 1), line.to_owned()));
        numbered.collect::<Vec<_>>()
    })
}

fn is_data(path: &str) -> bool {
    let is_part =
        |part: &&str| path.ends_with(*part) || (part.ends_with('-') && path.contains(*part));
    path.is_empty() || (path != SCENARIOS && DATA.iter().any(is_part))
}
