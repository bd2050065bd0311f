//! What is checked before any handler of the dashboard runs, in this order: the host, for a change the origin, the
//! session, the project, and for a change the token in its form.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{RequestExt, body::Body};

use super::Access;
use super::failure::Failure;
use crate::http::App;
use crate::http::body::read;
use crate::http::error::Error;
use crate::http::server::Peer;
use crate::memory::Room;
use crate::model::{Project, ProjectId};
use crate::service::{Caller, Session};

/// The name of the session's cookie.
pub(super) const COOKIE_NAME: &str = "restante_session";

/// The largest form of a client that is not signed in.
const PUBLIC_FORM_BYTES: usize = 16 * 1024;
/// The largest form of every page but the one that sends a message.
const FORM_BYTES: usize = 64 * 1024;
/// Our own forms and links have fewer parameters.
const MOST_PAIRS: usize = 10;

/// A request whose guard let it in.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    session: Option<Session>,
    project: Option<Project>,
    params: Vec<(String, String)>,
    query: Vec<(String, String)>,
    form: Vec<(String, String)>,
    /// The memory that the form takes.
    _room: Room,
    /// The path and the query.
    pub(super) target: String,
    /// Whose connection it came on.
    pub(super) peer: IpAddr,
}

impl Visit {
    /// Who is signed in.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] for nobody, which only public routes let in.
    pub(super) fn session(&self) -> Result<&Session, Error> {
        self.session.as_ref().ok_or(Error::Unauthorized)
    }

    /// The project of the path, which the viewer may see.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the path has none.
    pub(super) fn project(&self) -> Result<&Project, Error> {
        self.project.as_ref().ok_or(Error::NotFound)
    }

    /// The viewer as a caller of the path's project.
    ///
    /// # Errors
    /// As [`Visit::project`].
    pub(super) fn caller(&self) -> Result<Caller, Error> {
        Ok(self.session()?.caller(self.project()?.id))
    }

    /// A parameter of the path; empty where it has none of this name.
    pub(super) fn param(&self, name: &str) -> &str {
        first(&self.params, name).unwrap_or_default()
    }

    /// A parameter of the query; empty where it has none of this name.
    pub(super) fn query(&self, name: &str) -> &str {
        first(&self.query, name).unwrap_or_default()
    }

    /// A field of the form; empty where it has none of this name.
    pub(super) fn field(&self, name: &str) -> &str {
        first(&self.form, name).unwrap_or_default()
    }

    pub(super) fn session_if_any(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    pub(super) fn project_if_any(&self) -> Option<&Project> {
        self.project.as_ref()
    }
}

/// Lets in whom the route is for.
pub(super) async fn guard(
    State((app, access)): State<(Arc<App>, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    match admit(&app, access, &mut request).await {
        Ok(visit) => {
            request.extensions_mut().insert(Arc::new(visit));
            next.run(request).await
        }
        // Whoever only wants to look signs in first and then gets there.
        Err(Error::Unauthorized) if request.method() == Method::GET && !is_script(request.headers()) => {
            let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
            let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("next", target).finish();
            Redirect::to(&format!("/sign-in?{query}")).into_response()
        }
        Err(error) => Failure::from(error).into_response(),
    }
}

async fn admit(app: &App, access: Access, request: &mut Request) -> Result<Visit, Error> {
    let is_change = request.method() == Method::POST;
    let host = served_host(request.headers(), &app.base_url)?;
    if is_change && !is_own_origin(request.headers(), &host) {
        return Err(Error::ForeignOrigin);
    }
    let session = match cookie(request.headers()) {
        Some(cookie) => app.service.session(cookie).await?,
        None => None,
    };
    let params = request.extract_parts::<RawPathParams>().await.map_err(|_| Error::NotFound)?;
    let params: Vec<_> = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let project = match access {
        Access::Public => None,
        Access::SignedIn => session.as_ref().map(|_| None).ok_or(Error::Unauthorized)?,
        Access::Project | Access::Administrator => admit_to(app, access, session.as_ref(), &params).await?,
    };
    let (form, room) = if is_change { read_form(app, access, request).await? } else { Default::default() };
    if is_change
        && access != Access::Public
        && session.as_ref().is_none_or(|session| first(&form, "csrf") != Some(&session.csrf_token))
    {
        return Err(Error::StaleForm);
    }
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let query = pairs(request.uri().query().unwrap_or_default().as_bytes());
    let peer = request.extensions().get().map_or(Ipv4Addr::UNSPECIFIED.into(), |&Peer(peer)| peer);
    Ok(Visit { session, project, params, query, form, _room: room, target, peer })
}

/// The project of the path, if the viewer may be there. What they may not see does not exist for them.
async fn admit_to(
    app: &App,
    access: Access,
    session: Option<&Session>,
    params: &[(String, String)],
) -> Result<Option<Project>, Error> {
    let session = session.ok_or(Error::Unauthorized)?;
    if access == Access::Administrator && !session.is_administrator() {
        return Err(Error::NotFound);
    }
    let Some(id) = first(params, "project") else { return Ok(None) };
    let id = ProjectId::parse(id).filter(|id| session.may_see(*id)).ok_or(Error::NotFound)?;
    let project = app.service.projects().find(id).await?;
    project.map(Some).ok_or(Error::NotFound)
}

/// The host that the browser believes to talk to. A name that somebody else's DNS lets point here is refused; a bare
/// address and `localhost` cannot be such a name.
fn served_host(headers: &HeaderMap, base_url: &str) -> Result<String, Error> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).ok_or(Error::WrongHost)?;
    // A Host names nobody (RFC 9110, section 7.2), which the parser would let pass.
    let name: Uri = if host.contains('@') { None } else { host.parse().ok() }.ok_or(Error::WrongHost)?;
    let name = name.host().ok_or(Error::WrongHost)?.trim_start_matches('[').trim_end_matches(']');
    let own: Option<Uri> = base_url.parse().ok();
    let is_own = own.as_ref().and_then(Uri::host).is_some_and(|own| own.eq_ignore_ascii_case(name));
    let served = is_own || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    if served { Ok(host.to_ascii_lowercase()) } else { Err(Error::WrongHost) }
}

/// Whether a change comes from one of our own pages: browsers say so with every POST.
fn is_own_origin(headers: &HeaderMap, host: &str) -> bool {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// Whether a script asks, which wants no page to sign in.
fn is_script(headers: &HeaderMap) -> bool {
    headers.get("accept").is_some_and(|accept| accept == "text/event-stream")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

/// Reads the form, and the room that it takes while the request is answered.
async fn read_form(app: &App, access: Access, request: &mut Request) -> Result<(Vec<(String, String)>, Room), Error> {
    let route = request.extensions().get::<MatchedPath>();
    let limit = match access {
        Access::Public => PUBLIC_FORM_BYTES,
        _ if route.is_some_and(|route| route.as_str().ends_with("/send")) => app.limits.send_body,
        _ => FORM_BYTES,
    };
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let (body, room) = read(body, limit, app.service.budget()).await?;
    let form = pairs(&body);
    if form.len() > MOST_PAIRS { Err(Error::BodyTooLarge) } else { Ok((form, room)) }
}

/// The pairs of a form or a query, and of more than are allowed one too many.
fn pairs(encoded: &[u8]) -> Vec<(String, String)> {
    let pairs = form_urlencoded::parse(encoded).take(MOST_PAIRS + 1);
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_name_that_is_not_ours_is_not_served() {
        let served = |host| served_host(&headers("host", host), "https://mail.example/x").is_ok();
        for host in ["mail.example", "MAIL.example:8025", "127.0.0.1:8025", "[::1]:8025", "localhost:1", "10.0.0.7"] {
            assert!(served(host), "{host}");
        }
        for host in ["evil.example", "mail.example.evil.example", "localhost.evil.example", "a@mail.example:x", ""] {
            assert!(!served(host), "{host}");
        }
        assert!(served_host(&HeaderMap::new(), "https://mail.example").is_err());
    }

    #[test]
    fn only_our_own_origin_may_change_something() {
        let own = |origin| is_own_origin(&headers("origin", origin), "mail.example:8025");
        assert!(own("http://mail.example:8025") && own("https://MAIL.example:8025"));
        for origin in ["null", "", "http://mail.example", "http://evil.example", "mail.example:8025"] {
            assert!(!own(origin), "{origin}");
        }
        assert!(!is_own_origin(&HeaderMap::new(), "mail.example"));
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        assert_eq!(cookie(&headers("cookie", "a=1; restante_session=x; b=2")), Some("x"));
        assert_eq!(cookie(&headers("cookie", "not_restante_session=x")), None);
    }
}
