//! A signed-in visitor, with the requests of their browser.

use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;

use testkit::{Answer, BASE_URL, Harness};

/// The administrator's token of every test.
pub const ADMIN: &str = "the administrator's token";
/// The host of the service.
pub const HOST: &str = "restante.example.com:8025";

/// The address of a client without a connection.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// A signed-in browser.
pub struct Visitor<'a> {
    pub harness: &'a Harness,
    pub cookie: String,
    pub csrf: String,
}

impl<'a> Visitor<'a> {
    /// Signs in with the key of the default project.
    pub async fn of_default(harness: &'a Harness) -> Self {
        Self::sign_in(harness, harness.key.as_str()).await
    }

    /// Signs in as the administrator.
    pub async fn administrator(harness: &'a Harness) -> Self {
        harness
            .service
            .projects()
            .prepare_admin(Some(ADMIN))
            .await
            .unwrap();
        Self::sign_in(harness, ADMIN).await
    }

    pub async fn sign_in(harness: &'a Harness, secret: &str) -> Self {
        let answer = harness.send(sign_in_request(secret, "")).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie = answer.headers["set-cookie"]
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let csrf = harness
            .service
            .session(cookie.split_once('=').unwrap().1, UNKNOWN)
            .await
            .unwrap()
            .unwrap()
            .csrf_token;
        Self {
            harness,
            cookie,
            csrf,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.harness
            .send(self.request("GET", path).body(Body::empty()).unwrap())
            .await
    }

    /// Submits a form with its CSRF token.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.harness.send(self.form(path, fields)).await
    }

    /// The request of a form with its CSRF token.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Request<Body> {
        let fields = fields.iter().copied().chain([("csrf", self.csrf.as_str())]);
        self.request("POST", path)
            .header("origin", BASE_URL)
            .body(encoded(fields))
            .unwrap()
    }

    /// A request with the cookie and the host.
    pub fn request(&self, method: &str, path: &str) -> Builder {
        request(method, path).header("cookie", &self.cookie)
    }

    /// The path of the project that this visitor's key belongs to.
    pub async fn project_path(&self) -> String {
        let home = self.get("/").await;
        // It leads to the inboxes or, once something has failed, to the failures.
        let (path, _page) = home.headers["location"]
            .to_str()
            .unwrap()
            .rsplit_once('/')
            .unwrap();
        path.to_owned()
    }
}

/// A request of a browser that is not signed in.
pub fn request(method: &str, path: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", HOST)
}

pub fn sign_in_request(secret: &str, next: &str) -> Request<Body> {
    let body = encoded([("secret", secret), ("next", next)].into_iter());
    request("POST", "/sign-in")
        .header("origin", BASE_URL)
        .body(body)
        .unwrap()
}

fn encoded<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> Body {
    Body::from(
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish(),
    )
}
