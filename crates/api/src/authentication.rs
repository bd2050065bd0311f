//! Whether the sender of a message was allowed to send it: SPF, DKIM and DMARC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;

/// SPF, DKIM and DMARC of a message, with the present records of the DNS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Authentication {
    /// Whether the client may send for the domain of the envelope sender.
    pub spf: SpfCheck,
    /// The DKIM signatures. At most 10 are verified.
    pub dkim: Vec<DkimCheck>,
    /// Whether SPF or a signature passes for the domain of the From field.
    pub dmarc: DmarcCheck,
}

impl Authentication {
    /// Every result, with its name and its reason.
    pub fn results(&self) -> impl Iterator<Item = (&'static str, AuthenticationResult, &str)> {
        let spf = std::iter::once(("spf", self.spf.result, self.spf.detail.as_str()));
        let dkim = self
            .dkim
            .iter()
            .map(|check| ("dkim", check.result, check.detail.as_str()));
        spf.chain(dkim)
            .chain([("dmarc", self.dmarc.result, self.dmarc.detail.as_str())])
    }
}

/// The result of SPF (RFC 7208).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct SpfCheck {
    /// The result.
    pub result: AuthenticationResult,
    /// The domain of the envelope sender, or the name in EHLO if the sender is empty; null if the
    /// message did not arrive over SMTP.
    pub domain: Option<String>,
    /// The address of the SMTP client; null if the message did not arrive over SMTP.
    pub client: Option<String>,
    /// The reason, as a sentence.
    pub detail: String,
}

/// The result of a DKIM signature (RFC 6376, RFC 8463).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct DkimCheck {
    /// The result.
    pub result: AuthenticationResult,
    /// The domain that signs; null if the signature cannot be parsed.
    pub domain: Option<String>,
    /// The selector of its key; null if the signature cannot be parsed.
    pub selector: Option<String>,
    /// The reason, as a sentence.
    pub detail: String,
}

/// The result of DMARC (RFC 9989, which replaces RFC 7489).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct DmarcCheck {
    /// The result.
    pub result: AuthenticationResult,
    /// The domain of the From field; null without one.
    pub domain: Option<String>,
    /// The policy for mail that fails; null without a record.
    pub policy: Option<DmarcPolicy>,
    /// Whether SPF passes for this domain or one of the same organisation.
    pub spf_aligned: bool,
    /// Whether a DKIM signature of this domain, or of one of the same organisation, passes.
    pub dkim_aligned: bool,
    /// The reason, as a sentence.
    pub detail: String,
}

words! {
    /// A result of SPF, DKIM or DMARC, with the words of RFC 8601.
    pub enum AuthenticationResult {
        /// It passes.
        Pass = "pass",
        /// It fails.
        Fail = "fail",
        /// SPF: the client is probably not allowed.
        SoftFail = "softfail",
        /// The domain says nothing about the client, or the signature cannot be processed.
        Neutral = "neutral",
        /// There is no record.
        None = "none",
        /// The DNS did not answer, or not in time.
        TempError = "temperror",
        /// A record or a signature is not valid.
        PermError = "permerror",
    }
}

words! {
    /// What a domain asks receivers to do with mail that fails DMARC.
    pub enum DmarcPolicy {
        /// Nothing.
        None = "none",
        /// Treat it as suspicious.
        Quarantine = "quarantine",
        /// Reject it.
        Reject = "reject",
    }
}
