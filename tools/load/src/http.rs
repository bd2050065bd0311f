//! A cheap HTTP/1.1 client that keeps its connection, and the requests that prepare a run.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Http {
    stream: TcpStream,
    buffer: Vec<u8>,
    read: usize,
}

impl Http {
    pub(crate) async fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(64 * 1024),
            read: 0,
        })
    }

    /// The status and the body of a response.
    pub(crate) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        key: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        self.write(method, path, key).await?;
        self.answer().await
    }

    pub(crate) async fn write(&mut self, method: &str, path: &str, key: &str) -> io::Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: load\r\nX-Api-Key: {key}\r\nContent-Length: 0\r\n\r\n"
        );
        self.stream.write_all(request.as_bytes()).await
    }

    /// The status and the body of the response to a message that is sent over the API of a
    /// provider.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer load\r\nContent-Type: {content_type}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream
            .write_all(format!("{head}{body}").as_bytes())
            .await?;
        self.answer().await
    }

    pub(crate) async fn answer(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let (status, _, body) = self.whole_answer().await?;
        Ok((status, body))
    }

    /// The status, the header and the body of the response to a request as a browser sends it.
    pub(crate) async fn browse(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &str,
    ) -> io::Result<(u16, String, Vec<u8>)> {
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\n{header}Content-Length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).await?;
        self.whole_answer().await
    }

    async fn whole_answer(&mut self) -> io::Result<(u16, String, Vec<u8>)> {
        let end = self.read_past(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&self.buffer[self.read..end]).into_owned();
        self.read = end;
        let status = head
            .get(9..12)
            .and_then(|status| status.parse().ok())
            .ok_or(io::ErrorKind::InvalidData)?;
        let header = |name: &str| {
            let line = head.lines().find(|line| {
                line.get(..name.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(name))
            });
            line.map(|line| line[name.len()..].trim().to_owned())
        };
        let body = match header("content-length:") {
            Some(length) => {
                self.take(length.parse().map_err(|_| io::ErrorKind::InvalidData)?)
                    .await?
            }
            None => self.chunks().await?,
        };
        self.buffer.drain(..std::mem::take(&mut self.read));
        Ok((status, head, body))
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self.read_past(b"\r\n").await?;
            let size = String::from_utf8_lossy(&self.buffer[self.read..end - 2]).into_owned();
            self.read = end;
            let size =
                usize::from_str_radix(size.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
            body.extend(self.take(size).await?);
            self.take(2).await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < self.read + count {
            self.fill().await?;
        }
        let taken = self.buffer[self.read..self.read + count].to_vec();
        self.read += count;
        Ok(taken)
    }

    /// Reads until `mark`, and returns where it ends.
    async fn read_past(&mut self, mark: &[u8]) -> io::Result<usize> {
        let mut from = self.read;
        loop {
            if let Some(at) = self.buffer[from..]
                .windows(mark.len())
                .position(|window| window == mark)
            {
                return Ok(from + at + mark.len());
            }
            from = self
                .buffer
                .len()
                .saturating_sub(mark.len() - 1)
                .max(self.read);
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// Creates an inbox for each key, over one connection.
pub(crate) async fn create_inboxes<'a>(
    address: &str,
    keys: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut http = Http::connect(address).await.unwrap();
    let mut inboxes = Vec::new();
    for key in keys {
        let (status, body) = http.ask("POST", "/v1/inboxes", key).await.unwrap();
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        inboxes.push(parsed(&body)["id"].as_str().unwrap().to_owned());
    }
    inboxes
}

pub(crate) fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

/// Opens waits that receive no message.
pub(crate) async fn hold<'a>(
    http: &str,
    waits: impl Iterator<Item = (&'a String, &'a str)>,
) -> Vec<Http> {
    let mut held = Vec::new();
    for (inbox, key) in waits {
        let mut connection = Http::connect(http).await.unwrap();
        connection
            .write(
                "GET",
                &format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000"),
                key,
            )
            .await
            .unwrap();
        held.push(connection);
    }
    held
}
