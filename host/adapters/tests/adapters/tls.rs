//! HTTPS: which certificates are believed, and that nothing leaves before one is.
//!
//! The key beside this file protects nothing. It and the certificates were made by `openssl req -x509 -newkey ec -pkeyopt
//! ec_paramgen_curve:P-256 -nodes -days 36500 -addext subjectAltName=DNS:localhost -addext
//! basicConstraints=critical,CA:FALSE`.

use super::*;
use rustls::{
    ServerConfig, ServerConnection, Stream,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

const KNOWN: &str = include_str!("tls/known-cert.pem");
const KNOWN_KEY: &str = include_str!("tls/known-key.pem");
const OTHER: &str = include_str!("tls/other-cert.pem");

/// A service for `localhost`; counts the requests that arrive whole.
fn service() -> (u16, Arc<AtomicU32>) {
    let chain = vec![CertificateDer::from_pem_slice(KNOWN.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KNOWN_KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    let (config, requests) = (Arc::new(config), Arc::new(AtomicU32::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let counter = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut tcp, mut tls) = (stream.unwrap(), ServerConnection::new(Arc::clone(&config)).unwrap());
            let mut stream = Stream::new(&mut tls, &mut tcp);
            let mut buffer = [0; 16 * 1024];
            if stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                counter.fetch_add(1, Ordering::SeqCst);
                let body = r#"{"outcome":"submitted","receipt":{"adapterOperationId":"op-1","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["l:1"]}}"#;
                let _ = stream.write_all(super::service::response(200, body).as_bytes());
                tls.send_close_notify();
                let _ = tls.complete_io(&mut tcp);
            }
        }
    });
    (port, requests)
}

#[test]
fn only_the_configured_certificate_is_believed_and_nothing_leaves_before() {
    let place = Place::new();
    let (port, requests) = service();
    fs::write(place.path("ca.pem"), KNOWN).unwrap();
    let url = format!("kind = \"http\"\nsubmit_url = \"https://localhost:{port}/\"");
    let trusting = format!("{url}\ntls_ca_file = {:?}", place.path("ca.pem"));

    assert_eq!(word(&submit(&profile(&url), &submission("1"))), "not-submitted not-connected");
    assert_eq!(requests.load(Ordering::SeqCst), 0, "an unknown certificate");

    fs::write(place.path("other.pem"), OTHER).unwrap();
    let wrong = format!("{url}\ntls_ca_file = {:?}", place.path("other.pem"));
    assert_eq!(word(&submit(&profile(&wrong), &submission("1"))), "not-submitted not-connected");

    let by_address = trusting.replace("localhost", "127.0.0.1");
    assert_eq!(word(&submit(&profile(&by_address), &submission("1"))), "not-submitted not-connected");
    assert_eq!(requests.load(Ordering::SeqCst), 0, "another name");

    assert_eq!(word(&submit(&profile(&trusting), &submission("1"))), "submitted");
    assert_eq!(requests.load(Ordering::SeqCst), 1);

    fs::write(place.path("ca.pem"), "no certificate").unwrap();
    assert!(try_profile(&trusting).unwrap_err().contains("no certificate"));
}
