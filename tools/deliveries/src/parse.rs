//! Reads files of cases.

use restante_delivery::Fault;

use super::{
    Action, Case, Check, DEFAULT, GivenInbox, GivenState, Givens, Mail, MailFrom, SENDER, Step,
};

impl Default for Givens {
    fn default() -> Self {
        Self {
            capacity: 3,
            inboxes: Vec::new(),
            deleted_projects: Vec::new(),
            lease_lost: false,
        }
    }
}

/// Parses one file; an error starts with the line number.
pub(super) fn cases(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if matches!(word, "" | "#") {
            continue;
        }
        if word == "case" {
            let place = format!("{name}:{line}");
            cases.push(Case {
                place,
                name: rest.to_owned(),
                givens: Givens::default(),
                steps: Vec::new(),
            });
            continue;
        }
        let case = cases
            .last_mut()
            .ok_or(format!("{line}: a file begins with a case"))?;
        read_line(case, line, word, rest).map_err(|problem| format!("{line}: {problem}"))?;
    }
    Ok(cases)
}

fn read_line(case: &mut Case, line: usize, word: &str, rest: &str) -> Result<(), String> {
    let action = match word {
        "given" => return given(&mut case.givens, rest),
        "when" => match rest.split_once(' ') {
            Some(("inbox", inbox)) => Action::End(
                inbox
                    .strip_suffix(" ends")
                    .ok_or("a word is missing")?
                    .to_owned(),
            ),
            _ => {
                let mail = mail(rest)?;
                // Mails that follow one another are one batch.
                if let Some(Step {
                    action: Action::Deliver(batch),
                    ..
                }) = case.steps.last_mut()
                {
                    batch.push(mail);
                    return Ok(());
                }
                Action::Deliver(vec![mail])
            }
        },
        "then" => Action::Expect(rest.to_owned()),
        "and" => Action::Check(check(rest)?),
        _ => return Err(format!("no such word: {word}")),
    };
    case.steps.push(Step { line, action });
    Ok(())
}

fn given(givens: &mut Givens, rest: &str) -> Result<(), String> {
    match *rest.split(' ').collect::<Vec<_>>() {
        ["capacity", count] => givens.capacity = number(count)?,
        ["lease", "lost"] => givens.lease_lost = true,
        ["project", name, "deleted"] => givens.deleted_projects.push(name.to_owned()),
        ["fault", inbox, ref words @ ..] => {
            let inbox = givens
                .inboxes
                .iter_mut()
                .find(|given| given.name == inbox)
                .ok_or("no such inbox is given")?;
            inbox.faults.push(fault(words)?);
        }
        ["inbox", id, ref words @ ..] => {
            let inbox = inbox(id, words, givens.capacity)?;
            givens.inboxes.push(inbox);
        }
        _ => return Err(format!("no such condition: {rest}")),
    }
    Ok(())
}

fn inbox(id: &str, words: &[&str], capacity: u64) -> Result<GivenInbox, String> {
    let name = id.to_owned();
    let project = DEFAULT.to_owned();
    let state = GivenState::Live;
    let faults = Vec::new();
    let mut inbox = GivenInbox {
        name,
        project,
        messages: 0,
        state,
        is_exhausted: false,
        faults,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "of" => inbox.project = words.next().ok_or("a project is missing")?.to_owned(),
            "with" => inbox.messages = number(words.next().unwrap_or_default())?,
            "full" => inbox.messages = capacity,
            "ended" => inbox.state = GivenState::Ended,
            "locked" => inbox.state = GivenState::Locked,
            "exhausted" => inbox.is_exhausted = true,
            _ => return Err(format!("no such state of an inbox: {word}")),
        }
    }
    if id.contains('@') {
        inbox.name = format!("{id}/{}", inbox.project);
    }
    Ok(inbox)
}

/// `data delay 5 times 2`: the words of a fault.
fn fault(words: &[&str]) -> Result<Fault, String> {
    let [at, action, rest @ ..] = words else {
        return Err("a fault has a point and an action".to_owned());
    };
    let text = |text: &str| Some(text.to_owned());
    let mut fields = restante_api::Fault {
        at: text(at),
        action: text(action),
        ..restante_api::Fault::default()
    };
    let mut rest = rest.iter().copied();
    while let Some(word) = rest.next() {
        match word {
            "times" => fields.times = Some(number(rest.next().unwrap_or_default())?),
            "stored" => fields.store = Some(true),
            seconds => fields.seconds = Some(number(seconds)?),
        }
    }
    Fault::requested(&fields).map_err(|error| error.to_string())
}

/// `mail to a, b from x@y.example by shop`, `own mail to a by shop` or `report to a`.
fn mail(rest: &str) -> Result<Mail, String> {
    let (kind, rest) = rest.split_once("to ").ok_or("the recipients are missing")?;
    let (rest, project) = rest
        .split_once(" by ")
        .map_or((rest, None), |(rest, by)| (rest, Some(by.to_owned())));
    let (recipients, reverse_path) = rest.split_once(" from ").unwrap_or((rest, SENDER));
    let recipients = recipients.split(", ").map(str::to_owned).collect();
    let reverse_path = reverse_path.trim_matches(['<', '>']).to_owned();
    let from = match kind.trim() {
        "mail" => MailFrom::Client {
            project,
            reverse_path,
        },
        "own mail" | "report" => MailFrom::Service {
            report: kind.trim() == "report",
            project: project.unwrap_or(DEFAULT.to_owned()),
        },
        _ => return Err(format!("no such mail: {kind}")),
    };
    Ok(Mail { recipients, from })
}

fn check(rest: &str) -> Result<Check, String> {
    if let Some(announced) = rest.strip_prefix("announced ") {
        return Ok(Check::Announced(
            announced.split(", ").map(str::to_owned).collect(),
        ));
    }
    let text = |text: &str| text.to_owned();
    Ok(match *rest.split(' ').collect::<Vec<_>>() {
        ["nothing", "announced"] => Check::Announced(Vec::new()),
        [inbox, "has", count] => Check::Has(text(inbox), number(count)?),
        [inbox, "belongs", "to", project] => Check::Belongs(text(inbox), text(project)),
        [inbox, "is", "reserved", "for", project] => Check::Reserved(text(inbox), text(project)),
        [inbox, "is", "free"] => Check::Free(text(inbox)),
        [inbox, "used", ref counts @ ..] => Check::Used(
            text(inbox),
            counts
                .iter()
                .map(|count| number(count))
                .collect::<Result<_, _>>()?,
        ),
        [count, "notification" | "notifications"] => Check::Notifications(number(count)?),
        _ => return Err(format!("no such check: {rest}")),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}
