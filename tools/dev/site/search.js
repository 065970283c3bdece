// SPDX-License-Identifier: MIT
//
// The search of the documentation. The index is loaded with the first letter that is typed. All
// words must occur in a section, each at the beginning of a word or of a part of a name
// (`bucket` finds `token_bucket`); words in titles count most. `?q=words` in the address searches.
"use strict";

const root = document.currentScript.dataset.root;
const query = document.getElementById("query");
const list = document.getElementById("results");
const shown = 30;
let entries = null;
let loading = false;
let selected = -1;

// Called by the index.
function weirSearch(rows) {
    entries = rows.map(([target, page, section, text]) => ({
        target, page, section, text,
        pageWords: page.toLowerCase(),
        sectionWords: (section || page).toLowerCase(),
        textWords: text.toLowerCase(),
    }));
    search();
}

function load() {
    if (!loading) {
        loading = true;
        const script = document.createElement("script");
        script.src = `${root}/site/index.js`;
        document.head.append(script);
    }
}

// The word for a regular expression.
function quoted(word) {
    return word.replace(/[^\w]/g, "\\$&");
}

function score(entry, words) {
    let total = 0;
    for (const word of words) {
        const pattern = new RegExp(`(^|[^a-z0-9])${quoted(word)}`);
        const whole = new RegExp(`(^|[^a-z0-9_])${quoted(word)}($|[^a-z0-9_])`);
        let value = 0;
        if (pattern.test(entry.sectionWords)) {
            value += whole.test(entry.sectionWords) ? 40 : 15;
        }
        if (pattern.test(entry.pageWords)) {
            value += whole.test(entry.pageWords) ? 20 : 8;
        }
        if (pattern.test(entry.textWords)) {
            value += whole.test(entry.textWords) ? 4 : 1;
        }
        if (value === 0) {
            return 0;
        }
        total += value;
    }
    // A short section says it more to the point, and a page tells more than its reference.
    const length = Math.min(entry.text.length, 4000) / 1000;
    return total - length + (entry.target.includes("/reference/") ? 0 : 3);
}

function search() {
    const words = query.value.toLowerCase().split(/[\s:()<>,]+/).filter((word) => word.length > 1);
    selected = -1;
    if (words.length === 0 || entries === null) {
        list.hidden = true;
        return;
    }
    const found = entries
        .map((entry) => ({ entry, score: score(entry, words) }))
        .filter((each) => each.score > 0)
        .sort((left, right) => right.score - left.score);
    list.replaceChildren(...found.slice(0, shown).map(({ entry }) => item(entry, words)));
    if (found.length === 0) {
        const none = document.createElement("li");
        none.textContent = `Nothing found for “${query.value}”.`;
        list.append(none);
    }
    list.hidden = false;
}

function item(entry, words) {
    const link = document.createElement("a");
    link.href = `${root}/${entry.target}`;
    const title = document.createElement("b");
    title.textContent = entry.section ? `${entry.page} › ${entry.section}` : entry.page;
    const extract = document.createElement("span");
    const at = Math.max(0, ...words.map((word) => entry.textWords.indexOf(word)));
    const from = at < 60 ? 0 : entry.text.indexOf(" ", at - 50) + 1;
    mark(extract, (from > 0 ? "… " : "") + entry.text.slice(from, from + 160), words);
    link.append(title, extract);
    const line = document.createElement("li");
    line.append(link);
    return line;
}

// Appends the text to the element, with the words marked.
function mark(element, text, words) {
    const pattern = new RegExp(`(${words.map(quoted).join("|")})`, "i");
    text.split(pattern).forEach((part, index) => {
        const node = document.createElement(index % 2 ? "mark" : "span");
        node.textContent = part;
        element.append(node);
    });
}

function select(step) {
    const links = list.querySelectorAll("a");
    if (links.length === 0) {
        return;
    }
    links[selected]?.classList.remove("selected");
    selected = (selected + step + links.length) % links.length;
    links[selected].classList.add("selected");
    links[selected].scrollIntoView({ block: "nearest" });
}

query.addEventListener("input", () => {
    load();
    search();
});
query.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        select(event.key === "ArrowDown" ? 1 : selected < 0 ? 0 : -1);
        event.preventDefault();
    } else if (event.key === "Enter") {
        (list.querySelector("a.selected") ?? list.querySelector("a"))?.click();
    } else if (event.key === "Escape") {
        query.value = "";
        search();
        query.blur();
    }
});
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== query) {
        query.focus();
        event.preventDefault();
    }
});
document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) {
        list.hidden = true;
    }
});

const requested = new URLSearchParams(location.search).get("q");
if (requested) {
    query.value = requested;
    load();
}
const nav = document.querySelector("nav");
const current = nav.querySelector("[aria-current]");
if (current !== null) {
    nav.scrollTop = current.offsetTop - nav.offsetTop - nav.clientHeight / 2;
}
