// SPDX-License-Identifier: MIT
// The resolver behind dns::resolver: lookups in flight, and the fibers that wait for them.
#pragma once

#include "io/dns/ares_client.hpp"
#include "io/dns/known_names.hpp"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

namespace weir::dns::detail {

constexpr int type_a = 1;
constexpr int type_aaaa = 28;

// One question: the addresses of one family.
struct question {
    lookup* owner = nullptr;
    int type = 0;
    bool is_wanted = false;
    bool is_pending = false;
    int status = 0;  // an ARES_... code
    std::vector<io::address> found{};
    int time_to_live = 0;  // seconds

    void prepare(lookup& owning, int wanted_type, bool wanted);
    void ended(int result, const unsigned char* data, int size) noexcept;
    bool is_negative() const noexcept;  // no such name, or no addresses of this family
};

// A lookup in flight. It may outlive its waiters: c-ares cannot cancel a single query.
struct lookup {
    resolver_core* core = nullptr;
    std::string name{};
    std::vector<std::string> candidates{};  // names to query, one after the other
    std::size_t next_candidate = 0;
    std::array<question, 2> questions{};  // IPv4, IPv6
    std::vector<resolve_operation*> waiters{};
    bool name_exists = false;  // one of the candidates exists, but has no addresses
    bool is_changed = false;   // in the list of lookups to settle
    lookup* next_changed = nullptr;
    // Set when IPv4 addresses have arrived: until when to wait for IPv6. After that the waiters are
    // answered early, with IPv4 addresses only.
    clock::time_point patience = clock::time_point::max();
    std::vector<io::address> early{};

    bool is_pending() const noexcept { return questions[0].is_pending || questions[1].is_pending; }
};

class resolver_core final : public ares_client {
public:
    explicit resolver_core(const resolver_options& options);
    ~resolver_core();

    // Answers without asking a server; false if that is not possible. Throws resolve_error if the
    // host is no valid name.
    bool answer_at_once(resolve_operation& request);
    // True: the operation waits for a server's answer. False: it has the answer.
    bool join(resolve_operation& request);
    void leave(resolve_operation& request) noexcept;

    void note_change(lookup& changed) noexcept;
    void clear_cache() noexcept { known_.clear_cache(); }
    resolver_stats stats() const noexcept;

private:
    void start(lookup& started);
    void start_queued() noexcept;
    void settle() noexcept override;
    void forget_all() noexcept override;
    clock::time_point next_deadline() const noexcept override;
    void settle_one(lookup& changed);
    void answer_early(lookup& partial);
    void conclude(lookup& ended);
    void succeed(lookup& ended, std::vector<io::address> found);
    void fail(lookup& ended, const std::string& why) noexcept;
    void remove(lookup& gone) noexcept;

    resolver_options options_;  // the views in it are not used after construction
    known_names known_;
    std::unordered_map<std::string, std::unique_ptr<lookup>> lookups_;
    std::deque<lookup*> queue_;  // not started yet
    std::size_t running_ = 0;
    std::size_t impatient_ = 0;  // lookups with a patience
    lookup* changed_ = nullptr;
    std::uint64_t queries_ = 0;
};

}  // namespace weir::dns::detail
