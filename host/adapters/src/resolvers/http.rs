//! What one HTTP service says, by GET.
//!
//! The origin is the operator's; a question adds a path that cannot leave it. No redirect is followed, nothing but the
//! request is sent, and the connection goes to an address that was judged after the name was looked up, so that a name
//! cannot lead to the inside of a network, today or at the second ask.

use super::address::{Allowed, Names, SystemNames};
use crate::http::{UrlError, client, is_this_machine};
use std::{
    fmt,
    io::{self, Read},
    net::SocketAddr,
    sync::Arc,
    time::Instant,
};
use threadmesh_runtime::resolver::{Canonical, Fact, Question, Resolver};
use ureq::{
    Agent, Body, Error, Timeout,
    config::Config,
    http::{HeaderMap, Response, Uri},
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver as AddressResolver},
        transport::{Connector, NextTimeout, RustlsConnector, TcpConnector},
    },
};

/// What the operator configured.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `https://HOST[:PORT]`, without a path; `http://` only to this machine.
    pub origin: String,
    /// `http://` to other machines too.
    pub allow_plaintext: bool,
    /// Whether the origin may be in a private network or on this machine.
    pub allow_private: bool,
    /// Trusted certificates in PEM instead of the built-in ones.
    pub tls_ca_pem: Option<String>,
}

/// Asks a service.
pub struct HttpResolver {
    origin: String,
    agent: Agent,
    canonical: Canonical,
}

impl HttpResolver {
    /// A resolver with these settings. The error says what is wrong with them.
    pub fn new(settings: &HttpSettings, canonical: Canonical) -> Result<Self, String> {
        Self::with_names(settings, canonical, Arc::new(SystemNames))
    }

    /// The same, with names looked up elsewhere than in the system's directory.
    pub fn with_names(settings: &HttpSettings, canonical: Canonical, names: Arc<dyn Names>) -> Result<Self, String> {
        let (origin, authority) = origin(&settings.origin, settings.allow_plaintext)?;
        let allowed = Allowed::of(authority, settings.allow_private);
        let config = client::config(settings.tls_ca_pem.as_deref(), "*/*")?;
        let connector = ().chain(TcpConnector::default()).chain(RustlsConnector::default());
        let agent = Agent::with_parts(config, connector, Judged { names, allowed });
        Ok(Self { origin, agent, canonical })
    }

    fn get(&self, question: &Question, deadline: Instant) -> Result<Vec<u8>, Fact> {
        check_path(&question.address)?;
        let url = format!("{}{}", self.origin, question.address);
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        let request = self.agent.get(&url).header("Cache-Control", "no-cache").config();
        let mut response = request.timeout_global(Some(left)).build().call().map_err(no_answer)?;
        check_head(&response)?;
        if response.body().content_length().is_some_and(|length| length > question.bytes_max) {
            return Err(Fact::TooLarge);
        }
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader.take(question.bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(cut_short)?;
        if bytes.len() as u64 > question.bytes_max {
            return Err(Fact::TooLarge);
        }
        Ok(bytes)
    }
}

impl Resolver for HttpResolver {
    fn look(&self, question: &Question, deadline: Instant) -> Fact {
        match self.get(question, deadline) {
            Ok(bytes) => Fact::of(&bytes, question.pointer.as_deref(), &self.canonical),
            Err(fact) => fact,
        }
    }
}

/// The origin without a slash at its end, and its authority.
fn origin(text: &str, allow_plaintext: bool) -> Result<(String, &str), String> {
    let origin = text.strip_suffix('/').unwrap_or(text);
    let (secure, authority) = match (origin.strip_prefix("https://"), origin.strip_prefix("http://")) {
        (Some(authority), _) => (true, authority),
        (_, Some(authority)) => (false, authority),
        _ => return Err(UrlError::Scheme.to_string()),
    };
    if authority.contains('@') {
        return Err("origin: a URL with credentials in it".to_owned());
    }
    let character = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'[' | b']');
    if authority.is_empty() || authority.starts_with(':') || !authority.bytes().all(character) {
        return Err("origin: https://HOST or https://HOST:PORT, without a path".to_owned());
    }
    let uri: Uri = format!("{origin}/").parse().map_err(|_| "origin: not a URL".to_owned())?;
    if uri.host().is_none_or(str::is_empty) {
        return Err("origin: the URL names no host".to_owned());
    }
    // A port that is none reads as no port at all there.
    let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("origin: a port is a number from 0 to 65535".to_owned());
    }
    if !secure && !allow_plaintext && !is_this_machine(authority) {
        return Err(UrlError::Plaintext.to_string());
    }
    Ok((origin.to_owned(), authority))
}

/// Whether a path with or without a query stays below the origin, whoever reads it.
fn check_path(address: &str) -> Result<(), Fact> {
    let outside = || Err(Fact::refused("outside-origin", "an address is a path from '/', without '//', '.' and '..'"));
    let forbidden =
        |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'\\' | b'#' | b'"' | b'<' | b'>' | b'{' | b'}');
    if address.bytes().any(forbidden) {
        return Err(Fact::refused("address-malformed", "an address is graphic ASCII, encoded as in a URL"));
    }
    if !address.starts_with('/') || address.starts_with("//") {
        return outside();
    }
    let path = address.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let dots = |segment: &str| matches!(segment.replace("%2e", ".").as_str(), "." | "..");
    // An encoded separator is a step for whoever decodes before splitting.
    if path.replace("%2f", "/").replace("%5c", "/").split('/').any(dots) {
        return outside();
    }
    Ok(())
}

/// Whether this is an answer to count on, by its head.
fn check_head(response: &Response<Body>) -> Result<(), Fact> {
    let status = response.status().as_u16();
    let said = format!("status {status}");
    match status {
        200 => check_headers(response.headers()),
        404 | 410 => Err(Fact::Absent),
        300..=399 => Err(Fact::refused("redirect", said)),
        408 | 425 | 429 | 500..=599 => Err(Fact::unreachable("status", said)),
        _ => Err(Fact::refused("status", said)),
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), Fact> {
    // The bytes must be what the service holds: not packed, and not out of somebody's store.
    if headers.get("content-encoding").is_some_and(|value| value.as_bytes() != b"identity") {
        return Err(Fact::refused("content-encoding", "the content is packed, which nobody asked for"));
    }
    if headers.get("age").is_some_and(|value| value.as_bytes() != b"0") {
        return Err(Fact::refused("cached", "the answer comes out of a cache and is older than the question"));
    }
    Ok(())
}

fn late() -> Fact {
    Fact::unreachable("deadline", "there was no whole answer in time")
}

/// Why there is no answer.
fn no_answer(error: Error) -> Fact {
    match error {
        Error::Timeout(_) => late(),
        Error::Io(error) => cut_short(error),
        Error::Other(error) if error.is::<NotAllowed>() => Fact::refused("address-not-allowed", error.to_string()),
        error => Fact::unreachable("connection", error.to_string()),
    }
}

/// Why a body ended before its end.
fn cut_short(error: io::Error) -> Fact {
    let timeout = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    if error.kind() == io::ErrorKind::TimedOut || matches!(timeout, Some(Error::Timeout(_))) {
        return late();
    }
    Fact::unreachable("connection", error.to_string())
}

/// A name leads to where nobody may be asked.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to {0}, which the settings do not allow")]
struct NotAllowed(std::net::IpAddr);

/// Looks names up for one connection and judges where they lead. The connection goes to these addresses and no others.
struct Judged {
    names: Arc<dyn Names>,
    allowed: Allowed,
}

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judged").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl AddressResolver for Judged {
    fn resolve(&self, uri: &Uri, _: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?;
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(usual);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = self.names.look_up(host, *timeout.after).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Error::Timeout(Timeout::Resolve),
            _ => Error::Io(error),
        })?;
        // One address that is not allowed spoils the name: which one would be taken is chance.
        if let Some(ip) = found.iter().find(|ip| !self.allowed.allows(**ip)) {
            return Err(Error::Other(Box::new(NotAllowed(*ip))));
        }
        let mut addresses = self.empty();
        for ip in found.into_iter().take(ADDRESSES_MAX) {
            addresses.push(SocketAddr::new(ip, port));
        }
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 4;
