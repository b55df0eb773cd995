"use strict";
// The page's own certificate and returns, checked when the button is pressed, and what the page says beside them.

const WORDS = new Map([
  ...["true", "yes", "pass", "passed", "success"].map((word) => [word, "1"]),
  ...["false", "no", "fail", "failed", "failure"].map((word) => [word, "0"]),
]);

/** The rows of a table whose columns are separated by a mark; quoted entries may hold anything. */
function table(text, mark) {
  const [rows, entry] = [[], new RegExp(`(?:"((?:[^"]|"")*)"|([^"${mark}\\r\\n][^${mark}\\r\\n]*)?)(${mark}|\\r\\n|\\r|\\n|$)`, "y")];
  let row = [];
  while (entry.lastIndex < text.length || row.length) {
    const found = entry.exec(text);
    need(found, "the table of returns is broken");
    row.push(found[1] === undefined ? (found[2] ?? "") : found[1].replaceAll('""', '"'));
    if (found[3] === mark) continue;
    if (row.length > 1 || row[0] !== "" || found[1] !== undefined) rows.push(row);
    row = [];
  }
  return rows;
}

/** A cell without the white space around it, which is what Python's str.strip removes. */
function stripped(cell) {
  return cell.replace(/^(?:(?!\ufeff)[\s\u001c-\u001f\u0085])+|(?:(?!\ufeff)[\s\u001c-\u001f\u0085])+$/g, "");
}

/** The returns of each task, in the order in which tasks first appear. */
function readCsv(text, columns) {
  need("episode" in columns && columns.task && columns.value, "it does not say which columns were read");
  const names = [columns.task, columns.value, columns.episode].filter(Boolean);
  let mark, header, rows;
  for (mark of [",", ";", "\t"]) {
    [header = [], ...rows] = table(text.replace(/^\ufeff/, ""), mark);
    if (names.every((name) => header.filter((each) => each === name).length === 1)) break;
  }
  const tasks = new Map();
  rows.forEach((row, i) => {
    need(row.length === header.length, `row ${i + 1} of the returns has other columns`);
    const task = row[header.indexOf(columns.task)];
    const [, value, episode = i] = names.map((name) => stripped(row[header.indexOf(name)]));
    if (!tasks.has(task)) tasks.set(task, new Map());
    need(!tasks.get(task).has(episode), `row ${i + 1} of the returns: its episode occurs twice`);
    const written = WORDS.get(value.toLowerCase()) ?? (mark === "," ? value : value.replaceAll(",", "."));
    tasks.get(task).set(episode, number(new Written(written)));
  });
  need(new Set([...tasks.keys()].map(stripped)).size === tasks.size, "labels of tasks differ in blanks alone");
  return [...tasks.values()].map((held) => [...held.values()]);
}

/** What a record says of itself, compared with its returns. */
function caseOf(record, returns) {
  need(STATEMENTS.has(record.question), `the question ${record.question} is not checked`);
  const [settings, data, [each]] = [record.settings, record.data, STATEMENTS.get(record.question)];
  need(record.fixed_beforehand === each && record.note === NOTE(each), "its note is another one");
  const odd = settings.simultaneous || ![undefined, null, true].includes(settings.complete);
  need(!odd && !("others" in record) && !("divergence" in settings), "its settings are of other statements");
  need(returns.isWellFormed(), "the returns hold half a character, which has no UTF-8");
  need(data.sha256 === sha256(returns), "the returns are not those that it was made from");
  const tasks = readCsv(returns, data.columns);
  const sizes = tasks.map((task) => task.length);
  const [least, most] = [Math.min, Math.max].map((end) => sizes.reduce((x, y) => end(x, y), sizes[0]));
  const found = [tasks.length, least, most, sizes.reduce((x, y) => x + y, 0)];
  const { min, max, total } = data.num_rollouts;
  const stated = [settings.num_tasks, min, max, total].map(whole);
  need(stated.join() === found.join(), `its numbers of tasks and rollouts are ${stated}, of the returns ${found}`);
  const [low, high] = settings.support.map((end) => (end === null ? null : number(end)));
  const inside = (x) => atMost(low, x) && (high === null || atMost(x, high));
  tasks.forEach((task, i) => need(task.every(inside), `task ${i + 1} has a return beyond the support`));
  const ofCoins = same(low, ZERO) && high !== null && same(high, ONE);
  const binary = ofCoins && tasks.every((task) => task.every((x) => same(x, ZERO) || same(x, ONE)));
  return { tasks, low, high, delta: number(settings.delta), settings, binary };
}

/** The sentences of the rows, each proven, with their rows; refuses at the first that is not. */
function check(text, returns) {
  const held = parsed(text);
  need(held.format === "jaxcert certificates" && canonical(held.format_version) === "5", "it is of another format");
  const { digest, ...content } = held;
  need(digest === sha256(canonical(content)), "it was altered: its digest is of another content");
  need(held.certificates.length > 0 && held.certificates.every((each) => each.rows.length > 0), "it certifies nothing");
  return held.certificates.flatMap((record) => {
    const theCase = caseOf(record, returns);
    return record.rows.map((row, i) => {
      const others = Object.keys(row).filter((name) => !COLUMNS.has(name));
      try {
        need(others.length === 0, `it has ${others}, which is not checked`);
        STATEMENTS.get(record.question)[1](row, theCase);
      } catch (error) {
        throw error instanceof Refused ? new Refused(`row ${i + 1}: ${error.message}`) : error;
      }
      return row;
    });
  });
}

// What the page may say in its box, besides the sentences of the rows.
const QUANTITY = "an? (expected return|probability of success)";
const NOTES = [
  /^(These are the first [0-9]+ of [0-9]+ rows, as they were fixed beforehand\. )?Each of them holds by itself with this confidence\.$/,
  /^[0-9]+ more in the table below\.$/,
];
const NOTHING = new RegExp(
  `^about (?:${QUANTITY} of at least [^ ]+|more than the lower end of the support|how many of these [0-9]+ tasks reach ${QUANTITY} of [^ ]+), with confidence ([^ ]+)\\.$`,
);
const ABOUT = new RegExp(`^(from the same distribution )?reach(?:es)? ${QUANTITY} of ([^ ]+), with confidence ([^ ]+)\\.$`);
const HUNDRED = /^(?:At least ([0-9]+)|Between ([0-9]+) and ([0-9]+)) in 100 new tasks$/;
const SHARE = /^At least a share of ([^ ]+) of new tasks$/;
const OF_LIST = /^(?:At least ([0-9]+)|All) of these ([0-9]+) tasks$/;

/** What a sentence says before its advice in brackets: that part alone was checked. */
function proven({ sentence }) {
  return sentence.split(" (")[0];
}

/** Whether a sentence says no more than what was checked, or has the one advice that the library gives. */
function isKnown(row) {
  return [proven(row), `${proven(row)} (${ADVICE})`].includes(row.sentence);
}

/** Refuse a page whose box says other words than the rows that were proven. */
function shownBy(rows) {
  const words = (element) => element.textContent.trim().replace(/\s+/g, " ");
  const box = document.querySelector(".statement");
  const lines = [...box.querySelectorAll("p")];
  const sentences = new Set(rows.filter(isKnown).map((row) => row.sentence));
  const claims = lines.filter((line) => line.className === "claim");
  const abouts = lines.filter((line) => line.className === "about");
  for (const line of lines.filter((each) => !claims.includes(each) && !abouts.includes(each))) {
    const text = words(line);
    need(sentences.has(line.textContent) || NOTES.some((note) => note.test(text)), `the page shows words that its certificate does not hold: ${text}`);
  }
  need(words(box) === lines.map(words).join(" "), "the page shows words besides its statements");
  need(claims.length === abouts.length && claims.length <= rows.length, "the page has other headlines than rows");
  claims.forEach((claim, i) => {
    const [short, about] = [words(claim), words(abouts[i])];
    need(supports(rows[i], short, about), `the headline says more than was proven: ${short}, ${about}`);
  });
}

/** Whether a row supports a headline: each of its words, its number, and the threshold and the confidence after it. */
function supports(row, claim, about) {
  const sure = /^With confidence ([^ :]+):/.exec(row.sentence)[1];
  if (claim === "Nothing is certified") return NOTHING.exec(about)?.at(-1) === sure;
  const [, fromNew, quantity, level, confidence] = ABOUT.exec(about) ?? [];
  const isOfRow = confidence === sure && `${proven(row)} `.replace(". ", " ").includes(` the ${quantity} is at least ${level} `);
  return isOfRow && (fromNew ? supportsShare(row, claim) : supportsCount(row, claim));
}

/** Whether so many of a list of tasks are good. */
function supportsCount(row, claim) {
  const [, count, all] = OF_LIST.exec(claim) ?? [];
  return all !== undefined && proven(row).includes(` these ${all} tasks`) && Number(count ?? all) <= whole(row.num_good);
}

/** Whether a share of new tasks is certified, from both sides if it has two. */
function supportsShare(row, claim) {
  const [, alone, from, to] = HUNDRED.exec(claim) ?? [];
  const exact = (text, k) => times(number(new Written(text)), decimal(1n, k));
  const share = SHARE.exec(claim)?.[1];
  if (!HUNDRED.test(claim) && !share) return false;
  const least = share ? exact(share, 0) : exact(alone ?? from, 2);
  return atMost(least, number(row.safety)) && (to === undefined || atMost(number(row.safety_upper), exact(to, 2)));
}

function run() {
  const held = (id) => JSON.parse(document.getElementById(id).textContent);
  const out = document.getElementById("checked");
  out.replaceChildren();
  const add = (tag, text, parent = out) => {
    const line = parent.appendChild(document.createElement(tag));
    line.textContent = text;
    return line;
  };
  try {
    const rows = check(held("certificate"), held("returns"));
    shownBy(rows);
    add("p", `Checked: ${rows.length === 1 ? "the statement follows" : `all ${rows.length} statements follow`} from the returns in this page.`).className = "good";
    const list = add("ul", "");
    rows.forEach((row) => add("li", proven(row), list));
    if (rows.length > 1) add("p", parsed(held("certificate")).certificates[0].note);
    add("p", "Tables, figures, settings and all other words of this page were not compared with it.").className = "note";
  } catch (error) {
    add("p", `Refused: ${error instanceof Refused ? error.message : `the certificate in this page is broken (${error})`}`).className = "bad";
  }
}

const button = document.getElementById("check");
button.hidden = false;
button.addEventListener("click", run);
