//! Sends several requests in one round trip.

use futures_util::future::maybe_done;
use futures_util::poll;

/// Sends all requests in order before it awaits the first answer. Returns the answers in the same order, or the first
/// error.
pub(super) async fn pipelined<T, E, F>(requests: impl Iterator<Item = F>) -> Result<Vec<T>, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut sent = Vec::with_capacity(requests.size_hint().0);
    for request in requests {
        let mut request = Box::pin(maybe_done(request));
        // The first poll sends the request, so requests are sent in the order of this loop.
        let _ = poll!(request.as_mut());
        sent.push(request);
    }
    let mut answers = Vec::with_capacity(sent.len());
    for mut request in sent {
        request.as_mut().await;
        if let Some(answer) = request.as_mut().take_output() {
            answers.push(answer?);
        }
    }
    Ok(answers)
}
