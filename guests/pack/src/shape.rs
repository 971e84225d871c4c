//! What a component says of itself in its type, held against a WIT text: which functions and types are missing or otherwise.

use anyhow::{Context, Result, bail};
use wit_component::DecodedWasm;
use wit_parser::{Function, Handle, Interface, Resolve, Type, TypeDef, TypeDefKind, WorldItem};

/// A function or type that is not as needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// `render`, or `turn`.
    pub name: String,
    /// As the WIT text has it, on one line.
    pub needed: String,
    /// As the component has it; none: it has no such thing.
    pub offered: Option<String>,
}

/// What the interface of that name lacks or has otherwise than the one interface of the WIT text. None of that name at all
/// is an error.
pub fn differences(component: &[u8], name: &str, wit: &str) -> Result<Vec<Difference>> {
    let DecodedWasm::Component(offered, world) = wit_component::decode(component)? else {
        bail!("a WIT package instead of a component");
    };
    let world = offered.worlds.get(world).context("the component names no world")?;
    let export = world.exports.iter().find(|(key, _)| offered.name_world_key(key) == name);
    let Some((_, WorldItem::Interface { id, .. })) = export else { bail!("there is no interface `{name}`") };
    let have = offered.interfaces.get(*id).context("the interface is named and not there")?;
    let mut needed = Resolve::default();
    needed.push_str("needed.wit", wit)?;
    let (_, want) = needed.interfaces.iter().next().context("the WIT text has no interface")?;
    Ok(compared((&needed, want), (&offered, have)))
}

fn compared((needed, want): (&Resolve, &Interface), (offered, have): (&Resolve, &Interface)) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut hold = |name: &str, needed: String, offered: Option<String>| {
        if offered.as_ref() != Some(&needed) {
            found.push(Difference { name: name.to_owned(), needed, offered });
        }
    };
    for (name, function) in &want.functions {
        hold(name, signature(needed, function), have.functions.get(name).map(|f| signature(offered, f)));
    }
    for (name, id) in &want.types {
        let Some(ty) = needed.types.get(*id).filter(|ty| !matches!(ty.kind, TypeDefKind::Type(_))) else { continue };
        let theirs = have.types.get(name).and_then(|id| offered.types.get(*id)).map(|ty| definition(offered, ty));
        hold(name, definition(needed, ty), theirs);
    }
    found
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params = function.params.iter().map(|p| format!("{}: {}", p.name, named(resolve, &p.ty)));
    let result = function.result.as_ref().map(|ty| format!(" -> {}", named(resolve, ty))).unwrap_or_default();
    format!("func({}){result}", params.collect::<Vec<_>>().join(", "))
}

fn definition(resolve: &Resolve, ty: &TypeDef) -> String {
    let with = |ty: Option<&Type>| ty.map(|ty| format!("({})", named(resolve, ty))).unwrap_or_default();
    let braced = |word: &str, parts: Vec<String>| format!("{word} {{ {} }}", parts.join(", "));
    match &ty.kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|f| format!("{}: {}", f.name, named(resolve, &f.ty)));
            braced("record", fields.collect())
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|c| format!("{}{}", c.name, with(c.ty.as_ref())));
            braced("variant", cases.collect())
        }
        TypeDefKind::Enum(cases) => braced("enum", cases.cases.iter().map(|c| c.name.clone()).collect()),
        TypeDefKind::Flags(flags) => braced("flags", flags.flags.iter().map(|f| f.name.clone()).collect()),
        TypeDefKind::Option(ty) => format!("option<{}>", named(resolve, ty)),
        TypeDefKind::List(ty) => format!("list<{}>", named(resolve, ty)),
        TypeDefKind::FixedLengthList(ty, len) => format!("list<{}, {len}>", named(resolve, ty)),
        TypeDefKind::Map(key, value) => format!("map<{}, {}>", named(resolve, key), named(resolve, value)),
        TypeDefKind::Tuple(tuple) => {
            let parts: Vec<String> = tuple.types.iter().map(|ty| named(resolve, ty)).collect();
            format!("tuple<{}>", parts.join(", "))
        }
        TypeDefKind::Result(result) => {
            let side = |ty: Option<&Type>| ty.map_or_else(|| "_".to_owned(), |ty| named(resolve, ty));
            format!("result<{}, {}>", side(result.ok.as_ref()), side(result.err.as_ref()))
        }
        TypeDefKind::Handle(Handle::Own(id) | Handle::Borrow(id)) => {
            let name = resolve.types.get(*id).and_then(|ty| ty.name.clone());
            format!("handle<{}>", name.unwrap_or_default())
        }
        // An alias says what it stands for, since a component may say either.
        TypeDefKind::Type(ty) => named(resolve, ty),
        TypeDefKind::Resource | TypeDefKind::Future(_) | TypeDefKind::Stream(_) | TypeDefKind::Unknown => {
            ty.kind.as_str().to_owned()
        }
    }
}

/// A type where it is used: records and the like by their names.
fn named(resolve: &Resolve, ty: &Type) -> String {
    let Type::Id(id) = ty else { return format!("{ty:?}").to_lowercase() };
    let Some(ty) = resolve.types.get(*id) else { return "?".to_owned() };
    match (&ty.name, &ty.kind) {
        (Some(name), kind) if !matches!(kind, TypeDefKind::Type(_)) => name.clone(),
        (_, _) => definition(resolve, ty),
    }
}
