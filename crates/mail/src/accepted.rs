//! The domains for which mail is accepted in addition to the mail domain.

use std::fmt;
use std::str::FromStr;

use crate::Domain;

/// A list of patterns. A domain is accepted if one of them matches it; both are compared as IDNA
/// ASCII in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedDomains(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// `*`
    Every,
    /// `*.shop.test`: every domain below this one, but not itself.
    Below(Domain),
    /// `example.com`
    One(Domain),
}

/// The text is not a list of domains and patterns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is neither a domain nor a pattern: write example.com, *.shop.test (every subdomain) or * (every domain)"
)]
pub struct InvalidPattern(String);

impl AcceptedDomains {
    /// Whether mail for `domain` is accepted.
    #[must_use]
    pub fn accept(&self, domain: &Domain) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::Every => true,
            Pattern::Below(top) => domain
                .as_str()
                .strip_suffix(top.as_str())
                .is_some_and(|rest| rest.ends_with('.')),
            Pattern::One(one) => one == domain,
        })
    }

    /// Whether mail for every domain is accepted.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.0.contains(&Pattern::Every)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for AcceptedDomains {
    type Err = InvalidPattern;

    /// Parses patterns separated by commas. An empty list accepts nothing.
    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let patterns = text
            .split(',')
            .map(str::trim)
            .filter(|pattern| !pattern.is_empty());
        patterns.map(pattern).collect::<Result<_, _>>().map(Self)
    }
}

fn pattern(text: &str) -> Result<Pattern, InvalidPattern> {
    let domain = |name: &str| {
        Domain::parse(name).map_err(|_| InvalidPattern(text.escape_debug().to_string()))
    };
    match text.strip_prefix('*') {
        Some("") => Ok(Pattern::Every),
        Some(rest) => domain(rest.strip_prefix('.').unwrap_or_default()).map(Pattern::Below),
        None => domain(text).map(Pattern::One),
    }
}

/// The patterns as they can be parsed again.
impl fmt::Display for AcceptedDomains {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pattern) in self.0.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { ", " })?;
            match pattern {
                Pattern::Every => formatter.write_str("*")?,
                Pattern::Below(top) => write!(formatter, "*.{top}")?,
                Pattern::One(domain) => domain.fmt(formatter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn accepts(list: &str, domain: &str) -> bool {
        list.parse::<AcceptedDomains>()
            .unwrap()
            .accept(&Domain::parse(domain).unwrap())
    }

    #[test]
    fn each_pattern_matches_its_domains() {
        for (list, domain, is_accepted) in [
            ("", "example.com", false),
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com", true),
            ("Example.COM", "example.com", true),
            ("example.com", "sub.example.com", false),
            ("example.com", "notexample.com", false),
            ("*.shop.test", "a.shop.test", true),
            ("*.shop.test", "b.a.shop.test", true),
            ("*.shop.test", "shop.test", false),
            ("*.shop.test", "ashop.test", false),
            ("*.test", "a.test", true),
            ("*", "localhost", true),
            ("*", "example.com", true),
            ("a.test, *.shop.test ,example.com", "example.com", true),
            ("a.test,*.shop.test,example.com", "x.shop.test", true),
            ("a.test,*.shop.test,example.com", "b.test", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("xn--bcher-kva.example", "BÜCHER.example", true),
            ("*.bücher.example", "a.xn--bcher-kva.example", true),
        ] {
            assert_eq!(accepts(list, domain), is_accepted, "{list} {domain}");
        }
    }

    #[test]
    fn other_patterns_are_refused() {
        for list in [
            "user@example.com",
            "*example.com",
            "*.",
            "*.*.test",
            "a.*.test",
            "a..b",
            "a b",
            "example.com.",
        ] {
            let problem = list.parse::<AcceptedDomains>().unwrap_err().to_string();
            assert!(problem.starts_with(list), "{problem}");
        }
    }

    #[test]
    fn a_displayed_list_can_be_parsed() {
        let list: AcceptedDomains = " Example.com,*.shop.TEST,*".parse().unwrap();
        assert_eq!(list.to_string(), "example.com, *.shop.test, *");
        assert_eq!(list.to_string().parse(), Ok(list.clone()));
        assert!(!list.is_empty() && AcceptedDomains::default().is_empty());
    }

    #[test]
    fn only_the_asterisk_is_every_domain() {
        for (list, are_all) in [
            ("", false),
            ("*.test, example.com", false),
            ("*", true),
            ("example.com, *", true),
        ] {
            assert_eq!(
                list.parse::<AcceptedDomains>().unwrap().are_all(),
                are_all,
                "{list}"
            );
        }
    }
}
