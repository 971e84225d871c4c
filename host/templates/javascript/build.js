// Builds {{name}}.wasm: the JavaScript engine with dialect.js inside. All features that would need the outside are left out,
// so the component imports nothing; Math.random and Date are then of no use, as they must be.
import { readFile, writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

// The guide for models goes in as a constant: a component has no files to read.
const skill = JSON.stringify(await readFile('SKILL.md', 'utf8'));
const dialect = await readFile('dialect.js', 'utf8');
const { component } = await componentize(`const SKILL = ${skill};\n${dialect}`, {
  witWorld: await readFile('wit/engine.wit', 'utf8'),
  worldName: 'interpreter',
  disableFeatures: ['random', 'stdio', 'clocks', 'http', 'fetch-event'],
});
await writeFile('{{name}}.wasm', component);
console.log(`{{name}}.wasm: ${component.length} bytes`);
