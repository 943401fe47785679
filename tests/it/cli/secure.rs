//! `serve --listen` with TLS and with access tokens, and answers that tell nothing to strangers.

use crate::program::world::{World, reference};
use crate::program::{Answered, Asked, HttpServer, Rig};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// A certificate for `localhost` in `cert.pem` and `key.pem`; its DER form.
fn certificate(rig: &Rig) -> rustls::pki_types::CertificateDer<'static> {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let certificate = params.self_signed(&key).expect("a certificate");
    rig.write("cert.pem", certificate.pem());
    let path = rig.write("key.pem", key.serialize_pem());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    certificate.der().clone()
}

/// A TLS connection to the server, from a client that knows this certificate and speaks these versions.
fn connect(
    server: &HttpServer,
    trusted: rustls::pki_types::CertificateDer<'static>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let client = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    rustls::StreamOwned::new(client, server.open())
}

const TLS: &[&str] = &["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

#[test]
fn tls_is_served_with_the_given_certificate() {
    let world = World::new();
    let trusted = certificate(&world.rig);
    let server = world.rig.serve_http(TLS);
    let ask = Asked::call(&world.token("alice"), "tasks.get", &json!({"task": reference("plan-1")}));
    for versions in [&[&rustls::version::TLS13], &[&rustls::version::TLS12]] {
        let answered = ask.send(connect(&server, trusted.clone(), versions), "localhost");
        assert_eq!(answered.json()["result"]["value"]["taskId"], "plan-1");
    }
    let page = ask.clone().field("origin", "https://localhost");
    assert_eq!(page.send(connect(&server, trusted.clone(), rustls::ALL_VERSIONS), "localhost").status, 200);
    let page = ask.clone().field("origin", "http://localhost");
    assert_eq!(page.send(connect(&server, trusted, rustls::ALL_VERSIONS), "localhost").status, 403);
    let mut plain = server.open();
    std::io::Write::write_all(&mut plain, &ask.bytes("localhost")).expect("bytes are sent");
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut plain, &mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "nothing is said in the clear: {answer:?}");
    let mut stranger = connect(&server, certificate(&Rig::new()), rustls::ALL_VERSIONS);
    let refused = std::io::Write::write_all(&mut stranger, &ask.bytes("localhost"));
    assert!(refused.is_err(), "a client that knows another certificate sends nothing");
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn keys_that_others_can_read_are_refused() {
    let world = World::new();
    certificate(&world.rig);
    let serve = |options: &[&str]| {
        let all = [&["serve", "--db", "mesh.db", "--listen", "127.0.0.1:0"], options].concat();
        let ran = world.rig.run(&all);
        assert_eq!(ran.code, 2, "{ran:?}");
        ran.err
    };
    let mode = |mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.rig.path("key.pem"), mode).expect("a mode");
    };
    mode(0o640);
    let said = serve(TLS);
    assert!(said.contains("tls-unusable") && said.contains("chmod 600"), "{said}");
    mode(0o600);
    assert!(serve(&["--tls-cert", "key.pem", "--tls-key", "key.pem"]).contains("holds no certificate"));
    assert!(
        serve(&["--tls-cert", "cert.pem", "--tls-key", "cert.pem"]).contains("tls-unusable"),
        "it can be read by others"
    );
    assert!(serve(&["--tls-cert", "missing.pem", "--tls-key", "key.pem"]).contains("missing.pem"));
    assert!(serve(&["--tls-cert", "cert.pem"]).contains("--tls-key"));
    let other = KeyPair::generate().expect("a key").serialize_pem();
    let path = world.rig.write("other.pem", other);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    assert!(
        serve(&["--tls-cert", "cert.pem", "--tls-key", "other.pem"]).contains("tls-unusable"),
        "not the certificate's key"
    );
}

/// An issuer of access tokens, with its key.
struct Issuer(rcgen::KeyPair);

impl Issuer {
    /// Publishes a key and a configuration in the folder.
    fn new(rig: &Rig) -> Self {
        let pair = KeyPair::generate().expect("a key");
        let point = rcgen::PublicKeyData::der_bytes(&pair).to_owned();
        let (x, y) = (base64url(&point[1..33]), base64url(&point[33..]));
        let key = json!({"kty": "EC", "crv": "P-256", "kid": "k1", "alg": "ES256", "use": "sig", "x": x, "y": y});
        rig.write("jwks.json", json!({"keys": [key]}).to_string());
        rig.write(
            "jwt.toml",
            "issuer = \"https://id.example\"\naudience = \"mesh\"\nalgorithms = [\"ES256\"]\njwks = \"jwks.json\"\n\
             [user]\nid = \"sub\"\n[task]\nid = \"task\"\nincarnation = \"inc\"\nowner = \"sub\"\n",
        );
        Issuer(pair)
    }

    fn token(&self, claims: &Value) -> String {
        let head = base64url(br#"{"alg":"ES256","kid":"k1","typ":"at+jwt"}"#);
        let text = format!("{head}.{}", base64url(claims.to_string().as_bytes()));
        let signature = rcgen::SigningKey::sign(&self.0, text.as_bytes()).expect("a signature");
        format!("{text}.{}", base64url(&fixed(&signature)))
    }
}

/// A DER signature as two numbers of 32 bytes, as a JWT has it.
fn fixed(der: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = &der[2..];
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let number = &number[number.len().saturating_sub(32)..];
        all.extend(std::iter::repeat_n(0, 32 - number.len()).chain(number.iter().copied()));
        rest = &rest[2 + length..];
    }
    all
}

fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..=chunk.len()).for_each(|place| text.push(char::from(ALPHABET[(group >> (18 - 6 * place)) as usize & 63])));
    }
    text
}

#[test]
fn access_tokens_of_the_issuer_are_let_in() {
    let world = World::new();
    let issuer = Issuer::new(&world.rig);
    let server = world.rig.serve_http(&["--jwt-config", "jwt.toml"]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs();
    let claims = |more: Value| {
        let mut claims = json!({"iss": "https://id.example", "aud": "mesh", "exp": now + 300, "sub": "alice"});
        claims.as_object_mut().expect("claims").extend(more.as_object().expect("more").clone());
        claims
    };
    let get = |token: &str| server.call(token, "tasks.get", &json!({"task": reference("build-1")}));
    let alice = issuer.token(&claims(json!({})));
    assert_eq!(get(&alice).json()["result"]["value"]["taskId"], "build-1");
    assert_eq!(get(&issuer.token(&claims(json!({"sub": "mallory"})))).code(), "not-visible");
    let builder = issuer.token(&claims(json!({"task": "build-1", "inc": "inc_build_0001"})));
    assert_eq!(get(&builder).json()["result"]["value"]["taskId"], "build-1");
    let other = issuer.token(&claims(json!({"task": "build-1", "inc": "inc_build_0002"})));
    assert_eq!(get(&other).code(), "not-visible", "an incarnation that is none");
    for bad in [
        json!({"exp": now - 60}),
        json!({"aud": "other"}),
        json!({"iss": "x"}),
        json!({"exp": now + 90_000}),
        json!({"sub": ""}),
        json!({"sub": "al\nice"}),
        json!({"sub": "x".repeat(201)}),
        json!({"task": "build-1", "inc": "build_0001"}),
    ] {
        assert_eq!(get(&issuer.token(&claims(bad.clone()))).status, 401, "{bad}");
    }
    let forged = Issuer(KeyPair::generate().expect("a key")).token(&claims(json!({})));
    assert_eq!(get(&forged).status, 401);
    assert_eq!(get(&world.token("alice")).status, 200, "the token file counts all the same");
    let params = json!({
        "previous": reference("build-1"), "next": {"taskId": "build-1", "incarnationId": "inc_build_0002", "harness": "test"},
        "expectedRevision": 0, "idempotencyKey": "idem_rotate-01",
    });
    assert!(server.call(&alice, "tasks.rotateIncarnation", &params).json()["result"].is_object());
    assert_eq!(get(&builder).code(), "task-retired", "a valid token of an incarnation that is retired");
    let refused = world.rig.run(&[
        "serve",
        "--db",
        "mesh.db",
        "--socket",
        "other.run/socket",
        "--listen",
        "127.0.0.1:0",
        "--jwt-config",
        "jwks.json",
    ]);
    assert!(refused.code == 2 && refused.err.contains("jwt-config-unusable"), "{refused:?}");
}

/// Acceptance 3 of the delivery surface: over HTTP too, missing and foreign are one answer to the byte.
#[test]
fn missing_and_foreign_have_the_same_answers_and_header_fields() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let route = [&["send", "Use the cache."][..], World::ROUTE, &["--message-id", "msg_cli_00001"]].concat();
    assert_eq!(world.at("planner", &route).0, 0);
    let stranger = world.token("stranger");
    let key = |mut params: Value| {
        params["idempotencyKey"] = "idem_probe-0001".into();
        params["expectedRevision"] = 0.into();
        params
    };
    type Params = Box<dyn Fn(bool) -> Value>;
    let probes: Vec<(&str, Params)> = vec![
        ("tasks.get", Box::new(|there| json!({"task": task(there)}))),
        ("tasks.wait", Box::new(|there| json!({"task": task(there), "timeoutMs": 1_000}))),
        ("mailbox.listPending", Box::new(|there| json!({"receiver": task(there), "timeoutMs": 1_000}))),
        ("messages.getDisposition", Box::new(message)),
        ("audit.list", Box::new(message)),
        ("mailbox.claim", Box::new(move |there| key(message(there)))),
        (
            "messages.respond",
            Box::new(move |there| {
                let mut params = key(message(there));
                params["decision"] = "rejected".into();
                params
            }),
        ),
        (
            "messages.failDelivery",
            Box::new(move |there| {
                let mut params = key(message(there));
                params["failureReason"] = "No room.".into();
                params
            }),
        ),
    ];
    for (method, params) in probes {
        let answers: [Answered; 2] = [true, false].map(|there| server.call(&stranger, method, &params(there)));
        let [foreign, missing] = answers;
        assert_eq!(foreign.code(), "not-visible", "{method}: {foreign:?}");
        assert_eq!(
            (foreign.status, foreign.fields, foreign.body),
            (missing.status, missing.fields, missing.body),
            "{method}"
        );
    }
}

fn task(there: bool) -> Value {
    json!({"taskId": "build-1", "incarnationId": if there { "inc_build_0001" } else { "inc_build_9999" }})
}

fn message(there: bool) -> Value {
    json!({"senderIncarnationId": "inc_plan_0001", "messageId": if there { "msg_cli_00001" } else { "msg_cli_99999" }})
}
