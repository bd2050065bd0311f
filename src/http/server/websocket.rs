//! WebSockets that only send: a response opens one with [`Events`], and the connection sends them
//! after it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::stream::{Stream, StreamExt};
use futures_util::{SinkExt, future};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The key of a client and this are hashed (RFC 6455, section 1.3).
const SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Maximum size of what a client sends, which is not read.
const MAX_RECEIVED: usize = 4 * 1024;

/// What is sent.
#[derive(Debug)]
pub enum Event {
    Text(String),
    /// Shows whether the client is still there.
    Ping,
}

type Sent = Pin<Box<dyn Stream<Item = Event> + Send>>;

/// An extension of a response: what is sent after it, until the client closes.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Option<Sent>>>);

impl Events {
    pub(super) fn take(self) -> Option<Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether a client asks for a WebSocket.
pub fn is_asked(headers: &HeaderMap) -> bool {
    let is = |name, value| {
        let fields = headers.get_all(name).iter();
        let mut values = fields
            .filter_map(|field| field.to_str().ok())
            .flat_map(|field| field.split(','));
        values.any(|one| one.trim().eq_ignore_ascii_case(value))
    };
    is(UPGRADE, "websocket")
        && is(CONNECTION, "upgrade")
        && is(SEC_WEBSOCKET_VERSION, "13")
        && headers.contains_key(SEC_WEBSOCKET_KEY)
}

/// Opens a WebSocket for a client that [asks](is_asked) for one.
pub fn open(headers: &HeaderMap, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut hash = Sha1::new();
    let key = headers.get(SEC_WEBSOCKET_KEY);
    hash.update(key.expect("a client that asks for one has a key"));
    hash.update(SUFFIX);
    let accept = BASE64_STANDARD.encode(hash.finalize());
    let answer = [
        (CONNECTION, "upgrade"),
        (UPGRADE, "websocket"),
        (SEC_WEBSOCKET_ACCEPT, &accept),
    ];
    let mut response = (StatusCode::SWITCHING_PROTOCOLS, answer).into_response();
    let events: Sent = Box::pin(events);
    response
        .extensions_mut()
        .insert(Events(Arc::new(Mutex::new(Some(events)))));
    response
}

/// Sends the events until they end, or the client leaves.
pub(super) async fn send(stream: impl AsyncRead + AsyncWrite + Unpin, mut events: Sent) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_RECEIVED))
        .max_frame_size(Some(MAX_RECEIVED));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (mut sender, receiver) = socket.split();
    // Reading answers pings, and ends with the client.
    let mut left = receiver.take_while(|received| future::ready(received.is_ok()));
    let sending = async {
        while let Some(event) = events.next().await {
            let message = match event {
                Event::Text(text) => Message::text(text),
                Event::Ping => Message::Ping(Default::default()),
            };
            if sender.send(message).await.is_err() {
                return;
            }
        }
        // It may have left.
        let _ = sender.close().await;
    };
    tokio::select! {
        () = sending => {}
        () = async { while left.next().await.is_some() {} } => {}
    }
}
