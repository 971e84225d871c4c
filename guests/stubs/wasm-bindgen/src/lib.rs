//! The one type of wasm-bindgen that chrono names.

/// A number.
#[derive(Debug)]
pub struct JsValue(pub f64);

impl JsValue {
    /// A number as a value.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self(value)
    }
}
