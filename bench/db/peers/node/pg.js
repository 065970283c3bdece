// SPDX-License-Identifier: MIT
// The part of suite db on PostgreSQL, played by Node's pg: a pool of connections, statements prepared by name.
//
//   node pg.js [--pipeline] WORKLOAD URL IN_FLIGHT WARM_UP_SECONDS SECONDS
//
// With --pipeline, queries follow one another on a connection before the first is answered.
'use strict'
const { Client, Pool } = require('pg')

const words = process.argv.slice(2)
const pipeline = words[0] === '--pipeline'
const [workload, url, inFlight, warmUp, seconds] = pipeline ? words.slice(1) : words
const rows = 10000

const select = { name: 'select', text: 'SELECT id, name, price FROM items WHERE id = $1' }
const insert = { name: 'insert', text: 'INSERT INTO events(kind, payload) VALUES ($1, $2)' }
const move = { name: 'move', text: 'UPDATE accounts SET balance = balance + $2 WHERE id = $1' }
const check = { name: 'check', text: 'SELECT balance FROM accounts WHERE id = $1' }

const random = (below) => 1 + Math.floor(Math.random() * below)

const operations = {
  async pg_64(on) {
    const id = random(rows)
    const found = await on.query({ ...select, values: [id] })
    if (found.rows.length !== 1 || found.rows[0].id !== id) throw new Error('another answer')
  },
  async pg_insert(on) {
    const done = await on.query({ ...insert, values: [7, 'a small event'] })
    if (done.rowCount !== 1) throw new Error('nothing was inserted')
  },
  async pg_transaction(on) {
    const own = await on.connect()
    try {
      await own.query('BEGIN')
      const id = random(rows)
      await own.query({ ...move, values: [id, 1] })
      const found = await own.query({ ...check, values: [id] })
      if (found.rows.length !== 1) throw new Error('another answer')
      await own.query('COMMIT')
    } finally {
      own.release()
    }
  },
}

const sleep = (s) => new Promise((done) => setTimeout(done, s * 1000))

async function main() {
  const operation = operations[workload]
  if (operation === undefined || (pipeline && workload === 'pg_transaction')) process.exit(64)
  let lines
  if (pipeline) {
    const own = new Client({ connectionString: url, pipeline: true })
    await own.connect()
    lines = own
  } else {
    // As many as are good for it: tried from 4 to 64.
    lines = new Pool({ connectionString: url, max: Number(process.env.POOL ?? 32) })
  }
  let done = 0
  const worker = async () => {
    for (;;) {
      await operation(lines)
      ++done
    }
  }
  for (let i = 0; i < Number(inFlight); ++i) {
    worker().catch((error) => {
      console.error(String(error))
      process.exit(1)
    })
  }
  await sleep(Number(warmUp))
  console.log('ready')
  const before = done
  const began = performance.now()
  await sleep(Number(seconds))
  console.log(JSON.stringify({ requests: done - before, seconds: (performance.now() - began) / 1000 }))
  await sleep(0.1) // until its times have been read
  process.exit(0)
}
main().catch((error) => {
  console.error(String(error))
  process.exit(1)
})
