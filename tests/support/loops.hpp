// SPDX-License-Identifier: MIT
// Loops for tests that need one of their own.
#pragma once

#include <weir/weir.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir_test {

inline weir::loop_options simulated() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    return options;
}

// The reports, in their order.
struct report_log {
    std::vector<weir::report> reports;

    weir::report_handler handler() {
        return [this](const weir::report& about) { reports.push_back(about); };
    }
    std::size_t count(weir::report_kind kind) const {
        std::size_t found = 0;
        for (const weir::report& each : reports) {
            found += each.kind == kind ? 1 : 0;
        }
        return found;
    }
    std::string text() const {
        std::string all;
        for (const weir::report& each : reports) {
            all += std::string(weir::to_string(each.kind)) + ": " + each.message + "\n";
        }
        return all;
    }
};

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A driver that counts the loop's calls and passes them to another one.
class counting_driver final : public weir::driver {
public:
    explicit counting_driver(std::unique_ptr<weir::driver> inner) : inner_(std::move(inner)) {}
    const char* name() const noexcept override { return inner_->name(); }
    std::int64_t now() noexcept override { return inner_->now(); }
    void wait(std::int64_t deadline) override {
        waits.push_back(deadline);
        inner_->wait(deadline);
    }
    void wake() noexcept override { inner_->wake(); }
    bool has_sources() const noexcept override { return inner_->has_sources(); }
    bool is_simulated() const noexcept override { return inner_->is_simulated(); }
    int fd() const noexcept override { return inner_->fd(); }

    std::vector<std::int64_t> waits;

private:
    std::unique_ptr<weir::driver> inner_;
};

}  // namespace weir_test
