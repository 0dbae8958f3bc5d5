//! A host name's first label.

/// `host.domain` taken apart at the first dot; the domain keeps its dot.
#[must_use]
pub fn split(name: &str) -> (&str, &str) {
    name.find('.').map_or((name, ""), |dot| name.split_at(dot))
}
