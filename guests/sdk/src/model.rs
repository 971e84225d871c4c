//! The contract's words under one roof: the records that host and interpreter exchange, as generated from the WIT file.

pub use crate::bindings::exports::wfhost::engine::engine::{
    Action, Audience, Bundle, Call, Compiled, Definition, Diagnostic, Document, Edge, Entry, Event, Failure, Graph,
    Input, Interpreter, Journal, Keeping, Kept, Memory, Mishap, Moment, Need, Node, Output, Page, Past, Position,
    Question, Recalled, Refusal, Reply, Request, Run, RunQuery, Server, Session, Severity, Shape, Source, Span, Target,
    Tool, ToolCall, Turn, View, ViewCall, Workflow, WorkflowCall,
};
