// SPDX-License-Identifier: MIT
// frontier: which URL is requested next. Hosts that may be contacted take turns in a ring; hosts
// that have to wait are in a heap by the time at which they may continue. Costs memory for hosts
// and their windows, not for URLs.
#pragma once

#include "crawl/frontier/crawl_host.hpp"

#include <weir/clock.hpp>
#include <weir/crawl/store.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::crawl::detail {

// Something that may be done now: fetch the URL, or prepare the host if there is none.
struct frontier_job {
    crawl_host* host = nullptr;
    std::optional<url_row> row;
    bool is_refused =
        false;  // the URL must not be requested: its host is given up, or `allows` said no
    // Whose limit the job counts in, to be given back by end() or end_preparation().
    address_group* joined = nullptr;
};

class frontier {
public:
    frontier(const gate_rules& rules, std::size_t per_address) noexcept
        : rules_(rules), per_address_(per_address) {}

    // The host of an origin; a new one gets the next id.
    crawl_host& host_of(std::string_view origin);
    // Null if there is none.
    crawl_host* find(std::string_view origin);
    crawl_host& host(host_id id) { return *hosts_[id - 1]; }
    crawl_host& restore(host_row row);
    const std::vector<std::unique_ptr<crawl_host>>& hosts() const noexcept { return hosts_; }
    // All hosts at `address` share a limit from now on; empty: the host has none, and no limit.
    void set_address(crawl_host& of, const std::string& address);
    // Whether the host has to be prepared for its address, which is of this run: names move.
    bool wants_address(const crawl_host& of) const noexcept {
        return per_address_ > 0 && !of.is_address_known;
    }
    // A place among the requests to the host's address, if there is one; null: no limit.
    std::optional<address_group*> try_join(const crawl_host& of) noexcept;

    // Asked before a URL is given out; must not change anything.
    std::function<bool(const crawl_host&, const url_row&)> allows;

    // All pending URLs of the host are in the store: the state after a restart.
    void assume_stored(crawl_host& of);
    // A URL whose row is durable.
    void add(url_row row);
    // The same, but not before `when`. The URL stays taken.
    void add_later(url_row row, clock::time_point when);
    std::optional<frontier_job> next(clock::time_point now);
    // A job has ended: the host may have another one now, and so may others at the address.
    void end(crawl_host& of, address_group* joined);
    // The same for a host that was prepared.
    void end_preparation(crawl_host& of, address_group* joined);
    // The URL is settled, durably.
    void forget(url_id id);
    // The host is to be given back to the store, which has all of its pending URLs.
    void withdraw(crawl_host& of);
    // Of a host that was withdrawn: nothing is under way. Its URLs can be dropped.
    bool is_quiet(const crawl_host& of) const noexcept;
    void drop(crawl_host& of);
    // When next() may have a job without any other change; max(): never.
    clock::time_point next_at() const noexcept;
    // Nothing is left to be given out, and everything given out is settled.
    bool is_empty() const noexcept;

    // A host whose window runs low; null: none. Its refill has begun.
    crawl_host* next_refill();
    void refill(crawl_host& of, std::vector<url_row> rows, bool is_all);
    std::size_t refills() const noexcept { return refills_; }

    std::size_t retrying() const noexcept { return later_.size(); }
    std::size_t ready_hosts() const noexcept { return ready_.size(); }
    std::size_t taken() const noexcept { return taken_.size(); }

private:
    using waiting_host = std::pair<clock::time_point, host_id>;

    void update(crawl_host& of);
    void note_urls(crawl_host& to);
    frontier_job give_out(crawl_host& from, bool is_refused);
    void take(url_id id, crawl_host& from);
    void wake(clock::time_point now);
    bool must_wait(crawl_host& of);
    std::optional<address_group*> join_or_wait(crawl_host& of);
    void leave(address_group* joined);

    gate_rules rules_;
    std::size_t per_address_;
    clock::time_point now_ = clock::time_point::min();
    std::vector<std::unique_ptr<crawl_host>> hosts_;  // by id, from 1
    std::unordered_map<std::string, host_id> by_origin_;
    crawl_host* last_found_ = nullptr;
    std::deque<crawl_host*> ready_;
    std::priority_queue<waiting_host, std::vector<waiting_host>, std::greater<>> waiting_;
    std::map<std::pair<clock::time_point, url_id>, url_row> later_;
    std::unordered_map<url_id, crawl_host*> taken_;  // given out, and not yet settled durably
    std::vector<crawl_host*> low_;                   // windows to be refilled
    std::size_t refills_ = 0;                        // begun and not ended
    std::unordered_map<std::string, address_group> addresses_;
    std::size_t at_addresses_ = 0;  // hosts that wait for a place
};

}  // namespace weir::crawl::detail
