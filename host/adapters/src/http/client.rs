//! One request per connection, with a hard deadline, and with knowledge of whether a byte of it left.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};
use ureq::{
    Agent, Error,
    config::Config,
    http::{HeaderName, HeaderValue},
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
    unversioned::{
        resolver::DefaultResolver,
        transport::{Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport},
    },
};

/// The longest response head.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// An answer of the service.
pub(super) struct Reply {
    pub status: u16,
    /// The body, or why it could not be read.
    pub body: Result<String, String>,
}

/// No answer.
pub(super) struct Failure {
    /// Whether a byte of the request may have left.
    pub sent: bool,
    pub detail: String,
}

/// Makes requests.
pub(super) struct Client {
    agent: Agent,
    body_bytes_max: u64,
}

impl Client {
    /// A client that trusts the certificates of `ca_pem`, or else the built-in ones.
    pub fn new(ca_pem: Option<&str>, body_bytes_max: u64) -> Result<Self, String> {
        let config = config(ca_pem, "application/json")?;
        let connector = ().chain(TcpConnector::default()).chain(RustlsConnector::default()).chain(Watched);
        Ok(Self { agent: Agent::with_parts(config, connector, DefaultResolver::default()), body_bytes_max })
    }

    /// Posts JSON.
    pub fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: &str,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let mut request = self.agent.post(url).header("Content-Type", "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(left(deadline)?)).build();
        SENT.set(false);
        self.reply(request.send(body))
    }

    /// Gets.
    pub fn get(&self, url: &str, headers: &[(String, String)], deadline: Instant) -> Result<Reply, Failure> {
        let mut request = self.agent.get(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(left(deadline)?)).build();
        SENT.set(false);
        self.reply(request.call())
    }

    fn reply(&self, result: Result<ureq::http::Response<ureq::Body>, Error>) -> Result<Reply, Failure> {
        match result {
            Ok(mut response) => {
                let body = response.body_mut().with_config().limit(self.body_bytes_max).read_to_string();
                Ok(Reply { status: response.status().as_u16(), body: body.map_err(|error| error.to_string()) })
            }
            Err(error) => Err(Failure { sent: SENT.get(), detail: error.to_string() }),
        }
    }
}

/// No redirects, no proxies, no kept connections; trusts the certificates of `ca_pem`, or else the built-in ones.
pub(crate) fn config(ca_pem: Option<&str>, accept: &str) -> Result<Config, String> {
    let mut tls = TlsConfig::builder();
    if let Some(pem) = ca_pem {
        tls = tls.root_certs(RootCerts::new_with_certs(&certificates(pem)?));
    }
    let config = Config::builder()
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .max_response_header_size(HEAD_BYTES_MAX)
        .user_agent(concat!("threadmesh/", env!("CARGO_PKG_VERSION")))
        .accept(accept)
        .tls_config(tls.build());
    Ok(config.build())
}

fn left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Failure { sent: false, detail: "the deadline has passed".into() });
    }
    Ok(left)
}

fn certificates(pem: &str) -> Result<Vec<Certificate<'static>>, String> {
    let mut certificates = Vec::new();
    for item in parse_pem(pem.as_bytes()) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("no certificate in tls_ca_file".into());
    }
    Ok(certificates)
}

/// Whether a header may be sent.
pub(super) fn check_header(name: &str, value: &str) -> Result<(), String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no header name"))?;
    HeaderValue::from_str(value).map_err(|_| format!("the value of header {name:?} holds forbidden characters"))?;
    let framing = ["host", "content-length", "transfer-encoding", "connection", "content-type", "expect"];
    if framing.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("header {name:?} cannot be configured"));
    }
    Ok(())
}

thread_local! {
    /// Whether the request that this thread makes has begun to leave. A request is made on the thread that asks for it,
    /// from connecting to the last byte, and never retried.
    static SENT: Cell<bool> = const { Cell::new(false) };
}

/// The last link of the chain, above TLS: notes the first byte of the request that is handed down. What fails before,
/// also in the TLS handshake, has not left.
#[derive(Debug)]
struct Watched;

#[derive(Debug)]
struct WatchedTransport<T>(T);

impl<In: Transport> Connector<In> for Watched {
    type Out = WatchedTransport<In>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(WatchedTransport))
    }
}

impl<T: Transport> Transport for WatchedTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        SENT.set(true);
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
