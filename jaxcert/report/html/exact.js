"use strict";
// What an exact check needs: decimals, JSON whose numbers stay as they are written, and SHA-256. A number is the decimal
// that is written, n / 10**k with whole n; nothing is rounded.

class Refused extends Error {}

function need(holds, words) {
  if (!holds) throw new Refused(words);
}

// Decimals -----------------------------------------------------------------------------------------------------------

const DECIMAL = /^(-?)(?:([0-9]{1,400})\.?([0-9]{0,400})|\.([0-9]{1,400}))(?:[eE]([+-]?[0-9]{1,3}))?$/;
const tens = (k) => 10n ** BigInt(k);
const decimal = (n, k = 0) => (k < 0 ? { n: n * tens(-k), k: 0 } : { n, k });
const [ZERO, ONE] = [decimal(0n), decimal(1n)];

/** A number that was written, as the decimal it is. */
function number(written) {
  const parts = written instanceof Written ? DECIMAL.exec(written.text) : null;
  need(parts, `${String(written?.text ?? written).slice(0, 40)} stands for a finite number`);
  const [, sign, whole = "", fraction = parts[4] ?? "", , power = "0"] = parts;
  return decimal(BigInt(`${sign}${whole}${fraction}`), fraction.length - Number(power));
}

const scaled = (x, k) => x.n * tens(k - x.k);
const finest = (...xs) => xs.reduce((k, x) => Math.max(k, x.k), 0);
const times = (x, y) => decimal(x.n * y.n, x.k + y.k);

function minus(x, y) {
  const k = finest(x, y);
  return decimal(scaled(x, k) - scaled(y, k), k);
}

const plus = (x, y) => minus(x, decimal(-y.n, y.k));
const atMost = (x, y) => minus(x, y).n <= 0n;
const less = (x, y) => minus(x, y).n < 0n;
const same = (x, y) => minus(x, y).n === 0n;
const key = (x) => `${x.n}/${x.k}`;

function whole(written) {
  const x = number(written);
  need(x.n % tens(x.k) === 0n, `${written.text} stands for a whole number`);
  return Number(x.n / tens(x.k));
}

// What is written ----------------------------------------------------------------------------------------------------

class Written {
  constructor(text) {
    this.text = text;
  }
}

/** JSON, with numbers as they are written and no name twice. */
function parsed(text) {
  const token =
    /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))/y;
  let found;
  const next = () => {
    found = token.exec(text);
    need(found, "it is not JSON, or cut short");
    return found;
  };
  const is = (mark) => next()[1] === mark;
  const string = () => {
    need(found[2] !== undefined, "a name is no text");
    return JSON.parse(found[2]);
  };
  const value = () => {
    if (found[1] === "[") return list();
    if (found[1] === "{") return object();
    if (found[3] !== undefined) return new Written(found[3]);
    need(found[1] === undefined, "a value is missing");
    return JSON.parse(found[2] ?? found[4]);
  };
  const list = () => {
    const held = [];
    if (is("]")) return held;
    for (;;) {
      held.push(value());
      if (is("]")) return held;
      need(found[1] === ",", "a list has no comma");
      next();
    }
  };
  const object = () => {
    const held = Object.create(null);
    if (is("}")) return held;
    for (;;) {
      const name = string();
      need(!(name in held), "a name twice");
      need(is(":"), "a name has no value");
      next();
      held[name] = value();
      if (is("}")) return held;
      need(found[1] === ",", "an object has no comma");
      next();
    }
  };
  next();
  const whole = value();
  need(/^[ \t\n\r]*$/.test(text.slice(token.lastIndex)), "something follows its end");
  return whole;
}

/** A number as Python writes it: a whole one without leading sign of nought, another one as the shortest double. */
function rewritten(text) {
  if (/^-?[0-9]+$/.test(text)) return String(BigInt(text));
  const [, sign, first, rest, power] = /^(-?)([0-9])\.?([0-9]*)e([+-][0-9]+)$/.exec(Number(text).toExponential()) ?? [];
  need(power, `${text.slice(0, 40)} stands for a finite number`);
  const [digits, at] = [first + rest, Number(power)];
  const minus = sign || (Object.is(Number(text), -0) ? "-" : "");
  if (at < -4 || at >= 16) return `${minus}${first}${rest && `.${rest}`}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  if (at < 0) return `${minus}0.${"0".repeat(-at - 1)}${digits}`;
  return `${minus}${digits.slice(0, at + 1).padEnd(at + 1, "0")}.${digits.slice(at + 1) || "0"}`;
}

/** The one text of a value that its digest is of: names in order, no space, ASCII. */
function canonical(value) {
  if (value instanceof Written) return rewritten(value.text);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.keys(value).sort();
    return `{${entries.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  const code = (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, code);
}

/** SHA-256 of a text in UTF-8 (FIPS 180-4), whose constants are fractions of roots of the first primes. */
function sha256(text) {
  const root = (x, power) => {
    let [low, high] = [0n, 1n << 48n];
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      [low, high] = middle ** power <= x ? [middle, high] : [low, middle];
    }
    return Number(low & 0xffffffffn) | 0;
  };
  const primes = [];
  for (let p = 2; primes.length < 64; p += 1) if (primes.every((q) => p % q)) primes.push(p);
  const steps = primes.map((p) => root(BigInt(p) << 96n, 3n));
  const state = primes.slice(0, 8).map((p) => root(BigInt(p) << 64n, 2n));
  const bytes = new TextEncoder().encode(text);
  const blocks = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  bytes.forEach((byte, i) => blocks.setUint8(i, byte));
  blocks.setUint8(bytes.length, 0x80);
  blocks.setBigUint64(blocks.byteLength - 8, BigInt(bytes.length) * 8n);
  const turned = (x, by) => (x >>> by) | (x << (32 - by));
  for (let start = 0; start < blocks.byteLength; start += 64) {
    const w = Array.from({ length: 16 }, (_, i) => blocks.getInt32(start + 4 * i));
    for (let i = 16; i < 64; i += 1) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const [left, right] = [turned(x, 7) ^ turned(x, 18) ^ (x >>> 3), turned(y, 17) ^ turned(y, 19) ^ (y >>> 10)];
      w.push((w[i - 16] + left + w[i - 7] + right) | 0);
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const rest = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + steps[i] + w[i]) | 0;
      const most = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(rest + most) | 0, a, b, c, (d + rest) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] = (state[i] + x) | 0));
  }
  return state.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}
