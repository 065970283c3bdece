// SPDX-License-Identifier: MIT
// The broadcaster of suite http on Node's ws: what a client says goes to all.
'use strict';
const http = require('http');
const { WebSocketServer } = require('ws');

const server = http.createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
const text = { binary: false };

sockets.on('connection', (client) => {
    client.on('message', (data) => {
        // One buffer for all: a string would be converted for each.
        for (const each of sockets.clients) {
            each.send(data, text);
        }
    });
    client.on('error', () => {});
});
server.listen(0, '127.0.0.1', 1024, () => console.log(server.address().port));
