//! An SMTP client that sends the lines of a test.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, SignatureScheme, SupportedProtocolVersion,
};

use crate::server::Server;

/// Longer than any step takes.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

pub(crate) struct Client<S> {
    stream: BufReader<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let write = async {
            self.stream.write_all(bytes.as_ref()).await.unwrap();
            self.stream.flush().await.unwrap();
        };
        tokio::time::timeout(MAX_WAIT, write)
            .await
            .expect("the server does not read");
    }

    /// The next reply with all its lines, or `None` if the connection is closed.
    pub(crate) async fn reply(&mut self) -> String {
        let read = async {
            let mut reply = String::new();
            loop {
                let start = reply.len();
                let read = self.stream.read_line(&mut reply).await.unwrap_or(0);
                if read == 0 || reply.as_bytes().get(start + 3) != Some(&b'-') {
                    return reply;
                }
            }
        };
        tokio::time::timeout(MAX_WAIT, read)
            .await
            .expect("no reply")
    }

    /// The number of whole reply lines that the server has sent in one piece.
    pub(crate) async fn received(&mut self) -> usize {
        let read = tokio::time::timeout(MAX_WAIT, self.stream.fill_buf())
            .await
            .expect("no reply")
            .unwrap();
        read.iter().filter(|&&byte| byte == b'\n').count()
    }

    /// The reply to a login that is probably refused, which takes a second.
    pub(crate) async fn refused_login(&mut self, server: &Server, login: &str) -> String {
        server
            .passing(Duration::from_secs(1), self.command(login))
            .await
    }

    pub(crate) async fn command(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n")).await;
        self.reply().await
    }

    /// Sends all commands of a message but the last.
    pub(crate) async fn begin_message(&mut self, recipients: &[&str]) {
        assert_eq!(
            self.command("MAIL FROM:<app@sender.example>").await,
            "250 2.1.0 Sender OK\r\n"
        );
        for recipient in recipients {
            assert_eq!(
                self.command(&format!("RCPT TO:<{recipient}>")).await,
                "250 2.1.5 Recipient OK\r\n"
            );
        }
        assert!(self.command("DATA").await.starts_with("354 "));
    }

    /// Sends a message and returns the last reply.
    pub(crate) async fn message(&mut self, recipients: &[&str], data: &str) -> String {
        self.begin_message(recipients).await;
        self.send(format!("{data}\r\n.\r\n")).await;
        self.reply().await
    }

    /// Whether the server has closed the connection; remaining replies are ignored.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset also closes the connection.
        tokio::time::timeout(MAX_WAIT, self.stream.read_to_end(&mut rest))
            .await
            .is_ok()
    }

    pub(crate) fn into_stream(self) -> S {
        assert!(self.stream.buffer().is_empty());
        self.stream.into_inner()
    }
}

impl Client<TcpStream> {
    /// STARTTLS and EHLO, after a first EHLO.
    pub(crate) async fn start_tls(
        mut self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Client<TlsStream<TcpStream>> {
        assert!(self.command("STARTTLS").await.starts_with("220 "));
        let mut client = self.handshake(versions).await;
        assert!(
            client
                .command("EHLO client.example")
                .await
                .starts_with("250")
        );
        client
    }

    /// Starts TLS.
    pub(crate) async fn handshake(
        self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Client<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::new(client_config(versions)));
        let name = ServerName::try_from("localhost").unwrap();
        let stream =
            tokio::time::timeout(MAX_WAIT, connector.connect(name, self.into_stream())).await;
        Client::new(stream.expect("no handshake").unwrap())
    }
}

impl Client<TlsStream<TcpStream>> {
    pub(crate) fn protocol_version(&self) -> rustls::ProtocolVersion {
        self.stream
            .get_ref()
            .get_ref()
            .1
            .protocol_version()
            .unwrap()
    }

    /// The server's own certificate.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.stream
            .get_ref()
            .get_ref()
            .1
            .peer_certificates()
            .unwrap()[0]
            .to_vec()
    }
}

/// A client that accepts every certificate, as mail clients do.
pub(crate) fn client_config(versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth()
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
