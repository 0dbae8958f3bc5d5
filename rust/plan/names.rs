//! The form in which an endpoint names its node.

use crate::label::split;
use crate::slurm::Nodes;
use crate::template::Template;

/// How a name is made of a node's first label: `prefix` + label + `suffix`, then `domain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    prefix: String,
    suffix: String,
    domain: String,
}

impl Form {
    /// The name of `node` in this form.
    #[must_use]
    pub fn apply(&self, node: &str) -> String {
        format!("{}{}{}{}", self.prefix, split(node).0, self.suffix, self.domain)
    }
}

/// A node of the step that a name was found to stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// Its place in the step.
    pub(super) position: usize,
    /// Its name in the node list.
    pub(super) node: String,
    /// How the name is made of it.
    pub(super) form: Form,
    /// Whether the name is the node's by the rules of the site, and not only by its looks.
    pub(super) certain: bool,
}

/// Find the node that `host` names: by its exact name, its first label, one of the site's forms, or, without
/// certainty, as a node's label with something behind it. `domain` is this node's own, for lists with dotted names.
pub(super) fn find(nodes: &Nodes, host: &str, templates: &[Template], domain: &str) -> Option<Match> {
    // The resolver ignores case, but positions in a node list are found letter by letter: try the lower case too.
    find_exactly(nodes, host, templates, domain)
        .or_else(|| find_exactly(nodes, &host.to_ascii_lowercase(), templates, domain))
}

fn find_exactly(nodes: &Nodes, host: &str, templates: &[Template], domain: &str) -> Option<Match> {
    let (label, tail) = split(host);
    let found = |inner: &str, prefix: &str, suffix: &str, certain: bool| {
        let position = nodes.place_of_label(inner, tail, domain)?;
        let form = Form { prefix: prefix.to_owned(), suffix: suffix.to_owned(), domain: tail.to_owned() };
        Some(Match { position, node: nodes.hosts.nth(position)?, form, certain })
    };
    let by_site = || {
        templates.iter().filter(|template| !template.is_guessed()).filter_map(Template::around_label).find_map(
            |(prefix, suffix)| {
                let inner = label.strip_prefix(prefix)?.strip_suffix(suffix)?;
                found(inner, prefix, suffix, true)
            },
        )
    };
    let by_looks = || {
        let ends = label.char_indices().map(|(at, _)| at).skip(1).collect::<Vec<_>>();
        ends.into_iter()
            .rev()
            .map(|at| label.split_at(at))
            .filter(|(inner, rest)| !cuts_number(inner, rest))
            .find_map(|(inner, rest)| found(inner, "", rest, false))
    };
    found(label, "", "", true).or_else(by_site).or_else(by_looks)
}

/// Whether `host` is the name of a node of the step, as in the list or with another domain.
pub(super) fn is_node(nodes: &Nodes, host: &str, domain: &str) -> bool {
    find(nodes, host, &[], domain).is_some_and(|found| found.certain)
}

/// Whether the cut between `inner` and `rest` goes through a number: `n1` is not what `n10` begins with.
fn cuts_number(inner: &str, rest: &str) -> bool {
    inner.ends_with(|c: char| c.is_ascii_digit()) && rest.starts_with(|c: char| c.is_ascii_digit())
}
