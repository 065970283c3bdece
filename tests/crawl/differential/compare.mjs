// SPDX-License-Identifier: MIT
// Compares the links that Weir finds with those in the tree that parse5 builds:
//
//     node compare.mjs PRINT_LINKS [PAGES] [SEED]
//
// Half of the pages are generated, half have faults in them. Links are compared as sets: a tree
// moves elements, and doubles those that were left open. A page that differs must have one of the
// tags below that only a tree can judge, and must be equal up to the first of them; any other
// difference fails, and so do more than 1 % of such pages, or 0.1 % of those without faults.

import { spawnSync } from "node:child_process";
import { parse } from "parse5";
import { generated, mutated, randomSource } from "./pages.mjs";

const html = "http://www.w3.org/1999/xhtml";
const svg = "http://www.w3.org/2000/svg";

// What only a tree can know. See docs/design.md, "Pages are read without a tree".
const moved = "what has no place in a <table> is moved: another <base> is first, or a <template> is left";
const reasons = [
    ["<select> drops the tags in it", /<select/i],
    ["an element of SVG or MathML that is left open, or closed by a tag around it", /<(svg|math)/i],
    ["a <template> that is closed by a tag around it, or not at all", /<\/?template/i],
    [moved, /<table/i],
];
const mostDifferent = 0.01;  // of the pages
const mostWithoutFaults = 0.001;

function words(text) {
    return text.toLowerCase().split(/[\t\n\f\r ]+/).filter(Boolean);
}

function kindOfRelation(rel) {
    const has = (word) => words(rel).includes(word);
    if (has("stylesheet")) return "stylesheet";
    if (has("canonical")) return "canonical";
    if (has("next") || has("prev")) return "next";
    if (has("alternate")) return "alternate";
    if (has("icon")) return "image";
    return words(rel).length > 0 ? "other" : null;
}

// The standard's steps, without the judgement of descriptors.
function srcset(value) {
    const urls = [];
    let at = 0;
    for (;;) {
        while (at < value.length && /[\s,]/.test(value[at])) ++at;
        if (at === value.length) return urls;
        const end = value.slice(at).search(/\s/);
        const url = end < 0 ? value.slice(at) : value.slice(at, at + end);
        at += url.length;
        urls.push(url.replace(/,+$/, ""));
        if (url.endsWith(",")) continue;
        for (let depth = 0; at < value.length; ++at) {
            if (value[at] === "(") depth = 1;
            if (value[at] === ")") depth = 0;
            if (value[at] === "," && depth === 0) break;
        }
    }
}

function refresh(value) {
    const match = /^\s*[\d.]+(?:\s*[;,]|\s)\s*(?:url\s*=\s*)?(.*)$/is.exec(value);
    if (match === null) return null;
    const quoted = /^(["'])(.*?)(?:\1|$)/s.exec(match[1]);
    return (quoted ? quoted[2] : match[1]).trim() || null;
}

function linksOfTree(page) {
    const found = { base: null, title: null, links: new Set() };
    const add = (kind, reference) => found.links.add(`${kind} ${reference}`);
    const visit = (node) => {
        const attributes = new Map((node.attrs ?? []).map((each) => [
            each.prefix ? `${each.prefix}:${each.name}` : each.name, each.value]));
        const value = (name) => attributes.get(name);
        const part = (kind, reference) => {
            if (reference !== undefined && reference.trim() !== "") add(kind, reference);
        };
        if (node.namespaceURI === html) {
            switch (node.tagName) {
                case "a": if (attributes.has("href")) add("anchor", value("href")); break;
                case "area": if (attributes.has("href")) add("area", value("href")); break;
                case "frame": case "iframe": if (attributes.has("src")) add("frame", value("src")); break;
                case "base": found.base ??= value("href") ?? null; break;
                case "title":
                    found.title ??= node.childNodes.map((each) => each.value ?? "").join("").split(/[\t\n\f\r ]+/).filter(Boolean).join(" ");
                    break;
                case "link": {
                    const kind = kindOfRelation(value("rel") ?? "");
                    const pages = ["canonical", "next", "alternate"];
                    if (kind !== null && attributes.has("href")) {
                        if (pages.includes(kind)) add(kind, value("href")); else part(kind, value("href"));
                    }
                    break;
                }
                case "meta": {
                    const target = (value("http-equiv") ?? "").toLowerCase() === "refresh" ? refresh(value("content") ?? "") : null;
                    if (target !== null) add("refresh", target);
                    break;
                }
                case "img": case "source":
                    part(node.tagName === "img" ? "image" : "media", value("src"));
                    srcset(value("srcset") ?? "").forEach((each) => add("candidate", each.replace(/,+$/, "")));
                    break;
                case "script": part("script", value("src")); break;
                case "video": part("image", value("poster")); part("media", value("src")); break;
                case "input": if ((value("type") ?? "").trim().toLowerCase() === "image") part("image", value("src")); break;
                case "embed": part("embedded", value("src")); break;
                case "object": part("embedded", value("data")); break;
            }
        } else if (node.namespaceURI !== undefined) {
            const reference = value("href") ?? value("xlink:href");
            if (node.tagName === "a" && reference !== undefined) add("anchor", reference);
            if (node.tagName === "image") part("image", reference);
            if (node.tagName === "script") part("script", reference);
        }
        for (const child of node.childNodes ?? []) visit(child);  // content of templates is elsewhere
    };
    visit(parse(page, { scriptingEnabled: false }));
    return found;
}

const [program, count = "5000", seed = "16"] = process.argv.slice(2);
const random = randomSource(Number(seed));
const pages = [];
for (let i = 0; i < Number(count); ++i) {
    pages.push(i % 2 === 0 ? generated(random) : mutated(random));
}

// What Weir finds on the pages.
function readByWeir(texts) {
    const input = Buffer.concat(texts.flatMap((text) => {
        const bytes = Buffer.from(text, "utf8");
        return [Buffer.from(`${bytes.length}\n`), bytes];
    }));
    const run = spawnSync(program, { input, maxBuffer: 1 << 30 });
    if (run.status !== 0) {
        console.error(`${program} failed: ${run.stderr}`);
        process.exit(1);
    }
    return run.stdout.toString("utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
}

// The differences between what Weir found on a page and its tree, as text; empty if there are none.
function differences(page, line) {
    const theirs = linksOfTree(page);
    const ours = new Set(line.links.map(([kind, reference]) => `${kind} ${reference}`));
    const missing = [...theirs.links].filter((each) => !ours.has(each));
    const extra = [...ours].filter((each) => !theirs.links.has(each));
    const base = (theirs.base ?? "") === line.base;
    // Weir keeps 1,024 bytes of a title.
    const title = Buffer.from(line.title).length > 1020 || (theirs.title ?? "") === line.title;
    return (missing.length > 0 ? `missing ${JSON.stringify(missing)} ` : "") +
        (extra.length > 0 ? `extra ${JSON.stringify(extra)} ` : "") +
        (base ? "" : `base ${theirs.base} and ${line.base} `) +
        (title ? "" : `title '${theirs.title}' and '${line.title}'`);
}

const lines = readByWeir(pages);
const links = lines.reduce((sum, line) => sum + line.links.length, 0);
const different = pages.map((page, index) => ({ page, index, text: differences(page, lines[index]) }))
    .filter((each) => each.text !== "");

const beginnings = different.map(({ page }) => {
    const starts = reasons.map(([, pattern]) => page.search(pattern)).filter((at) => at >= 0);
    return starts.length > 0 ? page.slice(0, Math.min(...starts)) : page;
});
const beginningLines = different.length > 0 ? readByWeir(beginnings) : [];
const counts = new Map();
let unexplained = 0;
different.forEach(({ page, index, text }, i) => {
    // Of pages without faults, only what has no place in a table has another one in the tree.
    const isEqualBefore = differences(beginnings[i], beginningLines[i]) === "";
    const fits = ([name, pattern]) => pattern.test(page) && (index % 2 === 1 || name === moved);
    const reason = isEqualBefore ? reasons.find(fits) : undefined;
    const name = reason ? reason[0] : "no reason";
    counts.set(name, (counts.get(name) ?? 0) + 1);
    unexplained += reason ? 0 : 1;
    if (!reason || process.env.SHOW) {
        console.log(`page ${index}: ${text}`);
        if (!reason || process.env.SHOW === "all") console.log(page);
    }
});
console.log(`${pages.length} pages, ${links} links: ${pages.length - different.length} pages are equal`);
for (const [name, number] of counts) console.log(`${String(number).padStart(6)}  ${name}`);
if (different.length > mostDifferent * pages.length) {
    console.log(`more than ${mostDifferent * 100} % of the pages differ`);
    unexplained += 1;
}
if (different.filter(({ index }) => index % 2 === 0).length > mostWithoutFaults * pages.length) {
    console.log(`more than ${mostWithoutFaults * 100} % of the pages have no faults and differ`);
    unexplained += 1;
}
process.exit(unexplained === 0 ? 0 : 1);
