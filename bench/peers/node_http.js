// SPDX-License-Identifier: MIT
// The plain-text server of suite http on Node's own http module.
'use strict';
const http = require('http');

const server = http.createServer({ keepAliveTimeout: 60000 }, (request, response) => {
    response.writeHead(200, { 'Server': 'node', 'Content-Type': 'text/plain', 'Content-Length': 13 });
    response.end('Hello, World!');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
