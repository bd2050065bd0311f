//! Plays the cases of `tools/deliveries` against `decide` alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use restante_deliveries::{Case, Model};

#[test]
fn every_case_holds() {
    let cases = Case::all();
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let problems: Vec<String> = cases
        .iter()
        .filter_map(|case| now(case.play(&mut Model::of(case))).err())
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A model never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a model never waits"),
    }
}
