//! The certificates of `ca_file`, trusted beside the system's.

use std::io::Read;
use std::path::Path;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The longest file in bytes. The bundle of a whole system is a third of it.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a PEM file; returns each certificate as DER.
pub(crate) fn read(path: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let refused = |why: &str| {
        let message = format!("the certificates of `ca_file` in `{}` cannot be used: {why}", path.display());
        Failure::new(Code::SettingsInvalid, message).with_next(Advice::SetCertificates)
    };
    // Opening a pipe could block for ever.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(refused("it is not a file"));
    }
    let mut pem = Vec::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut pem));
    file.map_err(|error| refused(&error.to_string()))?;
    if pem.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(&format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let read = CertificateDer::pem_slice_iter(&pem).map(|read| read.map(|der| der.as_ref().to_vec()));
    let certificates: Vec<Vec<u8>> =
        read.collect::<Result<_, _>>().map_err(|error| refused(&error.to_string()))?;
    if certificates.is_empty() {
        return Err(refused("it holds none"));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, text).unwrap();
        let described = match read(&path) {
            Ok(certificates) => format!("{certificates:?}"),
            Err(failure) => failure.message.replace(&path.display().to_string(), "FILE"),
        };
        assert_eq!(described, expected);
    }

    #[test]
    fn every_certificate_of_the_file_is_read() {
        let one =
            |base64: &str| format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n");
        check(&format!("# ours\n{}{}", one("AQID"), one("BA==")), "[[1, 2, 3], [4]]");
        check("", "the certificates of `ca_file` in `FILE` cannot be used: it holds none");
        check(
            &"#".repeat((1 << 20) + 1),
            "the certificates of `ca_file` in `FILE` cannot be used: it is larger than 1048576 bytes",
        );
        let missing = read(Path::new("/no/file")).unwrap_err();
        assert_eq!(missing.code, Code::SettingsInvalid);
        let folder = read(Path::new("/")).unwrap_err();
        assert!(folder.message.ends_with("it is not a file"), "{}", folder.message);
    }
}
