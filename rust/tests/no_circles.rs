//! Files of the crate depend on one another in one direction only.
//!
//! Every path in a file (`use`, and paths in the code) leads to the file that has the name: through `pub use` to the file
//! that it is re-exported from. Code of tests in a file does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// A module, as the names that lead to it from the root of the crate.
type Module = Vec<String>;

/// What stands in the file of a module.
#[derive(Default)]
struct File {
    /// The paths in it, each from the root of the crate.
    paths: Vec<Module>,
    /// Names that it re-exports, with what they are there.
    exports: BTreeMap<String, Module>,
}

struct Reader {
    /// Where it reads: the file's module, or one inside the file.
    module: Module,
    file: File,
}

impl Reader {
    /// The path from the root of the crate that `segments` is in this module; `None` for another crate's.
    fn path_from_root(&self, segments: &[String]) -> Option<Module> {
        let (first, rest) = segments.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&self.module, rest].concat()),
            "super" => {
                let parent = &self.module[..self.module.len() - 1];
                let ups = rest.iter().take_while(|segment| *segment == "super").count();
                Some([&parent[..parent.len() - ups], &rest[ups..]].concat())
            }
            // The name of a module below this one, if it is one.
            _ => Some([&self.module, segments].concat()),
        }
    }

    fn take_use(&mut self, tree: &UseTree, before: &[String], is_public: bool) {
        let mut leaf = |name: String, as_name: String| {
            let segments = if name == "self" { before.to_vec() } else { [before, &[name]].concat() };
            let Some(path) = self.path_from_root(&segments) else { return };
            if is_public {
                self.file.exports.insert(as_name, path.clone());
            }
            self.file.paths.push(path);
        };
        match tree {
            UseTree::Path(path) => {
                self.take_use(&path.tree, &[before, &[path.ident.to_string()]].concat(), is_public);
            }
            UseTree::Name(name) => leaf(name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => leaf(name.ident.to_string(), name.rename.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.take_use(tree, before, is_public)),
            UseTree::Glob(_) => {
                let is_ours = ["crate", "self", "super"].contains(&&*before[0]);
                assert!(!is_ours, "{:?} uses all of {before:?}: say what", self.module);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    // Neither `#[cfg]` nor `pub(crate)` leads anywhere.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.take_use(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.file.paths.extend(self.path_from_root(&segments));
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|what| what == "test")
}

/// The module that stands in a file below `rust/`.
fn module_of(file: &Path, root: &Path) -> Module {
    let path = file.strip_prefix(root).unwrap().with_extension("");
    let names: Module = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    if names == ["lib"] {
        Vec::new()
    } else {
        names
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let is_code = !["tests", "benches", "fuzz"].iter().any(|other| path.ends_with(other));
            match path.extension() {
                Some(extension) if extension == "rs" => vec![path],
                None if is_code => rust_files(&path),
                _ => Vec::new(),
            }
        })
        .collect()
}

fn read() -> BTreeMap<Module, File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust");
    let files = rust_files(&root).into_iter().map(|path| {
        let module = module_of(&path, &root);
        let mut reader = Reader { module: module.clone(), file: File::default() };
        reader.visit_file(&syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap());
        let file = reader.file;
        (module, file)
    });
    files.collect()
}

/// The module that has what `path` names, if that is one of the crate.
fn owner(files: &BTreeMap<Module, File>, path: &[String]) -> Option<Module> {
    let length = (0..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
    let (module, rest) = path.split_at(length);
    let exported = rest.first().and_then(|name| files[module].exports.get(name));
    match exported {
        Some(there) if there != path => owner(files, &[there, &rest[1..]].concat()),
        _ => Some(module.to_vec()),
    }
}

/// A way from a module back to itself, if there is one.
fn circle(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    fn follow(
        edges: &BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<Module>> {
        let here = way.last()?.clone();
        for next in &edges[&here] {
            if let Some(start) = way.iter().position(|module| module == next) {
                return Some(way[start..].to_vec());
            }
            if !done.contains(next) {
                way.push(next.clone());
                if let Some(found) = follow(edges, way, done) {
                    return Some(found);
                }
                way.pop();
            }
        }
        done.insert(here);
        None
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|start| follow(edges, &mut vec![start.clone()], &mut done))
}

#[test]
fn files_depend_in_one_direction() {
    let files = read();
    assert!(files.len() > 30, "{:?}", files.keys());
    let edges: BTreeMap<_, BTreeSet<_>> = files
        .iter()
        .map(|(module, file)| {
            let owners = file.paths.iter().filter_map(|path| owner(&files, path)).filter(|owner| owner != module);
            (module.clone(), owners.collect())
        })
        .collect();
    // What a file re-exports is no dependency of those that use it through that file; what it uses is.
    assert!(edges[&vec!["plan".to_owned(), "launch".to_owned()]].contains(&vec!["plan".to_owned(), "host".to_owned()]));
    let found = circle(&edges);
    assert!(found.is_none(), "a circle: {found:?}");
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let edges = |pairs: &[(&str, &[&str])]| {
        pairs.iter().map(|(from, to)| (module(from), to.iter().map(|name| module(name)).collect())).collect()
    };
    assert_eq!(circle(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])), None);
    let found = circle(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])])).unwrap();
    assert_eq!(found, [module("b"), module("c")]);
}
