//! Text of Python. What is not UTF-8 (bytes of the environment or of the command line) is written out as `\udcff`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// An argument that is text.
pub(super) struct Text(pub(super) String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        if let Ok(text) = text.extract() {
            return Ok(Self(text));
        }
        let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
        Ok(Self(String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()).into_owned()))
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A field that is text.
pub(crate) fn owned(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.extract::<Text>()?.0)
}

/// A field that is text or None.
pub(crate) fn optional(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    Ok(object.extract::<Option<Text>>()?.map(|text| text.0))
}

/// A field that is a sequence of texts.
pub(crate) fn list(object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    Ok(object.extract::<Vec<Text>>()?.into_iter().map(|text| text.0).collect())
}

/// A field that is one of some words.
pub(crate) fn word<T: for<'a> From<&'a str>>(object: &Bound<'_, PyAny>) -> PyResult<T> {
    Ok(T::from(&object.extract::<Text>()?.0))
}
