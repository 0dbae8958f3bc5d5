//! The table of sites against what the documents say of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use torchrun_jsc::site::SITES;
use torchrun_jsc::template::Template;

fn documented() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sites/sites.json");
    serde_json::from_str::<Vec<Value>>(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Variable, value, and what the nodes of the site's test are called on the fast network.
type Rule = (String, String, Vec<String>);

#[test]
fn each_rule_is_documented_and_each_documented_rule_is_there() {
    let mut rules = BTreeSet::<Rule>::new();
    let names_by = |template: &str, site: &Value| -> Vec<String> {
        let template = Template::parse(template).unwrap();
        site["nodes"].as_array().unwrap().iter().map(|node| template.apply(node.as_str().unwrap())).collect()
    };
    for site in documented() {
        for (variable, values) in site["systems"].as_object().into_iter().flatten() {
            for value in values.as_array().unwrap() {
                let value = value.as_str().unwrap();
                let names = names_by(site["facts"]["fast name"][0].as_str().unwrap(), &site);
                rules.insert((variable.clone(), value.to_owned(), names));
                let row = SITES.iter().find(|row| row.value == value).unwrap_or_else(|| panic!("no row for {value}"));
                assert!(rules.contains(&(row.variable.name().into(), value.into(), names_by(row.template, &site))));
            }
        }
    }
    assert_eq!(rules.len(), SITES.len(), "{rules:?}");
}
