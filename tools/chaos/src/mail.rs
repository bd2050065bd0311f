//! Sends mail over SMTP, with what the replies mean for the checker.

use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::smtp::Smtp;

use crate::world::World;

/// The outcome of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// 250 to the final dot.
    Accepted,
    /// Another reply, before or after the final dot.
    Reply(String),
    /// The connection ended before the final dot was sent.
    NotSent,
    /// The connection ended after the final dot.
    NoReply,
}

/// A message for one or more recipients.
pub(crate) struct Mail<'a> {
    pub(crate) recipients: &'a [String],
    pub(crate) subject: &'a str,
    pub(crate) text: &'a str,
    /// The key to log in with.
    pub(crate) key: Option<&'a str>,
}

/// Sends a message on a new connection.
pub(crate) fn send(address: &str, mail: &Mail<'_>) -> Outcome {
    until_data(address, mail).map_or_else(|outcome| outcome, |connection| finish(connection, mail))
}

/// Sends each message to its node on a connection of its own, all final dots at the same time.
pub(crate) fn send_together(world: &World, mails: &[(usize, Mail<'_>)]) -> Vec<Outcome> {
    let open: Vec<_> = mails
        .iter()
        .map(|(node, mail)| {
            // A node that does not run has no address to connect to.
            let address = world
                .nodes
                .with(*node, |server| server.smtp.clone())
                .unwrap_or_default();
            (until_data(&address, mail), *node, mail)
        })
        .collect();
    thread::scope(|scope| {
        let sending: Vec<_> = open
            .into_iter()
            .map(|(connection, node, mail)| {
                let finish = move |connection| world.deliver(node, || finish(connection, mail));
                scope.spawn(move || connection.map_or_else(|outcome| outcome, finish))
            })
            .collect();
        sending
            .into_iter()
            .map(|sent| sent.join().expect("it does not panic"))
            .collect()
    })
}

fn finish(mut connection: Smtp, mail: &Mail<'_>) -> Outcome {
    let Mail { subject, text, .. } = mail;
    match connection.say(&format!(
        "From: Shop <app@shop.example>\r\nTo: {subject}<to@shop.example>\r\n\
         X-Token: {subject}\r\nSubject: {subject}\r\n\r\n\
         {text}\r\n\r\nReference: {subject}\r\n."
    )) {
        Ok(reply) if reply.starts_with("250") => Outcome::Accepted,
        Ok(reply) => Outcome::Reply(reply),
        Err(_) => Outcome::NoReply,
    }
}

/// Sends a message without its end, and closes the connection.
pub(crate) fn hang_up(address: &str, mail: &Mail<'_>) {
    if let Ok(mut connection) = until_data(address, mail) {
        // The server may be gone; then nothing was sent either.
        let _ = connection.write(&format!(
            "Subject: {}\r\n\r\n{}\r\n",
            mail.subject, mail.text
        ));
    }
}

/// The connection after the reply 354, or what came instead.
fn until_data(address: &str, mail: &Mail<'_>) -> Result<Smtp, Outcome> {
    let mut connection = Smtp::connect(address).map_err(|_| Outcome::NotSent)?;
    let login = mail
        .key
        .map(|key| format!("AUTH PLAIN {}", STANDARD.encode(format!("\0test\0{key}"))));
    let login = login.map(|login| (login, "235"));
    let recipients = mail
        .recipients
        .iter()
        .map(|recipient| (format!("RCPT TO:<{recipient}>"), "250"));
    let from = ("MAIL FROM:<app@shop.example>".to_owned(), "250");
    let commands = login
        .into_iter()
        .chain([from])
        .chain(recipients)
        .chain([("DATA".to_owned(), "354")]);
    for (command, expected) in commands {
        let reply = connection.say(&command).map_err(|_| Outcome::NotSent)?;
        if !reply.starts_with(expected) {
            return Err(Outcome::Reply(reply));
        }
    }
    Ok(connection)
}
