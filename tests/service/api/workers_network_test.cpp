// SPDX-License-Identifier: MIT
// Polls over a simulated network: clients that leave at any moment, and answers that do not arrive.

#include "served.hpp"
#include "worker_client.hpp"

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using weir::testing::simulated_network;
using weir::testing::simulated_stream;

std::string poll_request(const std::string& id, int number, double wait) {
    const std::string body =
        R"({"poll": )" + std::to_string(number) + R"(, "wait": )" + std::to_string(wait) + "}";
    return "POST /workers/" + id + "/poll HTTP/1.1\r\nHost: localhost\r\n" +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

weir::task<std::string> state_of_task(site& here, std::string id) {
    const answer task = co_await here.get("/tasks/" + id);
    co_return task["state"];
}

}  // namespace

// Failure 16: the poll of a client that has gone takes the next task.
WEIR_TEST(WorkerNetwork, PeerFailure16_APollOfAClosedConnectionTakesNothing) {
    for (const bool is_reset : {false, true}) {
        for (const auto stayed : {0ms, 1ms, 50ms, 99ms, 100ms, 101ms, 150ms, 2000ms}) {
            simulated_network net;
            served site_at(net);
            worker one(site_at.here);
            co_await one.begin();
            std::string id;
            {
                simulated_stream client = co_await net.connect("server:80", "client");
                co_await client.write(poll_request(one.id, 1, 25));
                co_await weir::sleep(10ms);  // it has arrived, and waits
                co_await weir::sleep(stayed);
                is_reset ? client.reset() : client.close();
                co_await weir::sleep(5ms);  // the end arrives
                id = co_await site_at.here.submit(R"({"kind": "resize"})");
            }
            co_await weir::sleep(1500ms);
            const std::string state = co_await state_of_task(site_at.here, id);
            EXPECT_EQ(state, "pending") << is_reset << " after " << stayed.count() << " ms";
            worker other(site_at.here);
            co_await other.begin();
            const answer polled = co_await other.poll(1);
            EXPECT_EQ(polled.code, 200U) << "another worker gets it at once";
            co_await other.report(polled, completed);
            co_await site_at.stop();
        }
    }
}

// Failure 22: the task is assigned, and the connection ends before its answer has arrived. The poll
// is repeated over another connection.
WEIR_TEST(WorkerNetwork, PeerFailure22_AnAnswerThatWasCutIsRepeated) {
    for (int cut = 0; cut < 30; ++cut) {
        simulated_network net;
        served site_at(net);
        worker one(site_at.here);
        co_await one.begin();
        const std::string id = co_await site_at.here.submit(R"({"kind": "resize"})");
        {
            simulated_stream client = co_await net.connect("server:80", "client");
            co_await client.write(poll_request(one.id, 1, 25));
            for (int turn = 0; turn < cut; ++turn) {
                co_await weir::yield();
            }
            client.reset();
        }
        co_await weir::sleep(1s);
        one.number = 1;
        const answer again = co_await one.repeat(1, 5);
        EXPECT_EQ(again.code, 200U) << cut;
        EXPECT_EQ(again.json.at("tasks").at(0).at("id").as_string(), id);
        const answer verdict = co_await one.report(again, completed);
        EXPECT_TRUE(is_accepted(verdict));
        const std::string state = co_await state_of_task(site_at.here, id);
        EXPECT_EQ(state, "completed");
        co_await site_at.stop();
    }
}
