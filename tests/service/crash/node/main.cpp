// SPDX-License-Identifier: MIT
// A service that tests kill. Its handlers keep a ledger of their own: a line when a run begins and
// one when it ends, each written by one call at the end of a file, so that a kill neither takes it
// back nor cuts it.
//
//   node DATABASE LEDGER NUMBER [lease=MS] [drain=MS] [max_crashes=N] [busy=MS] [workers=N]
//        [schema=NAME]
//
// NUMBER tells the processes of a test apart in the ledger. Prints its port when it can be reached.

#include <weir/group.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/store_mover.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace {

namespace service = weir::service;
namespace bj = boost::json;
using std::chrono::milliseconds;

struct settings {
    std::string database;
    std::string ledger;
    std::string number;
    service::service_options service;
    service::movable_store_options store;
};

class ledger {
public:
    ledger(const std::string& path, std::string number)
        : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
          number_(std::move(number)) {}
    void write(std::string_view what, const service::job& current) const {
        const std::string line = std::string(what) + " " + std::to_string(current.id().number()) +
                                 " " + std::to_string(current.task().run) + " " + number_ + "\n";
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            std::perror("ledger");
            std::_Exit(3);
        }
    }

private:
    int file_;
    std::string number_;
};

// A run in the ledger. A stopped run adds a line; a run whose process dies does not.
class entry {
public:
    entry(const ledger& in, const service::job& current) : in_(in), job_(current) {
        in_.write("begin", job_);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { in_.write(has_ended_ ? "end" : "stop", job_); }
    void end() noexcept { has_ended_ = true; }

private:
    const ledger& in_;
    const service::job& job_;
    bool has_ended_ = false;
};

// A server may be restarting.
weir::task<service::movable_store> open(const settings& options) {
    service::movable_store opened;
    while (opened.tasks == nullptr) {
        try {
            opened = co_await service::open_movable_store(options.database, options.store);
        } catch (const service::store_unavailable& error) {
            if (error.advice() == weir::db::retry_advice::no ||
                !service::is_postgres_url(options.database)) {
                throw;
            }
        }
        if (opened.tasks == nullptr) {
            co_await weir::sleep(milliseconds(50));
        }
    }
    co_return opened;
}

weir::task<> serve(const settings& options) {
    const ledger book(options.ledger, options.number);
    service::movable_store store = co_await open(options);
    service::service tasks(*store.tasks, options.service);
    tasks.handle("work", [&](service::job& job) -> weir::task<bj::value> {
        entry run(book, job);
        co_await weir::sleep(milliseconds(weir::http::member<std::int64_t>(job.payload(), "ms")));
        run.end();
        co_return bj::value(job.task().run);
    });
    // Callbacks of the others.
    tasks.handle("http", [&](service::job& job) -> weir::task<bj::value> {
        entry run(book, job);
        run.end();
        co_return bj::value(job.task().run);
    });
    tasks.handle("poison", [&](service::job& job) -> weir::task<bj::value> {
        const entry run(book, job);
        ::kill(::getpid(), SIGKILL);
        co_return nullptr;
    });

    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    std::printf("%u\n", static_cast<unsigned>(door.local_address().port()));
    std::fflush(stdout);
    service::api_options api;
    api.mover = store.mover.get();
    weir::http::router app = service::make_api(tasks, api);
    auto all = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(weir::http::serve(std::move(door), std::move(app)), {.name = "http"});
        group.spawn(tasks.run(), {.name = "service"});
        group.spawn(store.mover->run(), {.name = "mover"});
        co_return;
    };
    co_await weir::with_group(all);
}

bool understand(settings& into, const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
        return false;
    }
    const std::string name = word.substr(0, equals);
    if (name == "schema") {
        into.store.postgres.schema = word.substr(equals + 1);
        return true;
    }
    const int value = std::atoi(word.c_str() + equals + 1);
    if (name == "lease") {
        into.service.lease = milliseconds(value);
        into.service.heartbeat = milliseconds(value) / 5;
        into.store.postgres.failover_grace = milliseconds(value);
    } else if (name == "drain") {
        into.service.drain_limit = milliseconds(value);
    } else if (name == "max_crashes") {
        into.service.max_crashes = static_cast<std::uint32_t>(value);
    } else if (name == "busy") {
        into.store.sqlite.busy_timeout = milliseconds(value);
        into.service.store_timeout = milliseconds(value) * 2;
    } else if (name == "workers") {
        into.service.workers = static_cast<std::size_t>(value);
    } else {
        return false;
    }
    return true;
}

}  // namespace

int main(int count, char** words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // with the test
    std::signal(SIGXFSZ, SIG_IGN);     // a file that may not grow: an error of the write, then
    if (count < 4) {
        return 2;
    }
    settings options{words[1], words[2], words[3], {}, {}};
    for (int i = 4; i < count; ++i) {
        if (!understand(options, words[i])) {
            std::fprintf(stderr, "unknown: %s\n", words[i]);
            return 2;
        }
    }
    options.service.log = [](service::log_level level, std::string_view text) {
        if (level >= service::log_level::warning) {
            std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
        }
    };
    return weir::run_main(serve(options));
}
