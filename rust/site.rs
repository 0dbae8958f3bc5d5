//! What nodes are called on the fast network, by site.

use crate::environ::{Environ, Variable};
use crate::template::Template;
use crate::Result;

/// A system whose rule is known.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// The variable that tells which system this is.
    pub variable: Variable,
    /// Its value there, in any case.
    pub value: &'static str,
    /// How a node is called on the fast network there.
    pub template: &'static str,
}

/// The name with an `i` before its domain.
const WITH_I: &str = "{host}i{domain}";

/// All of them. `docs/sites/sites.json` says where the facts are from.
pub const SITES: [Site; 5] = [
    Site { variable: Variable::SystemName, value: "juwels", template: WITH_I },
    Site { variable: Variable::SystemName, value: "juwelsbooster", template: WITH_I },
    Site { variable: Variable::SystemName, value: "jurecadc", template: WITH_I },
    Site { variable: Variable::SystemName, value: "jureca", template: WITH_I },
    Site { variable: Variable::SystemName, value: "jusuf", template: WITH_I },
];

/// What is tried where no rule is known.
const GUESS: &str = WITH_I;

/// The templates to try in order: the user's; else the site's rule, or a guess where there is none, and the node's name
/// itself.
///
/// # Errors
/// [`crate::Error::Setting`] for a template of the user's that makes no names.
pub fn templates(user: &[String], environ: &Environ) -> Result<Vec<Template>> {
    if !user.is_empty() {
        return user.iter().map(|text| Template::parse(text)).collect();
    }
    let is_here = |site: &&Site| environ.get(site.variable).is_some_and(|value| value.eq_ignore_ascii_case(site.value));
    let fast = match SITES.iter().find(is_here) {
        Some(site) => Template::parse(site.template)?,
        None => Template::guess(GUESS)?,
    };
    Ok(vec![fast, Template::parse("{node}")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_is_certain_at_some_sites_only() {
        for (system, guessed) in
            [(Some("juwels"), false), (Some("JUWELSBOOSTER"), false), (Some("jupiter"), true), (None, true)]
        {
            let get = |name: &str| if name == "SYSTEMNAME" { system.map(str::to_owned) } else { None };
            let found = templates(&[], &Environ::read(get)).unwrap();
            assert_eq!(
                found.iter().map(|template| template.apply("a01.cl")).collect::<Vec<_>>(),
                ["a01i.cl", "a01.cl"]
            );
            assert_eq!((found[0].is_guessed(), found[1].is_guessed()), (guessed, false), "{system:?}");
        }
    }

    #[test]
    fn the_users_templates_replace_the_sites() {
        let found = templates(&["{node}-hsn".into(), "{node}".into()], &Environ::default()).unwrap();
        assert_eq!(found.iter().map(|template| template.apply("a")).collect::<Vec<_>>(), ["a-hsn", "a"]);
        assert!(templates(&["x".into()], &Environ::default()).is_err());
    }
}
