// SPDX-License-Identifier: MIT
// The whole of `weir` with a handler of its own: API, dashboard, configuration, commands.
//
//     service_program serve                                          # and in another terminal:
//     service_program submit greet '{"name": "Ada"}' --wait

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/program/program.hpp>
#include <weir/time.hpp>

using namespace std::chrono_literals;
namespace service = weir::service;

weir::task<boost::json::value> greet(service::job& job) {
    const auto name = weir::http::member<std::string>(job.payload(), "name");
    job.progress(0.5, "looks for words");
    co_await weir::sleep(10ms);
    co_return boost::json::object{{"greeting", "Hello, " + name + "!"}};
}

// A client that submits an invalid payload gets this message, and no task is made.
void check_greeting(const boost::json::value& payload) {
    if (weir::http::member<std::string>(payload, "name").empty()) {
        throw weir::invalid_argument("the member 'name' is empty; write whom to greet");
    }
}

int main(int argc, char** argv) {
    weir::program::definition program;
    program.version = "1.0";
    program.description = "Greets people, one task each";
    program.set_up = [](service::service& tasks) { tasks.handle("greet", greet, check_greeting); };
    return weir::program::run(argc, argv, program);
}
