// SPDX-License-Identifier: MIT
// Crawlee's CheerioCrawler, its storage in memory: crawl.mjs PAGES CONCURRENCY OUTPUT FOLLOW URL...
// PAGES: at most so many. FOLLOW: yes or no. '@FILE' in place of a URL: a file with one a line.
import { createWriteStream, readFileSync } from 'node:fs';
import { CheerioCrawler, Configuration, EnqueueStrategy, log, LogLevel } from '@crawlee/cheerio';

const [pages, concurrency, output, follow, ...words] = process.argv.slice(2);
const urls = words.flatMap((word) =>
    word.startsWith('@') ? readFileSync(word.slice(1), 'utf8').split('\n').filter(Boolean) : [word]);
log.setLevel(LogLevel.OFF);
const lines = createWriteStream(output);
const crawler = new CheerioCrawler({
    maxRequestsPerCrawl: Number(pages),
    minConcurrency: Number(concurrency),
    maxConcurrency: Number(concurrency),
    useSessionPool: false,
    requestHandler: async ({ request, response, $, enqueueLinks }) => {
        lines.write(`${JSON.stringify({ url: request.loadedUrl, status: response.statusCode, title: $('title').text() })}\n`);
        if (follow === 'yes') {
            await enqueueLinks({ strategy: EnqueueStrategy.SameHostname });
        }
    },
}, new Configuration({ persistStorage: false, purgeOnStart: false }));
await crawler.run(urls.slice(0, Number(pages)));
lines.end();
