// SPDX-License-Identifier: MIT
// Calls whose co_await was forgotten, one a line between the two marks: each must be a warning.

#include <weir/db/pg/database.hpp>
#include <weir/db/redis/limiter.hpp>
#include <weir/db/sqlite/database.hpp>
#include <weir/flow/flow.hpp>
#include <weir/foreign.hpp>
#include <weir/http/client.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/io/io.hpp>
#include <weir/io/tls.hpp>
#include <weir/weir.hpp>
#include <weir/ws/client.hpp>

#include <array>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace io = weir::io;

weir::task<int> work(int number) {
    co_await weir::sleep(1ms);
    co_return number;
}
weir::task<> save(std::string) {
    co_await weir::sleep(1ms);
}
const std::vector<int> some_items{1, 2};
auto make = [] { return work(1); };
auto scoped = [](weir::cancel_scope&) -> weir::task<> { co_return; };
auto grouped = [](weir::task_group&) -> weir::task<> { co_return; };
auto cleanup = []() -> weir::task<> { co_return; };
weir::task<weir::http::client_response> sends();
auto uses_pg = [](weir::pg::transaction&) -> weir::task<> { co_return; };
auto uses_sqlite = [](weir::sqlite::transaction&) -> weir::task<> { co_return; };
auto uses_rows = [](weir::sqlite::session&) { return 1; };
auto talks = [](weir::ws::connection&) -> weir::task<> { co_return; };
auto uses_scope = [](weir::task_scope&) -> weir::task<> { co_return; };

struct things {
    weir::mutex& mutex;
    weir::shared_mutex& shared;
    weir::semaphore& semaphore;
    weir::event& event;
    weir::condition& condition;
    weir::barrier& barrier;
    weir::queue<int>& queue;
    weir::watch<int>::follower& follower;
    weir::interval& interval;
    weir::cancel_scope& scope;
    weir::handle<int>& handle;
    std::vector<weir::handle<int>>& handles;
    weir::generator<int>& generator;
    weir::token_bucket& limiter;
    weir::circuit_breaker& breaker;
    weir::bulkhead& bulkhead;
    weir::retry_policy& retry;
    weir::hedge_policy& hedging;
    weir::fallback_policy<int>& spare;
    weir::adaptive_limit& adaptive;
    weir::pipeline<weir::retry_policy>& pipeline;
    weir::keyed_limiter<std::string>& keyed;
    weir::keyed_limiter<std::string>::bound& bound;
    weir::redis::limiter& shared_limiter;
    weir::http::host_policies& hosts;
    weir::http::url& page;
    weir::pool<int>& pool;
    weir::worker_pool& workers;
    weir::batcher<int, int>& batcher;
    weir::single_flight<int, int>& flights;
    weir::loading_cache<int, int>& cache;
    weir::channel<int>& channel;
    weir::thread_pool& threads;
    weir::process& process;
    io::socket& socket;
    io::listener& listener;
    io::file& file;
    weir::udp::socket& datagrams;
    weir::tcp::session& session;
    weir::tls::stream<io::socket>& secured;
    weir::pg::database& pg;
    weir::pg::connection& pg_connection;
    weir::pg::transaction& pg_transaction;
    weir::sqlite::database& sqlite;
    weir::sqlite::transaction& sqlite_transaction;
    std::suspend_always& awaitable_of_others;
    weir::task_scope& tasks;
};

void forget(things& the, std::array<char, 10>& buffer) {
    // begin
    weir::sleep(1s);
    weir::sleep(1s, 1);
    weir::sleep_until(weir::now());
    weir::sleep_forever();
    weir::yield();
    work(1);
    weir::timeout(1s, work(1));
    weir::timeout_or(1s, work(1), 2);
    weir::timeout_at(weir::now(), work(1));
    weir::shield(work(1));
    weir::shield(the.handle);
    weir::settle(work(1));
    weir::intercept(work(1));
    weir::catchable(work(1));
    weir::finally(work(1), cleanup);
    weir::defer(save, std::string("x"));
    weir::closing(weir::range(3));
    weir::gather(work(1), work(2));
    weir::gather_settled(work(1), work(2));
    weir::gather(the.handle, the.handle);
    weir::race(work(1), work(2));
    weir::wait(the.handles);
    weir::collect(weir::range(3));
    weir::with_scope(scoped);
    weir::with_group(grouped);
    weir::with_stop_token(std::stop_token(), work(1));
    weir::wait_readable(0);
    the.handle.wait();
    the.scope.run(work(1));
    the.generator.next();
    the.generator.close();
    the.mutex.lock();
    the.mutex.acquire();
    the.shared.lock();
    the.shared.lock_shared();
    the.semaphore.acquire();
    the.event.wait();
    the.condition.lock();
    the.condition.wait();
    the.barrier.wait();
    the.queue.put(1);
    the.queue.get();
    the.queue.next();
    the.queue.take();
    the.queue.join();
    the.follower.next();
    the.interval.next();
    the.limiter.acquire();
    the.limiter.admit();
    the.limiter.run(make);
    the.breaker.run(make);
    the.breaker.settle(make);
    the.bulkhead.acquire();
    the.bulkhead.run(make);
    the.bulkhead.settle(make);
    the.limiter.settle(make);
    the.hedging.run(make);
    the.hedging.settle(make);
    the.spare.run(make);
    the.spare.settle(make);
    the.adaptive.run(make);
    the.adaptive.settle(make);
    the.adaptive.acquire();
    the.pipeline.run(make);
    the.pipeline.settle(make);
    the.keyed.acquire("x");
    the.keyed.admit("x");
    the.bound.acquire();
    the.bound.admit();
    the.shared_limiter.run(make);
    the.shared_limiter.settle(make);
    the.hosts.run(the.page, weir::http::method::get, sends);
    the.retry.run(make);
    the.retry.settle(make);
    weir::retry({}, make);
    the.pool.acquire();
    the.pool.admit();
    the.pool.close();
    the.workers.submit(work, 1);
    the.workers.close();
    the.batcher.call(1);
    the.batcher.settle(1);
    the.batcher.close();
    the.flights.call(1);
    the.cache.get(1);
    weir::batch(std::vector<int>{1}, {}, work);
    weir::consume(std::vector<int>{1}, {}, work);
    weir::map_concurrent(std::vector<int>{1}, 1, work);
    the.channel.send(1);
    the.channel.receive();
    the.channel.next();
    the.threads.run([] { return 1; });
    the.threads.map(some_items, [](int) {});
    weir::run_blocking([] { return 1; });
    weir::run_command({"ls"});
    the.process.wait();
    the.process.terminate();
    the.socket.read(buffer);
    the.socket.write("x");
    the.socket.close_write();
    the.socket.readable();
    the.listener.accept();
    the.file.write("x");
    the.file.sync();
    the.datagrams.send("x");
    the.datagrams.receive(buffer);
    io::connect(io::address());
    io::read_file("x", 100);
    weir::tcp::connect("x:1");
    weir::foreign(the.awaitable_of_others);
    weir::with(the.tasks, uses_scope);
    weir::fallback(work(1), 2);
    weir::hedge({}, make);
    weir::batch_settled(std::vector<int>{1}, {}, work);
    weir::map_as_completed(std::vector<int>{1}, 1, work);
    weir::map_concurrent_settled(std::vector<int>{1}, 1, work);
    weir::map_as_completed_settled(std::vector<int>{1}, 1, work);
    weir::buffer(weir::range(3), 1);
    weir::chunk_within(weir::range(3), 2, 1s);
    weir::throttle(weir::range(3), 1s);
    the.workers.offer(work, 1);
    the.session.idle(weir::sleep(1s));
    the.secured.until_peer_closes();
    the.pg.transaction(uses_pg);
    the.pg_connection.transaction(uses_pg);
    the.pg_transaction.nested(uses_pg);
    the.sqlite.transaction(uses_sqlite);
    the.sqlite.write(uses_rows);
    the.sqlite.write_unsynced(uses_rows);
    the.sqlite.read(uses_rows);
    the.sqlite.execute("x");
    the.sqlite.query("x");
    the.sqlite.execute_alone("x");
    the.sqlite.script("x");
    the.sqlite_transaction.execute("x");
    the.sqlite_transaction.query("x");
    weir::ws::with_connection("ws://x", talks);
    // end
}
