// SPDX-License-Identifier: MIT
// The resolver behind dns::resolver: names being asked for, who waits for them, and what is known.
#pragma once

#include "io/dns/ares_client.hpp"
#include "io/dns/dns_cache.hpp"
#include "io/dns/hosts_file.hpp"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

namespace weir::dns::detail {

constexpr int type_a = 1;
constexpr int type_aaaa = 28;

std::string failure_of(const std::string& name, const std::string& why);

// One question: the addresses of one family.
struct question {
    lookup* of = nullptr;
    int type = 0;
    bool is_wanted = false;
    bool is_pending = false;
    int status = 0;  // of c-ares
    std::vector<io::address> found{};
    int time_to_live = 0;  // seconds

    void prepare(lookup& asking, int wanted_type, bool wanted);
    void ended(int result, const unsigned char* data, int size) noexcept;
    bool is_negative() const noexcept;  // there is no such name, or it has no such addresses
};

// A name that is being asked for. It outlives those who wait: c-ares cannot take back one question.
struct lookup {
    resolver_core* core = nullptr;
    std::string name{};
    std::vector<std::string> candidates{};  // what to ask for, one after the other
    std::size_t next_candidate = 0;
    std::array<question, 2> questions{};  // IPv4, IPv6
    std::vector<resolve_operation*> waiters{};
    bool name_exists = false;  // one of the candidates, though without addresses
    bool is_changed = false;   // in the list of those to settle
    lookup* next_changed = nullptr;
    // IPv4 addresses are there, and this is how long IPv6 has; answered early when it is over.
    clock::time_point patience = clock::time_point::max();
    std::vector<io::address> early{};

    bool is_pending() const noexcept { return questions[0].is_pending || questions[1].is_pending; }
};

class resolver_core final : public ares_client {
public:
    explicit resolver_core(const resolver_options& options);
    ~resolver_core();

    // What can be answered without asking anybody. Throws resolve_error if it is no name.
    bool answer_at_once(resolve_operation& asked);
    // Waits for the answer, or has it at once: false.
    bool join(resolve_operation& asking);
    void leave(resolve_operation& gone) noexcept;

    void note_change(lookup& changed) noexcept;
    void clear_cache() noexcept { cache_.clear(); }
    resolver_stats stats() const noexcept;

private:
    bool wants(io::address::family kind) const noexcept;
    // This machine, and what the hosts file has.
    std::vector<io::address> local_addresses(const std::string& name);
    // Keeps the families wanted, the best first.
    void arrange(std::vector<io::address>& addresses) const;
    std::vector<std::string> candidates_for(const std::string& name) const;
    std::string explain(int status) const;

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
    hosts_file hosts_;
    cache cache_;
    std::unordered_map<std::string, std::unique_ptr<lookup>> lookups_;
    std::deque<lookup*> queue_;  // not asked yet
    std::size_t running_ = 0;
    std::size_t impatient_ = 0;  // with a limited patience
    lookup* changed_ = nullptr;
    std::uint64_t queries_ = 0;
    std::uint64_t cache_hits_ = 0;
};

}  // namespace weir::dns::detail
