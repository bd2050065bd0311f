//! Why a session ended before MAIL, as far as the server can tell.

/// Defines [`SessionFailure`] with the label of each kind.
macro_rules! failures {
    ($(#[$documentation:meta] $name:ident = $label:literal,)+) => {
        /// Why a session ended before MAIL, as far as the server can tell. The first ones end the TLS handshake, so the
        /// caller determines them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SessionFailure {
            $(#[$documentation] $name,)+
        }

        impl SessionFailure {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// A name in snake case, for logs and metrics.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$name => $label,)+
                }
            }
        }
    };
}

failures! {
    /// The client ended the TLS handshake, because it does not know who signed the certificate.
    UnknownAuthority = "unknown_authority",
    /// The client ended the TLS handshake because of the certificate: not trusted, expired, or for another name.
    CertificateRejected = "certificate_rejected",
    /// Client and server have no TLS version or cipher suite in common.
    NoCommonTls = "no_common_tls",
    /// The TLS handshake was not completed for another reason.
    HandshakeFailed = "handshake_failed",
    /// The client left after the TLS handshake without a command, as clients do that then check the certificate.
    LeftAfterHandshake = "left_after_handshake",
    /// The client began with TLS, without STARTTLS, on a connection that is not encrypted.
    TlsWithoutStartTls = "tls_without_starttls",
    /// The client left after the reply to EHLO, which did not offer AUTH.
    AuthNotOffered = "auth_not_offered",
    /// The client left after the reply to EHLO, which did not offer STARTTLS.
    StartTlsNotOffered = "starttls_not_offered",
    /// The client left after the reply to EHLO, which offered neither STARTTLS nor AUTH.
    NeitherOffered = "neither_offered",
    /// A command was rejected, and the client left: the rejection is the reason.
    Rejected = "rejected",
    /// The client greeted the server, possibly logged in, and left.
    NoMail = "no_mail",
    /// The client connected and left.
    NoCommand = "no_command",
}

impl SessionFailure {
    /// The kind with this label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|failure| failure.label() == label)
    }
}
