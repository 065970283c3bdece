// SPDX-License-Identifier: MIT
// A class with background tasks: it owns a task_scope, and whoever uses the object closes it
#include <weir/weir.hpp>

#include <iostream>
#include <map>
#include <string>

using namespace std::chrono_literals;

class health_monitor {
public:
    void watch(std::string host, std::chrono::seconds period) {
        tasks_.spawn(&health_monitor::check, this, std::move(host), period);
    }
    int checks(const std::string& host) const { return checks_.at(host); }
    // Stops all checks and waits for their end.
    weir::task<> close() { return tasks_.close("the monitor closes"); }

private:
    weir::task<> check(std::string host, std::chrono::seconds period) {
        weir::interval ticks(period);
        for (;;) {
            co_await ticks.next();
            ++checks_[host];
        }
    }

    std::map<std::string, int> checks_;  // tasks use it, so it is declared before the scope
    weir::task_scope tasks_;
};

weir::task<> run() {
    // `with` closes the monitor however the body ends: a value, an error, a stop.
    health_monitor monitor;
    co_await weir::with(monitor, [](health_monitor& hosts) -> weir::task<> {
        hosts.watch("db", 1s);
        hosts.watch("cache", 5s);
        co_await weir::sleep(10500ms);
        std::cout << "db: " << hosts.checks("db") << " checks, cache: " << hosts.checks("cache")
                  << "\n";
    });
    std::cout << "closed\n";
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
