//! Timeouts and the graceful stop.

use std::time::Duration;

use restante::config::MIB;

use crate::server::{GRACE, Server};

const TIMED_OUT: &str = "421 4.4.2 Timed out\r\n";
const STOPPING: &str = "421 4.3.2 Service is stopping\r\n";

#[tokio::test]
async fn an_idle_session_is_ended() {
    let server = Server::start().await;
    let mut idle = server.greeted().await;
    let mut silent = server.connect().await;
    assert!(silent.reply().await.starts_with("220 "));
    let limit = server.settings.limits.idle_timeout;
    assert_eq!(server.passing(limit, idle.reply()).await, TIMED_OUT);
    assert!(idle.is_closed().await);
    assert_eq!(server.passing(limit, silent.reply()).await, TIMED_OUT);
}

#[tokio::test]
async fn a_client_that_sends_commands_is_not_idle() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    for _ in 0..20 {
        server
            .clock
            .advance(server.settings.limits.idle_timeout / 2);
        assert_eq!(client.command("NOOP").await, "250 2.0.0 OK\r\n");
    }
}

#[tokio::test]
async fn a_command_must_be_complete_in_time() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    let ended = async {
        // Never silent, and never complete.
        loop {
            client.send("N").await;
            if let Ok(reply) = tokio::time::timeout(Duration::from_millis(20), client.reply()).await
            {
                return reply;
            }
        }
    };
    let step = server.settings.limits.idle_timeout / 10;
    assert_eq!(server.passing(step, ended).await, TIMED_OUT);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_message_that_takes_too_long_is_given_up() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    client.begin_message(&["slow@restante.example.com"]).await;
    let ended = async {
        // Never idle, and never complete.
        loop {
            client.send("x\r\n").await;
            if let Ok(reply) = tokio::time::timeout(Duration::from_millis(20), client.reply()).await
            {
                return reply;
            }
        }
    };
    let step = server.settings.limits.idle_timeout / 10;
    assert_eq!(server.passing(step, ended).await, TIMED_OUT);
    assert!(client.is_closed().await);
    assert_eq!(server.message_count().await, 0);
}

/// A client that has stopped sending holds the only seat: the next message gets it long before the
/// time limit of the first one.
#[tokio::test]
async fn a_slow_sender_loses_its_memory_to_those_who_wait() {
    let server = Server::with(|settings| {
        settings.limits.message_size = 4 * MIB;
        settings.limits.message_memory = 0;
    })
    .await;
    let mut slow = server.greeted().await;
    let mut good = server.greeted().await;
    slow.begin_message(&["slow@restante.example.com"]).await;
    slow.send("x".repeat(100_000)).await;
    good.begin_message(&["good@restante.example.com"]).await;
    let started = server.clock.now();
    let line = format!("{}\r\n", "y".repeat(998));
    let sending = good.send(line.repeat(2_000));
    let slow_ends = server.passing(Duration::from_secs(1), slow.reply());
    let (ended, ()) = tokio::join!(slow_ends, sending);
    assert_eq!(ended, TIMED_OUT);
    // The clock is not advanced while the message is stored, because that also has a time limit.
    good.send(".\r\n").await;
    let reply = good.reply().await;
    assert!(reply.starts_with("250 "), "{reply}");
    assert!(server.clock.now().since(started) < server.settings.limits.idle_timeout);
}

#[tokio::test]
async fn a_stop_ends_idle_sessions_and_takes_no_new_ones() {
    let server = Server::start().await;
    let mut idle = server.greeted().await;
    let mut in_transaction = server.greeted().await;
    assert!(
        in_transaction
            .command("MAIL FROM:<app@sender.example>")
            .await
            .starts_with("250 ")
    );
    let address = server.address;
    server.begin_stop();
    assert_eq!(idle.reply().await, STOPPING);
    assert_eq!(in_transaction.reply().await, STOPPING);
    drop((idle, in_transaction));
    server.ended().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_stop_lets_a_message_finish() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    client.begin_message(&["last@restante.example.com"]).await;
    client.send("the first half\r\n").await;
    server.begin_stop();
    client.send("the second half\r\n.\r\n").await;
    assert!(client.reply().await.starts_with("250 "));
    assert_eq!(client.reply().await, STOPPING);
    drop(client);
    assert_eq!(
        server.messages("last@restante.example.com").await,
        [b"the first half\r\nthe second half\r\n"]
    );
    server.ended().await;
}

#[tokio::test]
async fn sessions_are_cut_off_after_the_grace_period() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    client.begin_message(&["never@restante.example.com"]).await;
    client.send("half a message\r\n").await;
    server.begin_stop();
    assert!(server.passing(GRACE, client.is_closed()).await);
    assert_eq!(server.message_count().await, 0);
    server.ended().await;
}
