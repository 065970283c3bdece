// SPDX-License-Identifier: MIT
//
// What libpq can do in a plain loop: one connection in pipeline mode, so many queries under way,
// each with a sync of its own; poll, and nothing else.
//
//   bench_db_floor_pg WORKLOAD URL IN_FLIGHT WARM_UP_SECONDS SECONDS
#include <libpq-fe.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

struct line {
    PGconn* on = nullptr;
    bool inserts = false;
    std::deque<int> expected_ids;
    std::minstd_rand random{7};
    unsigned long long done = 0;

    void ask() {
        const int id = 1 + static_cast<int>(random() % 10'000);
        const std::string text = std::to_string(id);
        const char* const selecting[] = {text.c_str()};
        const char* const inserting[] = {"7", "a small event"};
        const int sent = inserts
                             ? PQsendQueryPrepared(on, "own", 2, inserting, nullptr, nullptr, 0)
                             : PQsendQueryPrepared(on, "own", 1, selecting, nullptr, nullptr, 0);
        if (sent != 1 || PQpipelineSync(on) != 1) {
            fail(PQerrorMessage(on));
        }
        expected_ids.push_back(id);
    }

    // The answers that have arrived; each is followed by the next question.
    void take() {
        while (PQisBusy(on) == 0) {
            PGresult* const result = PQgetResult(on);
            if (result == nullptr) {
                continue;  // between a query and its sync
            }
            const ExecStatusType status = PQresultStatus(result);
            if (status == PGRES_PIPELINE_SYNC) {
                expected_ids.pop_front();
                ++done;
                ask();
            } else if (status == PGRES_TUPLES_OK) {
                if (PQntuples(result) != 1 ||
                    std::atoi(PQgetvalue(result, 0, 0)) != expected_ids.front()) {
                    fail("another answer");
                }
            } else if (status != PGRES_COMMAND_OK) {
                fail(PQresultErrorMessage(result));
            }
            PQclear(result);
            if (expected_ids.empty()) {
                return;
            }
        }
    }

    void run_until(clock_type::time_point end) {
        while (clock_type::now() < end) {
            const int unsent = PQflush(on);
            pollfd wait{PQsocket(on), static_cast<short>(POLLIN | (unsent == 1 ? POLLOUT : 0)), 0};
            if (unsent < 0 || poll(&wait, 1, 1000) < 0) {
                fail("poll");
            }
            if ((wait.revents & POLLIN) != 0 && PQconsumeInput(on) != 1) {
                fail(PQerrorMessage(on));
            }
            take();
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    const std::string workload = argc == 6 ? argv[1] : "";
    if (workload != "pg_64" && workload != "pg_insert") {
        return 64;
    }
    line own;
    own.inserts = workload == "pg_insert";
    own.on = PQconnectdb(argv[2]);
    if (PQstatus(own.on) != CONNECTION_OK) {
        fail(PQerrorMessage(own.on));
    }
    PQclear(PQprepare(own.on, "own",
                      own.inserts ? "INSERT INTO events(kind, payload) VALUES ($1, $2)"
                                  : "SELECT id, name, price FROM items WHERE id = $1",
                      0, nullptr));
    if (PQsetnonblocking(own.on, 1) != 0 || PQenterPipelineMode(own.on) != 1) {
        fail(PQerrorMessage(own.on));
    }
    for (int i = 0; i < std::atoi(argv[3]); ++i) {
        own.ask();
    }
    using length = std::chrono::duration<double>;
    const auto after = [](const char* seconds) {
        return clock_type::now() +
               std::chrono::duration_cast<clock_type::duration>(length(std::atof(seconds)));
    };
    own.run_until(after(argv[4]));
    std::puts("ready");
    std::fflush(stdout);
    const unsigned long long before = own.done;
    const auto began = clock_type::now();
    own.run_until(after(argv[5]));
    const length took = clock_type::now() - began;
    std::printf("{\"requests\": %llu, \"seconds\": %.6f}\n", own.done - before, took.count());
    std::fflush(stdout);
    own.run_until(after("0.1"));  // until its times have been read
}
