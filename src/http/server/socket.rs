//! The stream of a connection, in front of which octets can be put that are to be read first.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Whether the last octets that were to be written could not be.
pub(super) type WriteIsPending = Arc<AtomicBool>;

pub(super) struct Socket {
    pub(super) stream: TcpStream,
    /// Read before the stream is.
    pub(super) replayed: Bytes,
    write_is_pending: WriteIsPending,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, replayed: Bytes, write_is_pending: WriteIsPending) -> Self {
        Self { stream, replayed, write_is_pending }
    }

    fn written(&self, count: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.write_is_pending.store(count.is_pending(), Ordering::Relaxed);
        count
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.replayed.is_empty() {
            return Pin::new(&mut self.stream).poll_read(task, into);
        }
        let count = self.replayed.len().min(into.remaining());
        into.put_slice(&self.replayed[..count]);
        self.replayed.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let count = Pin::new(&mut self.stream).poll_write(task, octets);
        self.written(count)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = Pin::new(&mut self.stream).poll_write_vectored(task, slices);
        self.written(count)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}
