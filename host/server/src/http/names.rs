//! Under which names this server is reached, and from which pages.
//!
//! A browser sends requests to any address that a name resolves to, also to a loopback one. So a request must name a host
//! that is served here, and where a page sent it, the page must be of this very server or of an allowed origin.

use axum::extract::Request;
use axum::http::header;
use std::net::{IpAddr, SocketAddr};

/// Why a request is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdirected {
    /// It names no host, several, or one that is not served.
    Host,
    /// It was sent by a page of another origin.
    Origin,
}

/// The hosts and origins that are served.
#[derive(Clone, Debug)]
pub struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
    scheme: &'static str,
}

impl Names {
    /// The names of a server that listens at `bound`: the loopback ones where it is reached there, its address where it has
    /// one, and `hosts`. `origins` are allowed beside its own.
    pub fn new(bound: SocketAddr, tls: bool, hosts: &[String], origins: &[String]) -> Self {
        let ip = bound.ip();
        let mut all: Vec<String> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        if ip.is_loopback() || ip.is_unspecified() {
            all.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        if !ip.is_unspecified() {
            all.push(match ip {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let origins = origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Names { hosts: all, origins, scheme: if tls { "https" } else { "http" } }
    }

    /// Whether a request is for this server.
    pub fn check(&self, request: &Request) -> Result<(), Misdirected> {
        let headers = request.headers();
        let one = |name| {
            let mut fields = headers.get_all(name).iter();
            match (fields.next(), fields.next()) {
                (Some(field), None) => Ok(field.to_str().ok()),
                (None, _) => Err(false),
                (Some(_), Some(_)) => Err(true),
            }
        };
        let Ok(Some(host)) = one(header::HOST) else { return Err(Misdirected::Host) };
        let named = request.uri().authority().is_none_or(|authority| authority.as_str() == host);
        if !named || !self.serves(host) {
            return Err(Misdirected::Host);
        }
        match one(header::ORIGIN) {
            Err(false) => Ok(()),
            Ok(Some(origin)) if self.welcomes(origin, host) => Ok(()),
            _ => Err(Misdirected::Origin),
        }
    }

    /// Whether a `Host` is one of ours; ports do not matter, since whoever reaches us has found ours.
    fn serves(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
            _ => host.as_str(),
        };
        self.hosts.iter().any(|known| known == name)
    }

    fn welcomes(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let own = format!("{}://{}", self.scheme, host.to_ascii_lowercase());
        origin == own || self.origins.contains(&origin)
    }
}
