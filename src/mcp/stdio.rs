//! The transport over standard input and output: one message a line.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use super::message::{self, Message};
use super::protocol::{self, Backend};
use super::running::Running;

/// How long calls may run after the end of the input: a client that pipes its messages waits for
/// their answers, another one has gone.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Answers the messages of `input` until it ends.
///
/// # Errors
/// If `input` cannot be read or `output` cannot be written.
pub async fn speak(
    backend: impl Backend,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let running = Running::default();
    let mut lines = input.split(b'\n');
    let mut answers = FuturesUnordered::new();
    let mut end = None;
    loop {
        let answer = tokio::select! {
            biased;
            Some(answer) = answers.next() => answer,
            line = lines.next_segment(), if end.is_none() => match line? {
                Some(line) => {
                    answers.push(answer(&backend, &running, line));
                    continue;
                }
                None => {
                    end = Some(Instant::now() + LAST_ANSWERS);
                    continue;
                }
            },
            () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => return Ok(()),
            else => return Ok(()),
        };
        if let Some(answer) = answer {
            output.write_all(format!("{answer}\n").as_bytes()).await?;
            output.flush().await?;
        }
    }
}

/// The line that answers a line; none for a notification and a call that was cancelled.
async fn answer(backend: &impl Backend, running: &Running, line: Vec<u8>) -> Option<String> {
    // Some programs write a byte order mark first.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
    if line.trim_ascii().is_empty() {
        return None;
    }
    let message = match Message::read(line) {
        Ok(message) => message,
        Err(error) => return Some(message::response(None, &Err(error))),
    };
    if let Some(cancelled) = message.cancelled() {
        running.cancel(&cancelled.into());
    }
    let id = message.id.clone()?;
    let call = running.start(id.clone().into());
    let result = call.run(protocol::answer(message, backend)).await?;
    Some(message::response(Some(&id), &result))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::message::JsonObject;

    struct Slow;

    impl Backend for Slow {
        async fn call(&self, tool: &str, _arguments: JsonObject) -> Value {
            if tool == "wait_for_message" {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            json!({"content": []})
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_asked_before_the_end_is_answered_if_it_ends_soon() {
        let call = |id: u32, tool: &str| {
            let params = json!({"name": tool});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
                .to_string()
        };
        let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}).to_string();
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2},
        });
        let lines = [
            format!("\u{feff}{ping}").into_bytes(),
            b"\xff\xfe".to_vec(),
            Vec::new(),
            call(1, "setup").into_bytes(),
            call(2, "setup").into_bytes(),
            cancel.to_string().into_bytes(),
            call(3, "wait_for_message").into_bytes(),
        ];
        let mut output = Vec::new();
        let started = Instant::now();
        speak(Slow, &*lines.join(&b'\n'), &mut output)
            .await
            .unwrap();
        assert_eq!(started.elapsed(), LAST_ANSWERS);
        let answers: Vec<Value> = String::from_utf8(output)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let ids: Vec<_> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!("p"), &Value::Null, &json!(1)]);
        assert_eq!(answers[1]["error"]["code"], -32700);
    }
}
