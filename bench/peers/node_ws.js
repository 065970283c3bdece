// SPDX-License-Identifier: MIT
// The broadcaster of suite http on Node's ws: to 'go N' it answers with N messages of 100 bytes to every
// client, one after another as fast as it can, but never with more than 64 KiB waiting for a client.
'use strict';
const http = require('http');
const { WebSocketServer } = require('ws');

const most = 64 * 1024;
const text = { binary: false };
const server = http.createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

async function broadcast(count) {
    for (let i = 0; i < count; ++i) {
        // One buffer for all: a string would be converted for each.
        const message = Buffer.from(String(i).padStart(8, '0') + 'x'.repeat(92));
        for (const client of sockets.clients) {
            client.send(message, text);
            while (client.bufferedAmount > most && client.readyState === client.OPEN) {
                await new Promise(setImmediate);
            }
        }
    }
}

sockets.on('connection', (client) => {
    client.on('message', (data) => {
        const words = data.toString().split(' ');
        if (words[0] === 'go') {
            broadcast(Number(words[1]));
        }
    });
    client.on('error', () => {});
});
server.listen(0, '127.0.0.1', 1024, () => console.log(server.address().port));
