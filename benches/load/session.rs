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
    pub(crate) taken: bool,
}

impl Session {
    pub(crate) async fn open(address: &str, starttls: bool) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut session = Self { stream: Box::new(stream), input: Vec::with_capacity(1_024) };
        session.reply().await?;
        session.say(b"EHLO load.test\r\n").await?;
        if starttls {
            session.say(b"STARTTLS\r\n").await?;
            let name = ServerName::try_from("restante.test").map_err(io::Error::other)?;
            let encrypted = TlsConnector::from(trusting()).connect(name, session.stream).await?;
            session.stream = Box::new(encrypted);
            session.say(b"EHLO load.test\r\n").await?;
        }
        Ok(session)
    }

    /// Sends one message; `taken` says whether all replies were what they should be.
    pub(crate) async fn send(
        &mut self,
        template: &mut Template,
        number: u64,
        recipient: &str,
        pipelining: bool,
    ) -> io::Result<Sent> {
        let recipient = format!("RCPT TO:<{recipient}>\r\n");
        let mut taken = true;
        if pipelining {
            self.stream.write_all(format!("MAIL FROM:<app@shop.test>\r\n{recipient}DATA\r\n").as_bytes()).await?;
            for code in [b"250", b"250", b"354"] {
                taken &= self.reply().await? == *code;
            }
        } else {
            taken &= self.say(b"MAIL FROM:<app@shop.test>\r\n").await? == *b"250";
            taken &= self.say(recipient.as_bytes()).await? == *b"250";
            taken &= self.say(b"DATA\r\n").await? == *b"354";
        }
        if !taken {
            return Err(io::Error::other("refused"));
        }
        self.stream.write_all(template.numbered(number)).await?;
        let dot = Instant::now();
        let taken = self.reply().await? == *b"250";
        Ok(Sent { dot, answered: Instant::now(), taken })
    }

    async fn say(&mut self, line: &[u8]) -> io::Result<[u8; 3]> {
        self.stream.write_all(line).await?;
        self.reply().await
    }

    /// The code of the next reply, which may have several lines.
    async fn reply(&mut self) -> io::Result<[u8; 3]> {
        loop {
            while let Some(end) = self.input.iter().position(|octet| *octet == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                if line.get(3) != Some(&b'-') {
                    return line.first_chunk().copied().ok_or_else(|| io::ErrorKind::InvalidData.into());
                }
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
