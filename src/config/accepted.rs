//! The domains besides the mail domain for which mail is accepted, a flag of `restante serve`.

use clap::Args;

use crate::model::AcceptedDomains;

/// Which mail is accepted besides that to the mail domain.
#[derive(Args, Clone, Debug)]
pub struct Accepting {
    /// Further domains for which mail is accepted: `example.com`, `*.shop.test` (every subdomain) or `*` (every domain)
    ///
    /// Commas separate them. Nothing is ever sent out to an accepted domain, so `*` turns sending to other domains off.
    /// [default: none]
    #[arg(long, env = "RESTANTE_ACCEPT_DOMAINS", value_name = "LIST", default_value_t, hide_default_value = true)]
    pub accept_domains: AcceptedDomains,
}
