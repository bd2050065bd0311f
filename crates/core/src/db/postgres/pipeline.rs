//! Sends several requests in one round trip.

use std::pin::Pin;

use futures_util::future::{MaybeDone, maybe_done};
use futures_util::poll;

type Sent<'a, T, E> = Pin<Box<MaybeDone<Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>>>>;

/// Requests that were sent, in order.
pub(super) struct Pipeline<'a, T, E>(Vec<Sent<'a, T, E>>);

impl<'a, T, E> Pipeline<'a, T, E> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Sends a request, after those before.
    pub(super) async fn send(&mut self, request: impl Future<Output = Result<T, E>> + Send + 'a) {
        let mut request: Sent<'a, T, E> = Box::pin(maybe_done(Box::pin(request)));
        // The first poll sends the request.
        let _ = poll!(request.as_mut());
        self.0.push(request);
    }

    /// The answers in the order of the requests, or the first error.
    pub(super) async fn answers(self) -> Result<Vec<T>, E> {
        let mut answers = Vec::with_capacity(self.0.len());
        for mut request in self.0 {
            request.as_mut().await;
            if let Some(answer) = request.as_mut().take_output() {
                answers.push(answer?);
            }
        }
        Ok(answers)
    }
}
