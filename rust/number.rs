//! Numbers in variables and options: plain digits, and not more of them than their kind has.

use crate::{Error, Result};

/// The largest number that Slurm knows: its numbers have 32 bits.
pub const MAX: u32 = u32::MAX;

/// The largest port.
pub const MAX_PORT: u16 = u16::MAX;

/// `text`, the value of `name`, as a number of nodes or tasks, or of one of them.
///
/// # Errors
/// [`Error::Setting`] where it has anything but digits, or is too large.
pub fn parse(name: &str, text: &str) -> Result<usize> {
    let number: Option<u32> = digits(text).then(|| text.parse().ok()).flatten();
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| Error::setting(name, text, format!("not a number from 0 to {MAX}")))
}

/// `text`, the value of `name`, as a port.
///
/// # Errors
/// [`Error::Setting`] where it is none, 0 among them.
pub fn parse_port(name: &str, text: &str) -> Result<u16> {
    let port = digits(text).then(|| text.parse().ok()).flatten();
    port.filter(|&port| port > 0).ok_or_else(|| Error::setting(name, text, "not a port from 1 to 65535"))
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_digits_of_32_bits() {
        for bad in ["", "-1", "+1", "1.0", "0x1", "4294967296", "99999999999999999999999", "١"] {
            assert!(parse("SLURM_NODEID", bad).is_err(), "{bad}");
        }
        assert_eq!(parse("SLURM_NODEID", "007"), Ok(7));
        assert_eq!(parse("X", "x").unwrap_err().to_string(), "X=\"x\": not a number from 0 to 4294967295");
    }

    #[test]
    fn ports_begin_with_1() {
        for bad in ["0", "65536", "x", "-1", ""] {
            let error = parse_port("MASTER_PORT", bad).unwrap_err().to_string();
            assert_eq!(error, format!("MASTER_PORT={bad:?}: not a port from 1 to 65535"));
        }
        assert_eq!(parse_port("MASTER_PORT", "065535"), Ok(65_535));
    }
}
