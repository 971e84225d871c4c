//! Runs of the flows beside this crate, and the rules that no case pins.

use wfhost_guest::json;
use wfhost_guest::model::{Failure, Mishap, Need, Source};
use wfhost_guest::value::Value;

use super::{call, fine, host, lines, member};

const PAYMENT: (&str, &str) = ("payment_failed", include_str!("../../flows/payment_failed.yaml"));
const RETURN: (&str, &str) = ("возврат", include_str!("../../flows/возврат.yaml"));
const CARD: (&str, &str) = ("بطاقة_مفقودة", include_str!("../../flows/بطاقة_مفقودة.yaml"));

const JAPANESE: &str = "\
id: 配送
title: 荷物が届かない
entry: 状況
nodes:
  - {id: 状況, kind: ask, say: 追跡画面に何と出ているか, accepts: {配達済み: 届いたことになっている, 輸送中: まだ途中}, next: {配達済み: 近所, 輸送中: 待つ}}
  - {id: 近所, kind: tell, say: 家族や隣の人に聞いてもらう, next: 連絡先}
  - {id: 待つ, kind: tell, say: あと二日待ってもらう, next: 連絡先}
  - {id: 連絡先, kind: collect, say: 連絡先を聞く, slots: {電話: {ask: 電話番号, required: true}}, next: 終}
  - {id: 終, kind: end, outcome: 受付, say: 受付完了}
";

fn run(value: &Value) -> String {
    value.get("run_id").and_then(Value::as_str).unwrap().to_owned()
}

#[test]
fn the_flows_beside_this_crate_say_nothing_of_themselves() {
    for (id, text) in [PAYMENT, RETURN, CARD] {
        let compiled = super::compiled(id, text);
        assert_eq!(compiled.definitions.len(), 1, "{:#?}", compiled.diagnostics);
        assert!(compiled.diagnostics.is_empty(), "{:?}", lines(&compiled.diagnostics));
    }
}

#[test]
fn a_failed_payment_is_guided_to_a_call_back() {
    let mut host = host(&[PAYMENT]);
    let start = fine(
        &mut host,
        "guide_start",
        r#"{"flow_id":"payment_failed","values":{"method":"card","order_number":"10203040"}}"#,
    );
    let run = run(&start);
    assert_eq!(member(&start, "version"), "\"1.2\"");
    let answer = |more: &str| format!("{{\"run_id\":\"{run}\"{more}}}");
    let reply = fine(&mut host, "guide_answer", &answer(r#","choice":"not_taken""#));
    assert_eq!(
        (member(&reply, "skipped"), member(reply.get("node").unwrap(), "id")),
        ("[\"method\"]".into(), "\"message\"".into())
    );
    let reply = fine(&mut host, "guide_answer", &answer(r#","choice":"it was red""#));
    assert_eq!(member(&reply, "unmatched"), r#"{"count":1,"max":2}"#);
    assert!(member(&reply, "next").starts_with(r#""No label fits that answer (1 of 2). Ask again.\nQuestion: "#));
    let reply = fine(&mut host, "guide_answer", &answer(r#","choice":"still red""#));
    assert_eq!(member(&reply, "status"), "\"advanced\"", "the second miss takes the way of the unknown");
    fine(&mut host, "guide_answer", &answer(""));
    let reply = fine(&mut host, "guide_answer", &answer(r#","choice":"fails""#));
    assert!(
        !member(&reply, "node").contains("order_number"),
        "what was given at the start is not asked: {}",
        member(&reply, "node")
    );
    let reply = fine(&mut host, "guide_answer", &answer(r#","values":{"phone":"555"}"#));
    assert_eq!((member(&reply, "outcome"), member(&reply, "done")), ("\"callback\"".into(), "true".into()));
    let trace = fine(&mut host, "guide_trace", &answer(""));
    assert_eq!(trace.get("trace").and_then(Value::as_list).map(<[Value]>::len), Some(7), "a record for every call");
    let first = &trace.get("trace").and_then(Value::as_list).unwrap()[0];
    assert_eq!((member(first, "call"), member(first, "to")), ("\"start\"".into(), "\"money_taken\"".into()));
    let second = &trace.get("trace").and_then(Value::as_list).unwrap()[1];
    let passed = r#"[{"node":"money_taken","label":"not_taken","by":"answer","to":"method"},{"node":"method","label":"card","by":"value","to":"message"}]"#;
    assert_eq!(member(second, "passed"), passed);
    let all = fine(&mut host, "guide_sessions", r#"{"unfinished":false}"#);
    assert!(json::text(&all).contains(r#""state":"completed","outcome":"callback""#));
}

#[test]
fn any_script_is_compared_exactly_and_reads_well() {
    let mut host = host(&[RETURN, CARD, ("配送", JAPANESE)]);
    let reply = fine(
        &mut host,
        "guide_start",
        r#"{"flow_id":"возврат","values":{"причина":"не_подошло","срок":"в_срок","телефон":"5"}}"#,
    );
    assert_eq!(member(&reply, "skipped"), r#"["причина","срок"]"#);
    let reply = fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{}","choice":"__unknown__"}}"#, run(&reply)));
    assert_eq!((member(&reply, "status"), member(&reply, "common")), ("\"branched\"".into(), "\"данные\"".into()));
    let next = reply.get("next").and_then(Value::as_str).unwrap();
    assert!(next.contains("\n- на месте: сдать в любой пункт выдачи, назвав номер заказа; деньги"), "{next}");
    assert!(next.contains("In any case, then:\nNeeded: что нужно для заявки"), "{next}");
    let reply = fine(&mut host, "guide_start", r#"{"flow_id":"بطاقة_مفقودة"}"#);
    let reply = fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{}","choice":"__unknown__"}}"#, run(&reply)));
    assert_eq!((member(&reply, "common"), member(&reply, "branches")), ("\"إيقاف\"".into(), "[]".into()));
    let reply = fine(&mut host, "guide_start", r#"{"flow_id":"配送","values":{"電話":"03"}}"#);
    let reply = fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{}","choice":"__unknown__"}}"#, run(&reply)));
    assert_eq!(
        (member(&reply, "outcome"), member(&reply, "done"), member(&reply, "skipped")),
        ("\"受付\"".into(), "true".into(), r#"["連絡先"]"#.into())
    );
    let (is_error, _) = call(&mut host, "guide_start", r#"{"flow_id":"возврaт"}"#);
    assert!(is_error, "a Latin letter in a Russian word is another word");
}

#[test]
fn status_tells_what_the_last_reply_told() {
    let mut host = host(&[("配送", JAPANESE), PAYMENT]);
    let mut check = |tool: &str, args: &str| {
        let reply = fine(&mut host, tool, args);
        let status = fine(&mut host, "guide_status", &format!(r#"{{"run_id":"{}"}}"#, run(&reply)));
        for (key, value) in reply.as_map().unwrap().iter() {
            let told = status.get("last").and_then(|last| last.get(key)).or_else(|| status.get(key));
            assert_eq!(told.map(json::text), Some(json::text(value)), "{key}");
        }
        run(&reply)
    };
    let id = check("guide_start", r#"{"flow_id":"配送","values":{"x":"y"}}"#);
    check("guide_answer", &format!(r#"{{"run_id":"{id}","choice":"?"}}"#));
    check("guide_answer", &format!(r#"{{"run_id":"{id}","choice":"__unknown__"}}"#));
    check("guide_answer", &format!(r#"{{"run_id":"{id}","choice":"__unknown__"}}"#));
    let id = check("guide_start", r#"{"flow_id":"payment_failed"}"#);
    check("guide_answer", &format!(r#"{{"run_id":"{id}","choice":"__unknown__"}}"#));
}

#[test]
fn values_are_sorted_out_with_reasons() {
    let mut host = host(&[PAYMENT]);
    let start = fine(
        &mut host,
        "guide_start",
        r#"{"flow_id":"payment_failed","values":{"phone":" ","amount":null,"shown_at":[1],"retry":"no","nowhere":1,"money_taken":"not_taken"}}"#,
    );
    let want = [
        ("phone", "empty"),
        ("amount", "empty"),
        ("shown_at", "not_a_scalar"),
        ("retry", "not_accepted"),
        ("nowhere", "unknown_key"),
    ];
    let want: Vec<String> = want.map(|(key, why)| format!(r#"{{"key":"{key}","reason":"{why}"}}"#)).to_vec();
    assert_eq!(member(&start, "rejected"), format!("[{}]", want.join(",")));
    let id = run(&start);
    let reply = fine(
        &mut host,
        "guide_answer",
        &format!(r#"{{"run_id":"{id}","choice":"card","values":"{{\"money_taken\":\"taken\",\"method\":\"bank\"}}"}}"#),
    );
    let passed = |key: &str| format!(r#"{{"key":"{key}","reason":"already_passed"}}"#);
    assert_eq!(member(&reply, "rejected"), format!("[{},{}]", passed("money_taken"), passed("method")));
    assert_eq!(member(&reply, "collected"), r#"{"money_taken":"not_taken","method":"card"}"#);
}

#[test]
fn wrong_calls_are_errors_that_say_the_cure() {
    let mut host = host(&[PAYMENT]);
    let id = run(&fine(&mut host, "guide_start", r#"{"flow_id":"payment_failed","values":{"money_taken":"taken"}}"#));
    let mut check = |tool: &str, args: String, want: &str| {
        let (is_error, value) = call(&mut host, tool, &args);
        assert!(is_error && json::text(&value).contains(want), "{args}: {}", json::text(&value));
    };
    check("guide_start", r#"{"flowid":"payment_failed"}"#.into(), "did you mean `flow_id`?");
    check("guide_start", r#"{"flow_id":"payment_faild"}"#.into(), r#""flows":["payment_failed"]"#);
    check("guide_answer", format!(r#"{{"run_id":"{id}","choice":{{}}}}"#), "`choice` must be a label");
    check("guide_answer", format!(r#"{{"run_id":"{id}"}}"#), r#""error":"missing_answer""#);
    check(
        "guide_answer",
        format!(r#"{{"run_id":"{id}","choice":"card"}}"#),
        r#""slots":["order_number","amount","shown_at"]"#,
    );
    check("guide_answer", "[]".into(), "must be an object");
    check("guide_status", r#"{"run_id":"nope"}"#.into(), r#""error":"unknown_run""#);
    check("guide_trace", format!(r#"{{"run_id":"{id}","limit":0}}"#), "`limit` must be a whole number from 1");
    check("guide_sessions", r#"{"flow_id":"x"}"#.into(), r#""error":"unknown_flow""#);
}

#[test]
fn tools_say_what_they_take_and_give() {
    for tool in crate::tools::all() {
        let (input, output) =
            (json::read(&tool.input_schema).unwrap(), json::read(&tool.output_schema.unwrap()).unwrap());
        assert_eq!(
            (member(&input, "type"), member(&output, "type")),
            ("\"object\"".into(), "\"object\"".into()),
            "{}",
            tool.name
        );
        // A client that checks structured content checks that of an error too.
        assert!(member(&output, "anyOf").ends_with(r#"{"required":["error","message"]}]"#), "{}", tool.name);
        assert!(
            output.get("required").is_none() && output.get("properties").and_then(|all| all.get("error")).is_some()
        );
    }
}

#[test]
fn an_operator_can_answer_what_is_open() {
    let mut host = host(&[PAYMENT]);
    let id = run(&fine(&mut host, "guide_start", r#"{"flow_id":"payment_failed"}"#));
    let open = |host: &super::Host<crate::Guides>| host.sessions[&id].requests[0].clone();
    let request = open(&host);
    assert!(matches!(&request.need, Need::Answer(question) if question.schema.contains("not_taken")));
    let failure = Failure { kind: Mishap::Declined, message: "no".to_owned(), detail: None };
    host.reply(&id, &request.id, Err(failure), Source::Human).unwrap();
    assert_eq!(open(&host), request, "a question that was declined stays open");
    host.reply(&id, &request.id, Ok("\"what?\"".to_owned()), Source::Operator).unwrap();
    assert_ne!(open(&host).id, request.id, "it is asked again, as another request");
    let request = open(&host);
    host.reply(&id, &request.id, Ok("\"taken\"".to_owned()), Source::Operator).unwrap();
    let request = open(&host);
    host.reply(&id, &request.id, Ok(r#"{"order_number":1,"amount":2.5}"#.to_owned()), Source::Operator).unwrap();
    let outcome = host.sessions[&id].outcome.clone().unwrap().unwrap();
    assert!(outcome.contains(r#""outcome":"traced""#) && outcome.contains(r#""amount":"2.5""#), "{outcome}");
}

#[test]
fn a_run_that_goes_round_for_long_stays_small() {
    let ring = "id: r\ntitle: t\nentry: a\nnodes:\n  - {id: a, kind: ask, say: s, accepts: {on: x, out: y}, next: {on: t, out: e}}\n  - {id: t, kind: tell, say: s, next: a}\n  - {id: e, kind: end, outcome: o, say: s}\n";
    let mut host = host(&[("r", ring)]);
    let id = run(&fine(&mut host, "guide_start", r#"{"flow_id":"r"}"#));
    for _ in 0..600 {
        fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{id}","choice":"on"}}"#));
        fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{id}"}}"#));
    }
    assert!(host.sessions[&id].state.len() < 4_000, "{}", host.sessions[&id].state.len());
    let reply = fine(&mut host, "guide_answer", &format!(r#"{{"run_id":"{id}","choice":"out"}}"#));
    assert_eq!(member(&reply, "status"), "\"completed\"");
}
