// SPDX-License-Identifier: MIT
// The hosts a client talks to: their requests in flight, the requests that wait, and the addresses
// in libcurl's cache.
#pragma once

#include "http/curl/curl_list.hpp"

#include <weir/awaitable.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/http/url.hpp>
#include <weir/io/address.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::http::detail {

class host_entry;

struct host_state {
    std::string name;                // 'host:port'
    std::vector<io::address> known;  // to libcurl
    std::size_t active = 0;
    std::size_t users = 0;             // host_place objects that refer to it
    weir::detail::split_list waiting;  // entries
    host_state* next_listed = nullptr;
    bool is_listed = false;  // has room and waiters
};

class host_table {
public:
    host_table(std::size_t max_total, std::size_t max_per_host) noexcept
        : max_total_(max_total), max_per_host_(max_per_host) {}

    // Adds a user to the host; release() removes one.
    host_state& find(std::string_view host, std::uint16_t port);
    void release(host_state& used) noexcept;

    bool try_enter(host_state& host) noexcept;
    void leave(host_state& host) noexcept;
    void fail_waiters(const std::exception_ptr& why) noexcept;
    static void fail_waiters(host_state& host, const std::exception_ptr& why) noexcept;
    std::size_t max_total() const noexcept { return max_total_; }
    std::size_t max_per_host() const noexcept { return max_per_host_; }

    // Adds the addresses that libcurl needs before it connects to the host.
    void tell(host_state& host, const std::vector<io::address>& found, curl_list& list);
    // A transfer ended before it was connected: it is uncertain what libcurl knows.
    static void forget(host_state& host) noexcept { host.known.clear(); }
    void forget_all() noexcept;
    std::size_t size() const noexcept { return hosts_.size(); }

private:
    friend class host_entry;
    static constexpr std::size_t max_unused = 8192;  // hosts without requests that are kept

    void admit() noexcept;
    void list(host_state& host) noexcept;

    std::unordered_map<std::string, host_state> hosts_;
    std::string key_;
    std::vector<std::string> removed_;  // hosts that libcurl still knows
    host_state* first_listed_ = nullptr;
    host_state* last_listed_ = nullptr;
    std::size_t total_ = 0;
    std::size_t max_total_;
    std::size_t max_per_host_;
};

// A reference to a host, and a place among its requests once it is entered.
class host_place {
public:
    host_place() noexcept = default;
    host_place(host_table& table, std::string_view host, std::uint16_t port)
        : table_(&table), host_(&table.find(host, port)) {}
    host_place(host_place&& other) noexcept
        : table_(other.table_),
          host_(std::exchange(other.host_, nullptr)),
          is_entered_(std::exchange(other.is_entered_, false)) {}
    host_place& operator=(host_place&& other) noexcept {
        host_place old(std::move(*this));
        table_ = other.table_;
        host_ = std::exchange(other.host_, nullptr);
        is_entered_ = std::exchange(other.is_entered_, false);
        return *this;
    }
    ~host_place() {
        if (is_entered_) {
            table_->leave(*host_);
        }
        if (host_ != nullptr) {
            table_->release(*host_);
        }
    }

    host_state& host() const noexcept { return *host_; }
    bool try_enter() noexcept { return is_entered_ = table_->try_enter(*host_); }
    // Waits for a place, after try_enter() has failed.
    host_entry enter() noexcept;

private:
    friend class host_entry;
    host_table* table_ = nullptr;
    host_state* host_ = nullptr;
    bool is_entered_ = false;
};

// Waits until one more request to the host may run. First come, first served; cancelling leaves the
// line, or passes the place on.
class [[nodiscard]] host_entry final : public operation, private weir::detail::wait_link {
public:
    explicit host_entry(host_place& place) noexcept : place_(place) {}
    host_entry(host_entry&& unawaited) noexcept : place_(unawaited.place_) {}
    ~host_entry();
    bool ready() noexcept override { return is_granted_ = place_.table_->try_enter(*place_.host_); }
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "http.connection"; }
    void resume();

private:
    friend class host_table;
    host_place& place_;
    std::exception_ptr error_;
    bool is_granted_ = false;
};

inline host_entry host_place::enter() noexcept {
    return host_entry(*this);
}

}  // namespace weir::http::detail
