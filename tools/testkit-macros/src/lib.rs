//! The attribute `#[testkit::each_engine]`, which makes one test of a case for each database
//! engine.
//!
//! It reads only the name of the function, so it needs no parser of Rust.

use proc_macro::{TokenStream, TokenTree};

/// Makes the tests `NAME::sqlite` and `NAME::postgres` of the case `async fn NAME(start: Start)`.
/// The type of its argument is a `testkit::Start`, for example the engine itself.
#[proc_macro_attribute]
pub fn each_engine(_: TokenStream, case: TokenStream) -> TokenStream {
    let mut tokens = case.clone().into_iter();
    let is_fn =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let name = tokens.find(is_fn).and_then(|_| tokens.next());
    let tests = match name {
        Some(TokenTree::Ident(name)) => format!(
            "mod {name} {{
                #[tokio::test]
                async fn sqlite() {{ testkit::Start::test(testkit::Engine::Sqlite, super::{name}).await; }}
                #[tokio::test]
                async fn postgres() {{ testkit::Start::test(testkit::Engine::Postgres, super::{name}).await; }}
            }}"
        ),
        _ => "compile_error!(\"each_engine is for functions\");".to_owned(),
    };
    let tests: TokenStream = tests.parse().unwrap_or_default();
    case.into_iter().chain(tests).collect()
}
