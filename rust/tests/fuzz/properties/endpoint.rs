use torchrun_jsc::host_port::HostPort;

/// An endpoint is refused in one line, or it is a host that prints as what it was read from.
pub fn endpoint(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let endpoint = match HostPort::parse("--rdzv_endpoint", text) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            super::assert_harmless(&error);
            return assert!(error.to_string().starts_with("--rdzv_endpoint=\""), "{error}");
        }
    };
    assert!(text.contains(&endpoint.host));
    assert!(!endpoint.host.contains(|c: char| c.is_control() || c.is_whitespace() || "[]/@'\"$`\\".contains(c)));
    assert_eq!(HostPort::parse("", &endpoint.to_string()).as_ref(), Ok(&endpoint), "{text:?}");
    // A colon in a host is an IPv6 address's.
    assert_eq!(endpoint.host.contains(':'), endpoint.ip().is_some_and(|ip| ip.is_ipv6()), "{text:?}");
    assert!(!endpoint.is_loopback() || endpoint.ip().is_some() || endpoint.host.eq_ignore_ascii_case("localhost"));
}
