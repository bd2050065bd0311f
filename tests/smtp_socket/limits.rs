//! The limits of one client, and of all clients together.

use restante::config::MIB;

use crate::client::Client;
use crate::server::Server;

#[tokio::test]
async fn a_connection_too_many_is_refused_and_closed() {
    let server = Server::with(|settings| settings.limits.smtp_connections = 2).await;
    let first = server.greeted().await;
    let mut second = server.greeted().await;
    let mut third = server.connect().await;
    assert_eq!(third.reply().await, "421 4.7.0 Too many connections\r\n");
    assert!(third.is_closed().await);
    assert_eq!(second.command("NOOP").await, "250 2.0.0 OK\r\n");
    drop(first);
    until_greeted(&server).await;
}

#[tokio::test]
async fn one_address_has_a_limit_of_its_own() {
    let server = Server::with(|settings| settings.limits.smtp_connections_per_address = 1).await;
    let mut first = server.greeted().await;
    assert_eq!(
        server.connect().await.reply().await,
        "421 4.7.0 Too many connections\r\n"
    );
    assert!(first.command("QUIT").await.starts_with("221 "));
    assert!(first.is_closed().await);
    drop(first);
    until_greeted(&server).await;
}

/// The server notices a little later than the client that a connection has ended.
async fn until_greeted(server: &Server) {
    let greeted = async { while !server.connect().await.reply().await.starts_with("220 ") {} };
    tokio::time::timeout(crate::client::MAX_WAIT, greeted)
        .await
        .expect("the place is not free again");
}

#[tokio::test]
async fn a_message_may_be_as_large_as_the_limit_and_no_larger() {
    let server = Server::with(|settings| settings.limits.message_size = MIB).await;
    let mut client = server.greeted().await;
    assert!(
        client
            .message(&["large@restante.example.com"], &lines(MIB))
            .await
            .starts_with("250 ")
    );
    let reply = client
        .message(&["large@restante.example.com"], &lines(MIB + 1))
        .await;
    assert_eq!(reply, "552 5.3.4 Message too large\r\n");
    let reply = client
        .message(&["large@restante.example.com"], &lines(5 * MIB))
        .await;
    assert_eq!(reply, "552 5.3.4 Message too large\r\n");
    let declared = format!("MAIL FROM:<app@sender.example> SIZE={}", MIB + 1);
    assert_eq!(
        client.command(&declared).await,
        "552 5.3.4 Message too large\r\n"
    );
    let stored = server.messages("large@restante.example.com").await;
    assert_eq!(
        stored.iter().map(Vec::len).collect::<Vec<_>>(),
        [1024 * 1024]
    );
}

/// A message of `bytes` bytes, including the CR LF at its end.
fn lines(bytes: u64) -> String {
    let bytes = usize::try_from(bytes).unwrap();
    let mut text = format!("{}\r\n", "x".repeat(998)).repeat(bytes / 1000);
    text.push_str(&"y".repeat(bytes % 1000));
    let length = text.len() - 2;
    text.truncate(length);
    text
}

#[tokio::test]
async fn a_full_disk_refuses_messages_and_reading_goes_on() {
    let server = Server::with(|settings| settings.limits.free_disk = u64::MAX).await;
    let mut client = server.greeted().await;
    let reply = client.command("MAIL FROM:<app@sender.example>").await;
    assert_eq!(reply, "452 4.3.1 Insufficient storage, try again later\r\n");
    assert_eq!(client.command("NOOP").await, "250 2.0.0 OK\r\n");
}

/// With no pool and one seat, the server reads only one of two large messages at a time.
#[tokio::test]
async fn past_the_memory_budget_a_socket_is_not_read() {
    let server = Server::with(|settings| {
        settings.limits.message_size = 16 * MIB;
        settings.limits.message_memory = 0;
    })
    .await;
    let mut first = server.greeted().await;
    let mut second = server.greeted().await;
    let mut small = server.greeted().await;
    let message = lines(16 * MIB);
    let (begin, rest) = message.split_at(8 * 1024 * 1024);
    first.begin_message(&["first@restante.example.com"]).await;
    first.send(begin).await;
    second.begin_message(&["second@restante.example.com"]).await;
    let sending = async {
        second.send(format!("{message}\r\n.\r\n")).await;
        second.reply().await
    };
    let finishing = async {
        // This answer shows that the server is running; the other message cannot have been stored.
        assert_eq!(small.command("NOOP").await, "250 2.0.0 OK\r\n");
        assert_eq!(server.message_count().await, 0);
        first.send(format!("{rest}\r\n.\r\n")).await;
        assert!(first.reply().await.starts_with("250 "));
        assert_eq!(
            server.messages("second@restante.example.com").await.len(),
            0
        );
    };
    let (reply, ()) = tokio::join!(sending, finishing);
    assert!(reply.starts_with("250 "), "{reply}");
}

#[tokio::test]
async fn many_large_messages_at_once_all_arrive() {
    let server = Server::with(|settings| {
        settings.limits.message_size = MIB;
        settings.limits.message_memory = 3 * MIB;
        settings.limits.smtp_connections = 50;
    })
    .await;
    let message = lines(MIB);
    let clients = (0..20).map(|_| async {
        let mut client = server.greeted().await;
        client
            .message(&["many@restante.example.com"], &message)
            .await
    });
    for reply in futures_util::future::join_all(clients).await {
        assert!(reply.starts_with("250 "), "{reply}");
    }
    assert_eq!(server.message_count().await, 20);
}

#[tokio::test]
async fn a_client_that_hangs_up_in_the_data_leaves_nothing() {
    let server = Server::with(|settings| settings.limits.smtp_connections = 1).await;
    let mut client = server.greeted().await;
    client.begin_message(&["gone@restante.example.com"]).await;
    client.send("half a message\r\n").await;
    drop(client);
    until_greeted(&server).await;
    assert_eq!(server.message_count().await, 0);
}

#[tokio::test]
async fn of_a_client_that_has_left_no_more_is_stored() {
    let server = Server::with(|settings| settings.limits.smtp_connections = 1).await;
    let mut client = server.greeted().await;
    assert!(
        client
            .command("EHLO client.example")
            .await
            .starts_with("250")
    );
    let message =
        "MAIL FROM:<a@sender.example>\r\nRCPT TO:<left@restante.example.com>\r\nDATA\r\nx\r\n.\r\n";
    client.send(message.repeat(150)).await;
    drop(client);
    until_greeted(&server).await;
    let stored = server.message_count().await;
    // It cannot notice before the first reply.
    assert!(stored < 10, "{stored} messages were stored");
}

#[tokio::test]
async fn replies_that_nobody_reads_do_not_grow_in_memory() {
    let server = Server::start().await;
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let noops = "NOOP\r\n".repeat(10_000);
    // If its replies are not read, the server stops reading, so writing also stops.
    let mut sent = 0;
    while sent < 1_000_000_000 {
        let writable =
            tokio::time::timeout(std::time::Duration::from_secs(2), stream.writable()).await;
        match writable {
            Err(_) => break,
            Ok(ready) => ready.unwrap(),
        }
        sent += stream.try_write(noops.as_bytes()).unwrap_or(0);
    }
    assert!(sent < 1_000_000_000, "the server swallows everything");
    assert_eq!(
        server.greeted().await.command("NOOP").await,
        "250 2.0.0 OK\r\n"
    );
    drop(Client::new(stream));
}
