//! A DNS server on the loopback that serves every domain; queries for `broken.example.` and
//! `elsewhere.test.` return SERVFAIL.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hickory_server::Server;
use hickory_server::net::runtime::{Time, TokioRuntimeProvider};
use hickory_server::proto::op::ResponseCode;
use hickory_server::proto::rr::{LowerName, Name, RrKey};
use hickory_server::proto::serialize::txt::Parser;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::store::in_memory::InMemoryZoneHandler;
use hickory_server::zone_handler::{AxfrPolicy, Catalog, MessageResponseBuilder, ZoneType};
use tokio::net::UdpSocket;

/// A running server; it stops when this is dropped.
pub struct Dns {
    pub address: SocketAddr,
    _server: Server<Zone>,
}

struct Zone(Catalog);

impl Dns {
    /// Serves `records`, in the form of zone files; names without a dot at the end are under
    /// `example.`.
    pub async fn start(records: &str) -> Self {
        let origin = Name::root();
        let head = "$TTL 60\n@ IN SOA ns.example. admin.example. 1 60 60 60 60\n@ IN NS ns.example.\n$ORIGIN example.\n";
        let (_, sets) = Parser::new(format!("{head}{records}\n"), None, Some(origin.clone()))
            .parse()
            .unwrap();
        let sets = sets
            .into_iter()
            .collect::<std::collections::BTreeMap<RrKey, _>>();
        let handler: InMemoryZoneHandler<TokioRuntimeProvider> =
            InMemoryZoneHandler::new(origin.clone(), sets, ZoneType::Primary, AxfrPolicy::Deny)
                .unwrap();
        let mut catalog = Catalog::new();
        catalog.upsert(LowerName::from(origin), vec![Arc::new(handler)]);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let mut server = Server::new(Zone(catalog));
        server.register_socket(socket);
        Self {
            address,
            _server: server,
        }
    }
}

#[async_trait::async_trait]
impl RequestHandler for Zone {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response: R,
    ) -> ResponseInfo {
        let broken = ["broken.example.", "elsewhere.test."]
            .map(|name| LowerName::from(Name::from_ascii(name).unwrap()));
        let asked = request.request_info().unwrap().query.name().clone();
        if !broken.iter().any(|broken| broken.zone_of(&asked)) {
            return self.0.handle_request::<R, T>(request, response).await;
        }
        let failed = MessageResponseBuilder::from_message_request(request);
        response
            .send_response(failed.error_msg(&request.metadata, ResponseCode::ServFail))
            .await
            .unwrap()
    }
}
