// The fields of a form made from a JSON Schema.

import { useId } from "preact/hooks";
import { type Field as Kind, type Typed, field } from "../app/form.ts";
import { type Json, Num, get, text, write } from "../engine/json.ts";

interface Props {
  label: string;
  schema: Json | undefined;
  typed: Typed;
  change: (typed: Typed) => void;
  required?: boolean;
  /** Where what was typed does not fit, and why. */
  unfit?: { path: string; reason: string };
  path?: string;
}

export function Field(props: Props) {
  const { label, schema, typed, change, required = false, unfit, path = "" } = props;
  const id = useId();
  const kind = field(schema);
  const told = text(get(schema, "description"));
  const wrong = unfit?.path === path ? unfit.reason : undefined;
  const described = [told !== undefined ? `${id}-told` : "", wrong !== undefined ? `${id}-wrong` : ""].filter(Boolean).join(" ");
  const common = { id, "aria-describedby": described || undefined, "aria-invalid": wrong !== undefined, "aria-required": required };
  const hints = (
    <>
      {told !== undefined && <small id={`${id}-told`} class="hint">{told}</small>}
      {wrong !== undefined && <small id={`${id}-wrong`} class="wrong" role="alert">{wrong}</small>}
    </>
  );
  const name = <>{label}{!required && <span class="dim"> (may be left out)</span>}</>;

  if (kind.kind === "object") {
    const now = typed && typeof typed === "object" && !Array.isArray(typed) ? typed : {};
    return (
      <fieldset class={path === "" ? "bare" : ""}>
        <legend class={path === "" && label === "" ? "hidden" : ""}>{label}</legend>
        {hints}
        {kind.members.map(({ key, schema: s, required: r }) => (
          <Field key={key} label={text(get(s, "title")) ?? key} schema={s} required={r} typed={now[key]} unfit={unfit} path={`${path}/${key}`}
            change={(one) => change({ ...now, [key]: one })} />
        ))}
      </fieldset>
    );
  }
  if (kind.kind === "choice" && kind.choices.length <= 6) {
    return (
      <fieldset class="choices" aria-describedby={described || undefined} aria-invalid={wrong !== undefined}>
        <legend>{name}</legend>
        {kind.choices.map(({ value, title }) => (
          <label key={write(value)} class="choice">
            <input type="radio" name={id} checked={typed === write(value)} onChange={() => change(write(value))} /> {title}
          </label>
        ))}
        {hints}
      </fieldset>
    );
  }
  if (kind.kind === "choices") {
    const now = Array.isArray(typed) ? typed : [];
    const flip = (one: string) => change(now.includes(one) ? now.filter((t) => t !== one) : [...now, one]);
    return (
      <fieldset class="choices">
        <legend>{name}</legend>
        {kind.choices.map(({ value, title }) => (
          <label key={write(value)} class="choice">
            <input type="checkbox" checked={now.includes(write(value))} onChange={() => flip(write(value))} /> {title}
          </label>
        ))}
        {hints}
      </fieldset>
    );
  }
  if (kind.kind === "list") return <List {...props} item={kind.item} hints={hints} />;
  if (kind.kind === "flag") {
    return (
      <div class="field">
        <label class="choice"><input type="checkbox" {...common} checked={typed === true} onChange={(e) => change(e.currentTarget.checked)} /> {label}</label>
        {hints}
      </div>
    );
  }
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <Input kind={kind} common={common} typed={typed} change={change} schema={schema} />
      {hints}
    </div>
  );
}

interface InputProps { kind: Kind; common: object; typed: Typed; change: (typed: Typed) => void; schema: Json | undefined }

function Input({ kind, common, typed, change, schema }: InputProps) {
  const now = typeof typed === "string" ? typed : "";
  if (kind.kind === "choice") {
    return (
      <select {...common} value={now} onChange={(e) => change(e.currentTarget.value)}>
        <option value="">choose…</option>
        {kind.choices.map(({ value, title }) => <option key={write(value)} value={write(value)}>{title}</option>)}
      </select>
    );
  }
  if (kind.kind === "any" || (kind.kind === "text" && kind.long)) {
    return <textarea {...common} rows={kind.kind === "any" ? 2 : 4} spellcheck={false} value={now}
      placeholder={kind.kind === "any" ? "JSON, or plain text" : undefined} onInput={(e) => change(e.currentTarget.value)} />;
  }
  const standing = get(schema, "default");
  const hint = typeof standing === "string" ? standing : standing instanceof Num ? standing.text : undefined;
  return <input {...common} type="text" inputMode={kind.kind === "number" ? "decimal" : undefined} autocomplete="off" value={now}
    placeholder={hint} onInput={(e) => change(e.currentTarget.value)} />;
}

function List({ label, typed, change, required, unfit, path = "", item, hints }: Props & { item: Json; hints: preact.ComponentChildren }) {
  // One that is needed begins with an item.
  const now = Array.isArray(typed) ? typed : required ? [undefined] : [];
  const put = (at: number, one: Typed) => change(now.map((t, n) => (n === at ? one : t)));
  return (
    <fieldset>
      <legend>{label}</legend>
      {hints}
      {now.map((one, n) => (
        <div class="item" key={n}>
          <Field label={`${label} ${n + 1}`} schema={item} required typed={one} change={(t) => put(n, t)} unfit={unfit} path={`${path}/${n}`} />
          <button type="button" class="quiet" aria-label={`Remove ${label} ${n + 1}`} onClick={() => change(now.filter((_, m) => m !== n))}>Remove</button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => change([...now, undefined])}>Add one</button>
    </fieldset>
  );
}
