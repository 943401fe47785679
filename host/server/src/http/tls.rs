//! TLS: the operator's certificate and its key.

use rustix::fs::OFlags;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// No certificate chain or key is larger.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why there is no TLS to be had.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The key is open to others, or not what it should be.
    #[error("{path}: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence part.
        reason: String,
    },
}

/// A certificate with its key, ready to serve.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

impl Tls {
    /// Reads a PEM certificate chain and its PEM key. The key must be a regular file of this account or of the system's,
    /// closed to everybody else.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let unusable = |path: &Path, reason: String| TlsError::Unusable { path: path.to_owned(), reason };
        let chain = read(certificate, false)?;
        let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| unusable(certificate, format!("is no PEM certificate chain: {error}")))?;
        if chain.is_empty() {
            return Err(unusable(certificate, "holds no certificate".to_owned()));
        }
        let text = read(key, true)?;
        let secret = PrivateKeyDer::from_pem_slice(&text)
            .map_err(|error| unusable(key, format!("is no PEM private key: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| unusable(key, format!("cannot be used with the certificate: {error}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read(path: &Path, private: bool) -> Result<Vec<u8>, TlsError> {
    let io = |source: io::Error| TlsError::Io { path: path.to_owned(), source };
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    let owned = [rustix::process::geteuid().as_raw(), 0].contains(&meta.uid());
    let reason = if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        "is no regular file of a sensible size".to_owned()
    } else if private && !owned {
        format!("belongs to account {}, not to the one that runs this", meta.uid())
    } else if private && meta.mode() & 0o077 != 0 {
        format!("is open to other accounts (mode {:04o}): chmod 600", meta.mode() & 0o7777)
    } else {
        let mut bytes = Vec::new();
        return file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map(|_| bytes).map_err(io);
    };
    Err(TlsError::Unusable { path: path.to_owned(), reason })
}
