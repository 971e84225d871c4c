//! Seals: Ed25519 signatures over heads. The keys' texts are those of RFC 8410, which `openssl genpkey -algorithm ed25519`
//! writes as well. No other file uses the crate. When a journal is sealed is `session::sealing`'s to say.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::session::model::Digest;

/// Who can seal: the private half of a key.
pub struct Signer(Ed25519KeyPair);

/// Whose seal it is: the public half of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

/// The text is no such key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Not a private key.
    #[error("it is no Ed25519 private key in PEM (`-----BEGIN PRIVATE KEY-----`); `wfhost key new FILE` makes one")]
    Private,
    /// Not a public key.
    #[error(
        "it is no Ed25519 public key: either PEM (`-----BEGIN PUBLIC KEY-----`) or 64 hex digits, as `wfhost key public \
         FILE` prints them"
    )]
    Public,
}

/// The DER of RFC 8410 before the 32 bytes of a private key, and of a public one.
const PRIVATE: &[u8] = &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const PUBLIC: &[u8] = &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// RFC 7468 with the one line of Base64 that a key needs.
fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64.encode(der))
}

fn der(label: &str, text: &str) -> Option<Vec<u8>> {
    let inside = text.trim().strip_prefix(&format!("-----BEGIN {label}-----"))?;
    let inside = inside.strip_suffix(&format!("-----END {label}-----"))?;
    BASE64.decode(inside.split_whitespace().collect::<String>()).ok()
}

impl Signer {
    /// A key from 32 fresh random bytes, and its PEM text.
    pub fn from_entropy(bytes: [u8; 32]) -> Result<(Self, String), KeyFault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&bytes).map_err(|_| KeyFault::Private)?;
        Ok((Self(pair), pem("PRIVATE KEY", &[PRIVATE, &bytes].concat())))
    }

    /// A key from its PEM text.
    pub fn from_pem(text: &str) -> Result<Self, KeyFault> {
        let der = der("PRIVATE KEY", text).ok_or(KeyFault::Private)?;
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self).map_err(|_| KeyFault::Private)
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().try_into().unwrap_or_default())
    }

    /// The signature over these bytes.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).as_ref().try_into().unwrap_or([0; 64])
    }
}

/// The private half is shown to nobody.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public())
    }
}

impl PublicKey {
    /// Whether this key's holder signed these bytes.
    #[must_use]
    pub fn signed(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(bytes, signature).is_ok()
    }

    /// Its PEM text.
    #[must_use]
    pub fn pem(&self) -> String {
        pem("PUBLIC KEY", &[PUBLIC, &self.0].concat())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for PublicKey {
    type Err = KeyFault;

    fn from_str(text: &str) -> Result<Self, KeyFault> {
        if let Ok(digest) = text.trim().parse::<Digest>() {
            return Ok(Self(digest.0));
        }
        let der = der("PUBLIC KEY", text).ok_or(KeyFault::Public)?;
        let key = der.strip_prefix(PUBLIC).and_then(|key| key.try_into().ok());
        key.map(Self).ok_or(KeyFault::Public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, 7.1, test 2.
    #[test]
    fn signatures_are_those_of_rfc_8032() {
        let secret: Digest = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb".parse().unwrap();
        let (signer, pem) = Signer::from_entropy(secret.0).unwrap();
        assert_eq!(Signer::from_pem(&pem).unwrap().public(), signer.public());
        let public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
        assert_eq!(signer.public().to_string(), public);
        let signature = signer.sign(&[0x72]);
        let shown: String = signature.iter().map(|b| format!("{b:02x}")).collect();
        let expected = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                        085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
        assert_eq!(shown, expected);
        assert!(signer.public().signed(&[0x72], &signature) && !signer.public().signed(&[0x73], &signature));
    }

    /// What `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` print.
    #[test]
    fn keys_are_read_as_openssl_writes_them() {
        let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIH5Tp3cMyC+DSQJ37CtRlIpvPSXbAqwJRmmP6KSy\
                       j/nN\n-----END PRIVATE KEY-----\n";
        assert_eq!(Signer::from_pem("nonsense").unwrap_err(), KeyFault::Private);
        let signer = Signer::from_pem(private).unwrap();
        let public = "88ba19c4b02992b94f79a0af5afdc29a52886ae3353a8602ceada60e190d4c2d";
        assert_eq!(signer.public().to_string(), public);
        for text in [signer.public().pem(), format!(" {}\n", signer.public())] {
            assert_eq!(text.parse(), Ok(signer.public()));
        }
        for wrong in ["", "abc", private, &"f".repeat(63)] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(KeyFault::Public), "{wrong}");
        }
        assert!(!format!("{signer:?}").contains("MC4C"));
    }
}
