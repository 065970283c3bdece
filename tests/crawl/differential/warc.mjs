// SPDX-License-Identifier: MIT
// Reads an archive of Weir with warcio, record by record:
//
//     node warc.mjs ARCHIVE EXPECTED
//
// EXPECTED is JSON: for each URL the status and the decoded body that the site has served. npm's
// warcio has no command `check`, so the digests of blocks and payloads are computed here.

import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { WARCParser } from "warcio";

const [archive, expectedFile] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const faults = [];

function base32(bytes) {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits = "";
    for (const each of bytes) bits += each.toString(2).padStart(8, "0");
    return bits.match(/.{5}/g).map((each) => letters[parseInt(each, 2)]).join("");
}

function digest(bytes) {
    return "sha1:" + base32(createHash("sha1").update(bytes).digest());
}

function check(holds, text) {
    if (!holds) faults.push(text);
}

async function* records(options) {
    const parser = new WARCParser(createReadStream(archive), options);
    for await (const record of parser) yield record;
}

// Blocks as they are in the file.
const bodies = new Map();
const ids = new Set();
const types = {};
for await (const record of records({ parseHttp: false })) {
    const block = await record.readFully(false);
    const url = record.warcTargetURI;
    const name = `${record.warcType} ${url}`;
    types[record.warcType] = (types[record.warcType] ?? 0) + 1;
    check(record.warcHeader("WARC-Block-Digest") === digest(block), `${name}: block digest`);
    check(Number(record.warcHeader("Content-Length")) === block.length, `${name}: length`);
    check(!ids.has(record.warcHeader("WARC-Record-ID")), `${name}: id`);
    ids.add(record.warcHeader("WARC-Record-ID"));
    const payload = block.subarray(Buffer.from(block).indexOf("\r\n\r\n") + 4);
    if (record.warcType === "response") {
        check(record.warcPayloadDigest === digest(payload), `${name}: payload digest`);
        bodies.set(url, record.warcPayloadDigest);
    } else if (record.warcType === "revisit") {
        check(payload.length === 0, `${name}: a revisit has no payload`);
        check(bodies.get(record.warcHeader("WARC-Refers-To-Target-URI")) === record.warcPayloadDigest,
            `${name}: refers to nothing`);
    } else if (record.warcType === "request") {
        check(ids.has(record.warcHeader("WARC-Concurrent-To")), `${name}: concurrent to nothing`);
        const text = Buffer.from(block).toString();
        for (const header of ["Host", "User-Agent", "Accept", "Accept-Encoding"]) {
            check(text.includes(`\r\n${header}: `), `${name}: no ${header}`);
        }
    }
}

// Responses as readers see them, decompressed.
const seen = new Set();
for await (const record of records({})) {
    if (record.warcType !== "response" && record.warcType !== "revisit") continue;
    const url = record.warcTargetURI;
    seen.add(url);
    const page = expected[url];
    check(page !== undefined, `${url}: not of the site`);
    if (page === undefined) continue;
    check(record.httpHeaders.statusCode === page.status, `${url}: ${record.httpHeaders.statusline}`);
    if (record.warcType === "response") {
        check(await record.contentText() === page.body, `${url}: another body`);
    }
}
for (const url of Object.keys(expected)) check(seen.has(url), `${url}: missing`);

for (const each of faults) console.log(each);
console.log(`${seen.size} pages, records: ${JSON.stringify(types)}, ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
