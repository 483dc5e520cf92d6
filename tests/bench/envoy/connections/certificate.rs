//! Who the server is: a certificate made by each run, for a key of its own or for that of `KEY`.

use std::env;
use std::fs;

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::network_filters::tls_socket;

/// The name that clients ask for.
pub const NAME: &str = "weir.test";

pub struct Certificate {
    chain_pem: String,
    key_pem: String,
    /// What clients trust.
    pub der: CertificateDer<'static>,
    /// "ECDSA P-256"
    pub kind: String,
}

impl Certificate {
    /// # Errors
    /// The file of `KEY` is no private key in PEM (PKCS #8).
    pub fn make() -> Result<Certificate, String> {
        let file = env::var("KEY").unwrap_or_default();
        let (key, kind) = if file.is_empty() {
            (KeyPair::generate(), "ECDSA P-256".to_owned())
        } else {
            let pem =
                fs::read_to_string(crate::absolute(file.as_ref())).map_err(|e| format!("{file}: {e}"))?;
            (KeyPair::from_pem(&pem), format!("the key of {file}"))
        };
        let key = key.map_err(|e| format!("{file}: {e}"))?;
        let params = CertificateParams::new([NAME.to_owned()]).map_err(|e| e.to_string())?;
        let made = params.self_signed(&key).map_err(|e| e.to_string())?;
        let der = made.der().clone();
        Ok(Certificate { chain_pem: made.pem(), key_pem: key.serialize_pem(), der, kind })
    }

    /// For Envoy.
    pub fn socket(&self) -> Value {
        tls_socket(&self.chain_pem, &self.key_pem)
    }
}
