//! The HTTP side of `threadmesh serve`: where it listens, under which names, and with which certificate.

use crate::failure::Failure;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use threadmesh_server::http::{Gate, HttpLimits, HttpServer, Jwt, Names, Tls};
use threadmesh_server::mcp;
use threadmesh_server::service::Service;
use threadmesh_server::stop::Stop;
use threadmesh_server::tokens::CheckPrincipal;
use threadmesh_server::tokens::TokenBook;

/// Where it listens unless a port is named.
const PORT: u16 = 7400;

/// The options of HTTP.
#[derive(Debug, Default, Args)]
pub struct HttpArguments {
    /// Answer over HTTP too, at an IP address or localhost; port 7400 unless given, 0 for any that is free
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = address, conflicts_with = "stdio")]
    listen: Option<SocketAddr>,
    /// The certificate chain for TLS, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "listen")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, as PEM, closed to other accounts
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let in OAuth 2 access tokens (JWT) too, as this TOML file says: spec/http.md
    #[arg(long, value_name = "FILE", requires = "listen")]
    jwt_config: Option<PathBuf>,
    /// Listen beyond this machine without TLS: tokens and messages can then be read on the way
    #[arg(long, requires = "listen")]
    allow_plain_http: bool,
    /// A name under which the server is reached; may be repeated
    #[arg(long, value_name = "NAME", requires = "listen")]
    allow_host: Vec<String>,
    /// An origin whose pages may call, as https://mesh.example; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    allow_origin: Vec<String>,
}

/// A bound port, and everything that is needed to serve it.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    names: Names,
    gate: Gate,
    tls: Option<Tls>,
}

/// A server at work.
pub struct Running(JoinHandle<std::io::Result<()>>);

impl HttpArguments {
    /// HTTP at `listen`, without TLS or anything else.
    pub fn at(listen: Option<SocketAddr>) -> Self {
        HttpArguments { listen, ..HttpArguments::default() }
    }

    /// Binds the port, if one was asked for. Access tokens let nobody in who does not pass `check`. Unusable where that
    /// would send tokens over a network in the clear, where a file cannot be used, or where the port is in use.
    pub fn listen(&self, book: &Arc<TokenBook>, check: CheckPrincipal) -> Result<Option<Listening>, Failure> {
        let Some(address) = self.listen else { return Ok(None) };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::load(certificate, key).map_err(|error| {
                Failure::unusable("tls-unusable", error, "name a PEM certificate chain and its PEM key, mode 0600")
            })?),
            _ => None,
        };
        if !address.ip().is_loopback() && tls.is_none() && !self.allow_plain_http {
            let detail = format!("{address} can be reached from other machines, and without TLS tokens can be read");
            let next = "use --tls-cert and --tls-key, listen at 127.0.0.1, or say --allow-plain-http";
            return Err(Failure::unusable("listen-refused", detail, next));
        }
        let jwt = self.jwt_config.as_deref().map(|path| Jwt::load(path, check)).transpose().map_err(|error| {
            Failure::unusable("jwt-config-unusable", error, "mend the file; spec/http.md describes it")
        })?;
        let gate = Gate::new(Arc::clone(book), jwt);
        let unusable = |error| {
            let detail = format!("{address}: {error}");
            Failure::unusable("listen-unusable", detail, "choose another address or port: --listen")
        };
        let listener = TcpListener::bind(address).map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        let names = Names::new(bound, tls.is_some(), &self.allow_host, &self.allow_origin);
        Ok(Some(Listening { listener, address: bound, names, gate, tls }))
    }
}

impl Listening {
    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls.is_some() { "https" } else { "http" }, self.address)
    }

    /// Starts to serve, on a thread of its own. Where serving ends by itself, everything is to stop.
    pub fn start(self, service: &Arc<dyn Service>, stop: &Stop) -> Result<Running, Failure> {
        let Listening { listener, names, gate, tls, .. } = self;
        let service = Arc::clone(service);
        let tools = mcp::endpoint(Arc::clone(&service), gate.clone());
        let more = Some(tools.router);
        let server = HttpServer { service, gate, names, limits: HttpLimits::default(), tls, more };
        let (stop, asked) = (stop.clone(), stop.clone());
        let end = move || {
            asked.wait();
            (tools.end)();
        };
        std::thread::Builder::new().name("mcp-stop".to_owned()).spawn(end).map_err(|error| failure(&error))?;
        let serve = move || {
            let served = server.serve(listener, &stop);
            stop.trigger();
            served
        };
        std::thread::Builder::new().name("http".to_owned()).spawn(serve).map(Running).map_err(|error| failure(&error))
    }
}

impl Running {
    /// Waits until it has ended.
    pub fn end(self) -> Result<(), Failure> {
        let served = self.0.join().unwrap_or_else(|_| Err(std::io::Error::other("the server failed")));
        served.map_err(|error| failure(&error))
    }
}

fn failure(error: &std::io::Error) -> Failure {
    Failure::unusable("listen-unusable", error, "choose another address or port: --listen")
}

/// An IP address or `localhost`, with or without a port. Other names are not looked up: what they stand for may change.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = match text.strip_prefix("localhost") {
        Some(rest) if rest.is_empty() || rest.starts_with(':') => format!("{}{rest}", Ipv4Addr::LOCALHOST),
        _ => text.to_owned(),
    };
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    text.parse().map_err(|_| "an IP address or localhost, with or without :PORT, as 127.0.0.1:7400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_or_the_usual_one() {
        let parsed = |text: &str| address(text).map(|address| address.to_string());
        assert_eq!(parsed("127.0.0.1").as_deref(), Ok("127.0.0.1:7400"));
        assert_eq!(parsed("127.0.0.1:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(parsed("localhost:81").as_deref(), Ok("127.0.0.1:81"));
        assert_eq!(parsed("localhost").as_deref(), Ok("127.0.0.1:7400"));
        assert_eq!(parsed("::1").as_deref(), Ok("[::1]:7400"));
        assert_eq!(parsed("[::1]:9").as_deref(), Ok("[::1]:9"));
        for text in ["", "mesh.example", "127.0.0.1:", "127.0.0.1:65536", "localhosts"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
