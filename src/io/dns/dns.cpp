// SPDX-License-Identifier: MIT
// The awaited side of the resolver: an operation that is answered at once, or waits in the list of
// a lookup, which it may share with others.

#include "io/dns/host_name.hpp"
#include "io/dns/resolver_core.hpp"

#include <weir/error.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>

#include <utility>

namespace weir::dns {

namespace detail {

resolve_operation::resolve_operation(resolver_core& core, std::string_view host, std::uint16_t port)
    : core_(&core), host_(host), port_(port) {}

resolve_operation::resolve_operation(resolver_core& core, std::string_view host,
                                     std::string_view service)
    : resolve_operation(core, host, port_of(service)) {}

resolve_operation::resolve_operation(resolve_operation&& unawaited) noexcept
    : operation(std::move(unawaited)),
      core_(unawaited.core_),
      host_(std::move(unawaited.host_)),
      port_(unawaited.port_) {}

resolve_operation::~resolve_operation() {
    if (lookup_ != nullptr) {
        core_->leave(*this);
    }
}

bool resolve_operation::ready() noexcept {
    try {
        return core_->answer_at_once(*this);
    } catch (...) {
        error_ = std::current_exception();
        return true;
    }
}

bool resolve_operation::start() noexcept {
    try {
        return core_->join(*this);
    } catch (...) {
        error_ = std::current_exception();
        return false;
    }
}

bool resolve_operation::cancel() noexcept {
    core_->leave(*this);
    return true;
}

std::vector<io::address> resolve_operation::resume() {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
    return std::move(found_);
}

void resolve_operation::finish(const std::vector<io::address>& found) noexcept {
    try {
        found_ = found;
        for (io::address& each : found_) {
            each = each.with_port(port_);
        }
    } catch (...) {
        error_ = std::current_exception();
    }
}

void resolve_operation::fail(const std::string& message) noexcept {
    error_ = std::make_exception_ptr(resolve_error(message));
}

void resolve_operation::wake(const std::vector<io::address>& found) noexcept {
    lookup_ = nullptr;
    finish(found);
    complete();
}

void resolve_operation::wake_failed(const std::string& message) noexcept {
    lookup_ = nullptr;
    fail(message);
    complete();
}

namespace {

std::string text(clock::duration time) {
    return std::to_string(std::chrono::duration<double>(time).count()) + " s";
}

[[noreturn]] void throw_bad_dns_option(const char* option, const std::string& value,
                                       const char* right) {
    throw invalid_argument(std::string("dns::resolver: ") + option + " is " + value +
                           "; it must be " + right);
}

void check_time(const char* option, clock::duration time, clock::duration least,
                clock::duration most, const char* right) {
    if (time < least || time > most) {
        throw_bad_dns_option(option, text(time), right);
    }
}

resolver_options checked(const resolver_options& options) {
    using namespace std::chrono_literals;
    check_time("timeout", options.timeout, 1ms, 1h, "from 1 ms to 1 h");
    if (options.tries < 1 || options.tries > 10) {
        throw_bad_dns_option("tries", std::to_string(options.tries), "from 1 to 10");
    }
    constexpr clock::duration ever = clock::duration::max();
    check_time("resolution_delay", options.resolution_delay, 0s, ever, "0 or more");
    check_time("min_time_to_live", options.min_time_to_live, 0s, ever, "0 or more");
    check_time("max_time_to_live", options.max_time_to_live, options.min_time_to_live, ever,
               "min_time_to_live or more");
    check_time("negative_time", options.negative_time, 0s, ever, "0 or more");
    if (options.max_queries == 0) {
        throw_bad_dns_option("max_queries", "0", "1 or more");
    }
    return options;
}

class resolver_service final : public loop_service {
public:
    explicit resolver_service(loop&) {}
    resolver names;
};

}  // namespace

}  // namespace detail

resolver::resolver(const resolver_options& options)
    : core_(std::make_unique<detail::resolver_core>(detail::checked(options))) {}

resolver::~resolver() = default;

detail::resolve_operation resolver::resolve(std::string_view host, std::uint16_t port) {
    return {*core_, host, port};
}

detail::resolve_operation resolver::resolve(std::string_view host, std::string_view service) {
    return {*core_, host, service};
}

void resolver::clear_cache() noexcept {
    core_->clear_cache();
}

resolver_stats resolver::stats() const noexcept {
    return core_->stats();
}

resolver& loop_resolver() {
    return loop::current().service<detail::resolver_service>().names;
}

detail::resolve_operation resolve(std::string_view host, std::uint16_t port) {
    return loop_resolver().resolve(host, port);
}

detail::resolve_operation resolve(std::string_view host, std::string_view service) {
    return loop_resolver().resolve(host, service);
}

}  // namespace weir::dns
