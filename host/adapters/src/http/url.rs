//! URLs with gaps. What fills a gap is encoded, so that no identifier can lead anywhere else.

use std::fmt::Write;

/// A URL of the operator's, with `{idempotencyKey}`, `{submissionId}` or `{session}` in its path or query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Gap(&'static str),
}

/// Why a URL or what fills it is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Neither `https://` nor `http://`.
    #[error("the URL must begin with https:// or http://")]
    Scheme,
    /// Plain HTTP to another machine.
    #[error("plain http:// leads to another machine than this one; use https:// or set allow_plaintext = true")]
    Plaintext,
    /// A name and a password in the URL.
    #[error("the URL must not hold credentials; use secret_headers")]
    Credentials,
    /// No host, or a gap in it.
    #[error("the URL must name a host, and have no gap there")]
    Host,
    /// A character that must be encoded, or a fragment.
    #[error("the URL holds a character that does not belong there")]
    Character,
    /// A gap of another name.
    #[error("the URL has a gap that is none of {{idempotencyKey}}, {{submissionId}}, {{session}}")]
    Gap,
    /// There is nothing to fill a gap with.
    #[error("the URL needs a {0}, which this call does not have")]
    Missing(&'static str),
    /// It would change the path.
    #[error("the {0} must not be empty, '.' or '..'")]
    Dots(&'static str),
}

const GAPS: [&str; 3] = ["idempotencyKey", "submissionId", "session"];

impl Template {
    /// Reads a URL. `allow_plaintext`: whether `http://` may lead to another machine.
    pub fn parse(text: &str, allow_plaintext: bool) -> Result<Self, UrlError> {
        let (secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(UrlError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        if authority.is_empty() || authority.starts_with(':') || authority.contains(['{', '}']) {
            return Err(UrlError::Host);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'\\' | b'"' | b'<' | b'>')) {
            return Err(UrlError::Character);
        }
        if !secure && !allow_plaintext && !is_this_machine(authority) {
            return Err(UrlError::Plaintext);
        }
        Ok(Self { parts: parts(text)? })
    }

    /// The URL with its gaps filled.
    pub fn fill(&self, values: &[(&'static str, Option<&str>)]) -> Result<String, UrlError> {
        let mut url = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => url.push_str(text),
                Part::Gap(name) => {
                    let value = values.iter().find(|(known, _)| known == name).and_then(|(_, value)| *value);
                    let value = value.ok_or(UrlError::Missing(name))?;
                    if matches!(value, "" | "." | "..") {
                        return Err(UrlError::Dots(name));
                    }
                    encode(&mut url, value);
                }
            }
        }
        Ok(url)
    }
}

fn parts(text: &str) -> Result<Vec<Part>, UrlError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or(UrlError::Gap)?;
        let gap = GAPS.into_iter().find(|gap| *gap == name).ok_or(UrlError::Gap)?;
        parts.extend([Part::Text(before.to_owned()), Part::Gap(gap)]);
        rest = after;
    }
    if rest.contains('}') {
        return Err(UrlError::Gap);
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

/// Whether an authority (`HOST` or `HOST:PORT`) names this machine.
pub(crate) fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    matches!(host, "localhost" | "::1") || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Percent-encodes all but RFC 3986's unreserved characters.
fn encode(url: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests;
