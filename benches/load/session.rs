//! One SMTP session of the load, plain or encrypted.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::mail::Template;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(crate) struct Session {
    stream: Box<dyn Stream>,
    input: Vec<u8>,
}

/// When the end of a message was written, and when it was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) dot: Instant,
    pub(crate) answered: Instant,
}

impl Session {
    pub(crate) async fn open(address: &str, starttls: bool) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut session = Self { stream: Box::new(stream), input: Vec::with_capacity(1_024) };
        session.expect("220", "the connection").await?;
        session.say("EHLO load.test\r\n", "250").await?;
        if starttls {
            session.say("STARTTLS\r\n", "220").await?;
            let name = ServerName::try_from("restante.test").map_err(io::Error::other)?;
            let encrypted = TlsConnector::from(trusting()).connect(name, session.stream).await?;
            session.stream = Box::new(encrypted);
            session.say("EHLO load.test\r\n", "250").await?;
        }
        Ok(session)
    }

    /// Sends one message. An error says which reply refused it.
    pub(crate) async fn send(
        &mut self,
        template: &mut Template,
        number: u64,
        recipient: &str,
        pipelining: bool,
    ) -> io::Result<Sent> {
        let recipient = format!("RCPT TO:<{recipient}>\r\n");
        let commands = [("MAIL FROM:<app@shop.test>\r\n", "250"), (recipient.as_str(), "250"), ("DATA\r\n", "354")];
        if pipelining {
            self.stream.write_all(commands.map(|(command, _)| command).concat().as_bytes()).await?;
            for (command, code) in commands {
                self.expect(code, command).await?;
            }
        } else {
            for (command, code) in commands {
                self.say(command, code).await?;
            }
        }
        self.stream.write_all(template.numbered(number)).await?;
        let dot = Instant::now();
        self.expect("250", "the message").await?;
        Ok(Sent { dot, answered: Instant::now() })
    }

    async fn say(&mut self, command: &str, code: &str) -> io::Result<()> {
        self.stream.write_all(command.as_bytes()).await?;
        self.expect(code, command).await
    }

    /// Reads the next reply, which may have several lines.
    async fn expect(&mut self, code: &str, behind: &str) -> io::Result<()> {
        loop {
            while let Some(end) = self.input.iter().position(|octet| *octet == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                if line.get(3) == Some(&b'-') {
                    continue;
                }
                if line.starts_with(code.as_bytes()) {
                    return Ok(());
                }
                let (behind, line) = (behind.trim_end(), line.trim_ascii_end().escape_ascii());
                return Err(io::Error::other(format!("{behind} was answered with {line}")));
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Trusts every certificate: the server's own is made at its first start.
fn trusting() -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let verifier = Arc::new(Trusting(provider));
    Arc::new(builder.unwrap().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
