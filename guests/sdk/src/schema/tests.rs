//! What fits and what does not, by keyword; and schemas that say what is not checked.

use super::*;
use crate::json;

fn value(text: &str) -> Value {
    json::read(text).unwrap()
}

/// The problems as `path: keyword`.
fn told(schema: &str, instance: &str) -> String {
    let found = problems(&value(instance), &value(schema));
    found.iter().map(|one| format!("{}:{}", one.path.join("/"), one.keyword)).collect::<Vec<_>>().join(" ")
}

fn fits(schema: &str, good: &[&str], bad: &[&str]) {
    for instance in good {
        assert_eq!(told(schema, instance), "", "{schema} takes {instance}");
    }
    for instance in bad {
        assert_ne!(told(schema, instance), "", "{schema} refuses {instance}");
    }
}

#[test]
fn scalars() {
    fits("{\"type\":\"integer\"}", &["1", "1.0", "-5", "100000000000000000000"], &["1.5", "\"1\"", "true", "null"]);
    fits("{\"type\":[\"string\",\"null\"]}", &["\"\"", "null"], &["0", "[]"]);
    fits("{\"enum\":[1,\"a\",null,[1]]}", &["1.0", "\"a\"", "null", "[1.0]"], &["true", "\"1\"", "[true]"]);
    fits("{\"const\":false}", &["false"], &["0", "null"]);
    fits("{\"minimum\":1,\"exclusiveMaximum\":2.5}", &["1", "2.4", "\"x\""], &["0.9", "2.5"]);
    fits("{\"multipleOf\":0.01}", &["19.99", "0", "-3"], &["0.005"]);
    fits("{\"minLength\":2,\"maxLength\":3}", &["\"äö\"", "\"🙂🙂🙂\"", "5"], &["\"a\"", "\"abcd\""]);
    fits("{\"pattern\":\"^a+$\"}", &["\"aa\"", "1"], &["\"ab\""]);
    fits("false", &[], &["1", "null"]);
    fits("{\"maximum\":9007199254740992}", &["9007199254740992"], &["9007199254740993"]);
}

#[test]
fn objects_and_lists() {
    let schema = "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"integer\"}},\
                  \"patternProperties\":{\"^x-\":{\"type\":\"string\"}},\"additionalProperties\":false}";
    fits(schema, &["{\"a\":1}", "{\"a\":1,\"x-b\":\"\"}"], &["{}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"x-b\":2}", "[]"]);
    assert_eq!(told(schema, "{\"b\":1}"), "a:required b:additionalProperties");
    assert_eq!(told("{\"items\":{\"type\":\"string\"}}", "[\"a\",1,null]"), "1:type 2:type");
    fits("{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", &["[\"a\"]", "[]"], &["[1]", "[\"a\",2]"]);
    fits("{\"contains\":{\"const\":1},\"maxContains\":1}", &["[1,2]"], &["[]", "[2]", "[1,1]"]);
    fits("{\"uniqueItems\":true}", &["[1,true]"], &["[1,1.0]", "[{\"a\":1},{\"a\":1}]"]);
    fits("{\"minItems\":1,\"maxItems\":1}", &["[1]"], &["[]", "[1,2]"]);
    fits("{\"minProperties\":1,\"propertyNames\":{\"maxLength\":1}}", &["{\"a\":1}"], &["{}", "{\"ab\":1}"]);
    fits("{\"dependentRequired\":{\"a\":[\"b\"]}}", &["{\"a\":1,\"b\":2}", "{\"b\":1}"], &["{\"a\":1}"]);
    fits("{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", &["{}"], &["{\"a\":1}"]);
}

#[test]
fn combined() {
    fits("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", &["\"a\"", "3"], &["2"]);
    fits("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":3}]}", &["1", "3.5"], &["4", "2.5"]);
    fits("{\"allOf\":[{\"minimum\":1},{\"maximum\":2}],\"not\":{\"const\":1.5}}", &["1", "2"], &["0", "1.5"]);
    let schema = "{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}";
    fits(schema, &["{\"a\":1,\"b\":1}", "{\"a\":2,\"c\":1}"], &["{\"a\":1}", "{\"a\":2}"]);
    let tree = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"l\":{\"$ref\":\"#/$defs/t\"}}}}}";
    fits(tree, &["{}", "{\"l\":{\"l\":{}}}"], &["{\"l\":{\"l\":1}}"]);
    // A schema that is nothing but itself ends, and fits nothing.
    fits("{\"$ref\":\"#\"}", &[], &["1"]);
}

#[test]
fn what_is_not_checked_is_told() {
    let told = |schema: &str| {
        let found = faults(&value(schema));
        found.iter().map(|one| format!("{}: {}", one.path.join("/"), one.message)).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        told("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"int\"}}}"),
        "properties/a/type: there is no type `int`"
    );
    assert_eq!(told("{\"requried\":[]}"), "requried: is a word that is not checked");
    assert_eq!(faults(&value("{\"requried\":[]}")).first().unwrap().help.as_deref(), Some("did you mean `required`?"));
    assert!(told("{\"pattern\":\"(?=a)\"}").contains("regular expression"));
    assert!(told("{\"$ref\":\"other.json\"}").contains("this same schema"));
    assert!(told("{\"minLength\":-1}").contains("from 0 on") && told("{\"items\":5}").contains("a schema is"));
    assert_eq!(
        told("{\"title\":\"x\",\"default\":1,\"format\":\"email\",\"x-mine\":1,\"items\":{},\"$defs\":{\"a\":true}}"),
        ""
    );
}

#[test]
fn defaults_are_filled_at_every_level() {
    let schema = value(
        "{\"properties\":{\"a\":{\"default\":1},\"b\":{\"properties\":{\"c\":{\"default\":[]}}},\
         \"d\":{\"items\":{\"properties\":{\"e\":{\"default\":null}}}}}}",
    );
    let full = with_defaults(value("{\"b\":{},\"d\":[{},{\"e\":1}]}"), &schema);
    assert_eq!(json::text(&full), "{\"b\":{\"c\":[]},\"d\":[{\"e\":null},{\"e\":1}],\"a\":1}");
    assert_eq!(json::text(&with_defaults(value("5"), &schema)), "5");
}
