//! Why a session ended before MAIL, as far as the server can tell.

/// Defines [`SessionFailure`] with the label of each kind.
macro_rules! failures {
    ($($(#[$documentation:meta])+ $name:ident = $label:literal,)+) => {
        /// Why a session ended before MAIL, as far as the server can tell. The first ones end the
        /// TLS handshake, so the caller determines them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SessionFailure {
            $($(#[$documentation])+ $name,)+
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
    /// The client ended the TLS handshake because of the certificate: not trusted, expired, or for
    /// another name.
    CertificateRejected = "certificate_rejected",
    /// Client and server have no TLS version or cipher suite in common.
    NoCommonTls = "no_common_tls",
    /// The TLS handshake was not completed for another reason.
    HandshakeFailed = "handshake_failed",
    /// The client left during the TLS handshake without a reason, as some do that reject the
    /// certificate.
    LeftInHandshake = "left_in_handshake",
    /// The client left after the TLS handshake without a command, as clients do that then check the
    /// certificate.
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
    /// What happened, as a clause for people.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::UnknownAuthority => {
                "the client ended the TLS handshake, because it does not know who signed the certificate"
            }
            Self::CertificateRejected => {
                "the client ended the TLS handshake, because it rejects the certificate"
            }
            Self::NoCommonTls => "client and server have no TLS version or cipher suite in common",
            Self::HandshakeFailed => "the TLS handshake was not completed",
            Self::LeftInHandshake => {
                "the client left during the TLS handshake, possibly because of the certificate"
            }
            Self::LeftAfterHandshake => {
                "the client left after the TLS handshake, possibly because of the certificate"
            }
            Self::TlsWithoutStartTls => {
                "the client began with TLS, on a port that begins in plain text"
            }
            Self::AuthNotOffered => {
                "the client left after the reply to EHLO, which did not offer AUTH"
            }
            Self::StartTlsNotOffered => {
                "the client left after the reply to EHLO, which did not offer STARTTLS"
            }
            Self::NeitherOffered => {
                "the client left after the reply to EHLO, which offered neither AUTH nor STARTTLS"
            }
            Self::Rejected => "the client left after a rejection",
            Self::NoMail => "the client greeted the server and left",
            Self::NoCommand => "the client connected and left without a command",
        }
    }

    /// The kind with this label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|failure| failure.label() == label)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_kind_has_its_own_label_and_description() {
        for &failure in SessionFailure::ALL {
            assert_eq!(SessionFailure::from_label(failure.label()), Some(failure));
        }
        assert_eq!(SessionFailure::from_label("from_the_future"), None);
        let descriptions: BTreeSet<_> = SessionFailure::ALL
            .iter()
            .map(|failure| failure.description())
            .collect();
        assert_eq!(descriptions.len(), SessionFailure::ALL.len());
        assert!(
            descriptions
                .iter()
                .all(|text| text.contains("client") || text.contains("TLS")),
            "{descriptions:?}"
        );
    }
}
