// SPDX-License-Identifier: MIT
// HTTP: background tasks as an API: POST /tasks, GET /tasks/{id}, DELETE /tasks/{id}
//
// task_api             plays a small scene with a client of its own
// task_api ADDRESS     serves there until SIGTERM or Ctrl-C: task_api 127.0.0.1:8080
#include <weir/flow/task_manager.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/client.hpp>
#include <weir/http/deadline.hpp>
#include <weir/http/json.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace http = weir::http;

// The work of the tasks.
weir::task<std::string> process(weir::task_context& context, std::string data) {
    for (int step = 1; step <= 4; ++step) {
        co_await weir::sleep(10ms);
        context.progress(step / 4.0);
    }
    if (data.empty()) {
        throw std::runtime_error("there is nothing to process");
    }
    co_return "processed " + data;
}

http::response show(const weir::managed_task& task) {
    return http::json({{"id", task.id},
                       {"status", to_string(task.state)},
                       {"progress", task.progress},
                       {"result", task.result},
                       {"error", task.error}});
}

http::router task_api(weir::task_manager& tasks) {
    http::router api;
    api.use(http::deadline(5s));
    api.post("/tasks", [&tasks](http::request& request) -> weir::task<http::response> {
        const auto body = co_await http::read_json(request);
        const auto data = http::member<std::string>(body, "data");
        const std::string id = co_await tasks.submit(process, data);  // refused when full: 503
        co_return http::json({{"task_id", id}}, http::status::accepted)
            .with("Location", "/tasks/" + id);
    });
    api.get("/tasks/{id}", [&tasks](http::request& request) -> weir::task<http::response> {
        const auto found = co_await tasks.get(std::string(request.param("id")));
        if (!found) {
            throw http::problem(http::status::not_found, "there is no such task");
        }
        co_return show(*found);
    });
    api.delete_("/tasks/{id}", [&tasks](http::request& request) -> weir::task<http::response> {
        const std::string id(request.param("id"));
        const bool cancelled = co_await tasks.cancel(id, "by request");
        if (!cancelled) {
            throw http::problem(http::status::conflict, "it has ended, or never was");
        }
        co_return http::response(http::status::no_content);
    });
    return api;
}

// ---- the scene

weir::task<std::string> submit(http::client& client, std::string url, std::string json) {
    auto answer = co_await client.post(url, json, "application/json");
    const std::string text = co_await answer.text();
    std::cout << "POST " << json << ": " << number_of(answer.status());
    if (!answer.is_success()) {
        std::cout << ' ' << text;
        co_return "";
    }
    std::cout << '\n';
    co_return std::string(answer.header("Location"));
}

weir::task<> follow(http::client& client, std::string url) {
    for (;;) {
        auto answer = co_await client.get(url);
        const std::string text = co_await answer.text();
        const auto task = http::parse_json(text);
        const auto status = http::member<std::string>(task, "status");
        if (status != "pending" && status != "running") {
            std::cout << "GET: " << status << ' ' << http::member<std::string>(task, "result")
                      << http::member<std::string>(task, "error") << '\n';
            co_return;
        }
        co_await weir::sleep(5ms);
    }
}

weir::task<> scene() {
    weir::task_manager tasks({.concurrency = 2});
    http::server server(task_api(tasks));
    server.on_stop([&tasks] { return tasks.close(); });
    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    const std::string here = "http://" + door.local_address().text();
    auto serving = weir::spawn(server.serve(std::move(door)));

    http::client client;
    const std::string good = co_await submit(client, here + "/tasks", R"({"data":"a file"})");
    co_await follow(client, here + good);
    const std::string bad = co_await submit(client, here + "/tasks", R"({"data":""})");
    co_await follow(client, here + bad);
    co_await submit(client, here + "/tasks", R"({"data":7})");
    co_await submit(client, here + "/tasks", R"({"data":)");

    const std::string unwanted = co_await submit(client, here + "/tasks", R"({"data":"x"})");
    auto gone = co_await client.delete_(here + unwanted);
    std::cout << "DELETE: " << number_of(gone.status()) << '\n';
    co_await follow(client, here + unwanted);
    auto missing = co_await client.get(here + "/tasks/none");
    const std::string why = co_await missing.text();
    std::cout << "GET: " << why;
    auto wrong = co_await client.delete_(here + "/tasks");
    std::cout << "DELETE /tasks: " << number_of(wrong.status()) << ", allowed are "
              << wrong.header("Allow") << '\n';

    serving.cancel();
    co_await serving.wait();
}

weir::task<> serve_at(std::string where) {
    weir::task_manager tasks({.concurrency = 2});
    http::router app = task_api(tasks);
    app.use(http::access_log([](std::string_view line) { std::cout << line << std::endl; }));
    http::server server(std::move(app));
    server.on_stop([&tasks] { return tasks.close(); });
    co_await server.serve(weir::io::address::parse(where));
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(serve_at(arguments[1]));
    }
    return weir::run_main(scene());
}
