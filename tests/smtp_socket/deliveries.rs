//! Deliveries: the inbox and the project of a message, and the reply to the client.

use std::time::Duration;

use futures_util::FutureExt;
use tokio_rustls::rustls::version::TLS13;

use restante::config::SmtpAuth;
use restante::service::EntryFilter;

use crate::server::Server;
use testkit::within;

#[tokio::test]
async fn an_unknown_address_gets_an_inbox_and_other_domains_are_refused() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    assert!(
        client
            .command("MAIL FROM:<app@sender.example>")
            .await
            .starts_with("250 ")
    );
    assert_eq!(
        client.command("RCPT TO:<new@elsewhere.example>").await,
        "550 5.7.1 relay not permitted\r\n"
    );
    assert_eq!(
        client.command("RCPT TO:<new@[127.0.0.1]>").await,
        "550 5.7.1 relay not permitted\r\n"
    );
    assert_eq!(client.command("RSET").await, "250 2.0.0 OK\r\n");
    let reply = client
        .message(&["new@restante.example.com"], "Subject: A\r\n\r\nfirst")
        .await;
    assert!(reply.starts_with("250 2.0.0 "), "{reply}");
    assert_eq!(
        server.messages("new@restante.example.com").await,
        [b"Subject: A\r\n\r\nfirst\r\n"]
    );
}

#[tokio::test]
async fn the_reply_names_the_stored_message() {
    let server = Server::start().await;
    let reply = server
        .greeted()
        .await
        .message(&["a@restante.example.com"], "")
        .await;
    let id = reply.trim_end().rsplit(' ').next().unwrap();
    let caller = server
        .service
        .authenticate(restante_dialogs::API_KEY)
        .await
        .unwrap()
        .unwrap();
    let message = server.service.find_message(&caller, id).await.unwrap();
    assert_eq!(message.inbox_id.as_str(), "a");
}

#[tokio::test]
async fn an_inbox_named_twice_gets_one_message() {
    let server = Server::start().await;
    let recipients = [
        "twice@restante.example.com",
        "TWICE@Restante.Example.COM",
        "other@restante.example.com",
        "twice@restante.example.com",
    ];
    assert!(
        server
            .greeted()
            .await
            .message(&recipients, "x")
            .await
            .starts_with("250")
    );
    assert_eq!(
        server.messages("twice@restante.example.com").await,
        [b"x\r\n"]
    );
    assert_eq!(
        server.messages("other@restante.example.com").await,
        [b"x\r\n"]
    );
    assert_eq!(server.message_count().await, 2);
}

#[tokio::test]
async fn a_key_as_password_picks_the_project() {
    let server = Server::start().await;
    let key = server.new_project("second").await;
    let mut client = server.greeted().await.start_tls(&[&TLS13]).await;
    assert!(
        client
            .refused_login(&server, &plain("anybody", "rst_live_00000000000000000"))
            .await
            .starts_with("535 5.7.8")
    );
    assert!(
        client
            .command(&plain("anybody", key.as_str()))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .message(&["theirs@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    assert_eq!(
        server
            .messages_of(key.as_str(), "theirs@restante.example.com")
            .await
            .len(),
        1
    );
    assert_eq!(
        server.messages("theirs@restante.example.com").await.len(),
        0
    );
}

#[tokio::test]
async fn a_tag_of_an_ended_inbox_is_refused_to_the_key_of_another_project() {
    let server = Server::start().await;
    let key = server.new_project("second").await;
    assert!(
        server
            .greeted()
            .await
            .message(&["shop@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    let mut other = server.greeted().await;
    assert!(
        other
            .command(&plain("anybody", key.as_str()))
            .await
            .starts_with("235 ")
    );
    // While the inbox is live, mail with any tag is its own.
    assert!(
        other
            .message(&["shop+news@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    assert_eq!(server.messages("shop@restante.example.com").await.len(), 2);
    server.clock.advance(Duration::from_secs(3_600));
    let mut client = server.greeted().await;
    assert!(
        client
            .command(&plain("anybody", key.as_str()))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .command("MAIL FROM:<app@sender.example>")
            .await
            .starts_with("250")
    );
    assert_eq!(
        client
            .command("RCPT TO:<shop+news@restante.example.com>")
            .await,
        "550 5.2.1 Mailbox disabled\r\n"
    );
    assert!(
        client
            .command("RCPT TO:<none+news@restante.example.com>")
            .await
            .starts_with("250")
    );
    // Without a key, late mail goes to the project of the inbox.
    assert!(
        server
            .greeted()
            .await
            .message(&["shop+news@restante.example.com"], "late")
            .await
            .starts_with("250")
    );
    assert_eq!(
        server.messages("shop+news@restante.example.com").await,
        [b"late\r\n"]
    );
    assert!(
        server
            .messages_of(key.as_str(), "shop+news@restante.example.com")
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn a_revoked_key_sends_no_more_mail_from_an_open_session() {
    let server = Server::start().await;
    let key = server.new_project("second").await;
    let mut client = server.greeted().await;
    assert!(
        client
            .command(&plain("", key.as_str()))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .message(&["theirs@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    let new_key = server
        .service
        .projects()
        .rotate_key("second", Duration::ZERO)
        .await
        .unwrap();
    let mail = "MAIL FROM:<app@sender.example>";
    assert_eq!(
        client.command(mail).await,
        "530 5.7.0 Authentication required: the API key is no longer valid\r\n"
    );
    assert!(
        client.command(mail).await.starts_with("530 5.7.0"),
        "without a key it is refused again"
    );
    assert!(
        client
            .refused_login(&server, &plain("", key.as_str()))
            .await
            .starts_with("535 5.7.8")
    );
    assert!(
        client
            .command(&plain("", new_key.as_str()))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .message(&["theirs@restante.example.com"], "y")
            .await
            .starts_with("250")
    );
    assert_eq!(
        server
            .messages_of(new_key.as_str(), "theirs@restante.example.com")
            .await,
        [b"x\r\n", b"y\r\n"]
    );
}

fn plain(user_name: &str, password: &str) -> String {
    use base64::Engine;
    let response = base64::prelude::BASE64_STANDARD.encode(format!("\0{user_name}\0{password}"));
    format!("AUTH PLAIN {response}")
}

#[tokio::test]
async fn a_full_inbox_refuses_for_now() {
    let server = Server::with(|settings| settings.limits.inbox_messages = 1).await;
    let mut first = server.greeted().await;
    let mut second = server.greeted().await;
    // There is room for one of them.
    first.begin_message(&["full@restante.example.com"]).await;
    second.begin_message(&["full@restante.example.com"]).await;
    first.send("x\r\n.\r\n").await;
    assert!(first.reply().await.starts_with("250"));
    second.send("y\r\n.\r\n").await;
    assert_eq!(second.reply().await, "452 4.2.2 Inbox full\r\n");
    assert!(
        first
            .command("MAIL FROM:<app@sender.example>")
            .await
            .starts_with("250")
    );
    assert_eq!(
        first.command("RCPT TO:<full@restante.example.com>").await,
        "452 4.2.2 Inbox full\r\n"
    );
}

#[tokio::test]
async fn an_address_of_a_deleted_project_is_disabled() {
    let server = Server::start().await;
    let key = server.new_project("short-lived").await;
    let mut client = server.greeted().await;
    assert!(
        client
            .command(&plain("", key.as_str()))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .message(&["late@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    server
        .service
        .projects()
        .delete("short-lived")
        .await
        .unwrap();
    let mut other = server.greeted().await;
    assert!(
        other
            .command("MAIL FROM:<app@sender.example>")
            .await
            .starts_with("250")
    );
    assert_eq!(
        other.command("RCPT TO:<late@restante.example.com>").await,
        "550 5.2.1 Mailbox disabled\r\n"
    );
}

#[tokio::test]
async fn the_trace_shows_how_a_message_arrived() {
    let server = Server::start().await;
    let mut client = server.greeted().await.start_tls(&[&TLS13]).await;
    assert!(
        client
            .message(&["traced@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    let trace: String = server
        .database()
        .query_row("SELECT trace FROM contents", [], |row| row.get(0))
        .unwrap();
    let (trace, message_id) = trace.split_once("Message-ID: ").unwrap();
    assert!(
        message_id.starts_with('<') && message_id.ends_with("@restante.example.com>\r\n"),
        "{message_id}"
    );
    assert_eq!(
        trace,
        "Return-Path: <app@sender.example>\r\n\
         Received: from client.example ([127.0.0.1])\r\n\
         \tby restante.example.com with ESMTPS\r\n\
         \tfor <traced@restante.example.com>;\r\n\
         \tFri, 15 Jan 2027 08:00:00 +0000\r\n"
    );
}

#[tokio::test]
async fn what_is_pipelined_is_answered_in_order_and_flushed_together() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    client
        .send("MAIL FROM:<app@sender.example>\r\nRCPT TO:<p@restante.example.com>\r\nRCPT TO:<p@x.example>\r\nDATA\r\n")
        .await;
    assert_eq!(client.received().await, 4);
    for code in ["250 2.1.0", "250 2.1.5", "550 5.7.1", "354 "] {
        assert!(client.reply().await.starts_with(code), "{code}");
    }
    client
        .send("one\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<p@restante.example.com>\r\nDATA\r\n")
        .await;
    for code in ["250 2.0.0", "250 2.1.0", "250 2.1.5", "354 "] {
        assert!(client.reply().await.starts_with(code), "{code}");
    }
    client.send("two\r\n.\r\nQUIT\r\n").await;
    assert!(client.reply().await.starts_with("250 "));
    assert!(client.reply().await.starts_with("221 "));
    assert!(client.is_closed().await);
    assert_eq!(
        server.messages("p@restante.example.com").await,
        [b"one\r\n", b"two\r\n"]
    );
}

#[tokio::test]
async fn a_store_that_hangs_is_a_451_and_others_are_read_from() {
    let server = Server::start().await;
    let mut hanging = server.greeted().await;
    let mut other = server.greeted().await;
    hanging.begin_message(&["a@restante.example.com"]).await;
    let mut database = server.database();
    let lock = database
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .unwrap();
    hanging.send("x\r\n.\r\n").await;
    assert_eq!(other.command("NOOP").await, "250 2.0.0 OK\r\n");
    let reply = server
        .passing(Duration::from_secs(10), hanging.reply())
        .await;
    assert_eq!(reply, "451 4.3.0 Storage failure, try again later\r\n");
    assert_eq!(other.command("NOOP").await, "250 2.0.0 OK\r\n");
    drop(lock);
    // It does not matter whether the first try was stored: the client's next one is.
    let mut next = server.greeted().await;
    assert!(
        next.message(&["a@restante.example.com"], "x")
            .await
            .starts_with("250 ")
    );
}

#[tokio::test]
async fn dummy_credentials_are_accepted_and_ignored() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    assert!(
        client
            .command(&plain("app", "secret"))
            .await
            .starts_with("235 ")
    );
    assert!(
        client
            .message(&["dummy@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    assert_eq!(
        server.messages("dummy@restante.example.com").await,
        [b"x\r\n"],
        "it is the default project's"
    );
    let trace: String = server
        .database()
        .query_row("SELECT trace FROM contents", [], |row| row.get(0))
        .unwrap();
    assert!(
        trace.contains(" with ESMTP\r\n"),
        "the trace does not claim an authentication: {trace}"
    );
}

#[tokio::test]
async fn a_password_like_a_key_must_be_a_valid_one() {
    let server = Server::start().await;
    let login = async |user: &str, password: &str| {
        let mut client = server.greeted().await;
        let login = plain(user, password);
        client.refused_login(&server, &login).await
    };
    for wrong in [
        "rst_live_00000000000000000",
        "rst_live_",
        "rst_live_ not a key",
        "Bearer rst_live_00000000000000000",
        &format!("x{}", restante_dialogs::API_KEY),
    ] {
        for (user, password) in [("app", wrong), (wrong, "dummy")] {
            let refused = login(user, password).await;
            assert!(refused.starts_with("535 5.7.8"), "{user} {password}");
        }
    }
    let reply = login(restante_dialogs::API_KEY, "dummy").await;
    assert!(reply.starts_with("235 "), "{reply}");
}

#[tokio::test]
async fn an_installation_can_take_keys_only() {
    let server = Server::with(|settings| settings.listeners.smtp_auth = SmtpAuth::Keys).await;
    let mut client = server.greeted().await;
    assert!(
        client
            .refused_login(&server, &plain("app", "secret"))
            .await
            .starts_with("535 5.7.8")
    );
    assert!(
        client
            .command(&plain("app", restante_dialogs::API_KEY))
            .await
            .starts_with("235 ")
    );
}

#[tokio::test]
async fn guesses_of_keys_take_a_second_and_leave_one_row_and_a_valid_key_is_not_held_up() {
    let server = Server::start().await;
    let wrong = plain("app", "rst_live_00000000000000000");
    let mut guessers = Vec::new();
    for _ in 0..6 {
        let mut guesser = server.greeted().await;
        guesser.send(&format!("{wrong}\r\n")).await;
        guessers.push(guesser);
    }
    let mut other = server.greeted().await;
    // The same address, with a valid key.
    assert!(
        other
            .command(&plain("app", restante_dialogs::API_KEY))
            .await
            .starts_with("235 ")
    );
    assert!(
        other
            .message(&["valid@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    let start = server.clock.instant();
    assert!(guessers[0].reply().now_or_never().is_none());
    let replies =
        futures_util::future::join_all(guessers.iter_mut().map(crate::client::Client::reply));
    for refused in server.passing(Duration::from_secs(1), replies).await {
        assert!(refused.starts_with("535 5.7.8"), "{refused}");
    }
    assert!(server.clock.instant().since(start) >= Duration::from_secs(1));
    let rows = async || {
        server
            .service
            .refusals(&EntryFilter::default())
            .await
            .unwrap()
    };
    within(async {
        while rows()
            .await
            .first()
            .is_none_or(|(_, refused)| !refused.reply.starts_with("535"))
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let rows = rows().await;
    assert_eq!(
        rows.iter()
            .map(|(_, refused)| refused.peer.as_str())
            .collect::<Vec<_>>(),
        ["127.0.0.1"]
    );
}
