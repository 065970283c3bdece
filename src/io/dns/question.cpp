// SPDX-License-Identifier: MIT
// One question to a name server. c-ares parses the answer and follows the aliases in it; an alias
// makes the time to live shorter, never longer.

#include "io/dns/resolver_core.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace weir::dns::detail {

namespace {

constexpr int most_answers = 64;  // of one family; more than that is an attack

template <class Raw, class Entry>
int take_all(std::vector<io::address>& into, const Entry* entries, int count, Raw raw,
             auto place_of) {
    int time_to_live = INT32_MAX;
    for (int index = 0; index < count; ++index) {
        std::memcpy(place_of(raw), &entries[index], sizeof *place_of(raw));
        into.push_back(io::address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw));
        time_to_live = std::min(time_to_live, std::max(entries[index].ttl, 0));
    }
    return time_to_live;
}

// Takes the addresses of an answer. Returns an ARES_... code.
int parse_answer(question& into, const unsigned char* data, int size) {
    constexpr int header_size = 12;
    if (data == nullptr || size < header_size) {
        return ARES_EBADRESP;
    }
    if ((data[3] & 0x0f) != 0) {
        return ARES_ESERVFAIL;  // c-ares treats unknown codes as success
    }
    int count = most_answers;
    int status = ARES_SUCCESS;
    if (into.type == type_a) {
        std::array<ares_addrttl, most_answers> entries{};
        status = ares_parse_a_reply(data, size, nullptr, entries.data(), &count);
        sockaddr_in raw{};
        raw.sin_family = AF_INET;
        into.time_to_live = take_all(into.found, entries.data(), count, raw,
                                     [](sockaddr_in& in) { return &in.sin_addr; });
    } else {
        std::array<ares_addr6ttl, most_answers> entries{};
        status = ares_parse_aaaa_reply(data, size, nullptr, entries.data(), &count);
        sockaddr_in6 raw{};
        raw.sin6_family = AF_INET6;
        into.time_to_live = take_all(into.found, entries.data(), count, raw,
                                     [](sockaddr_in6& in) { return &in.sin6_addr; });
    }
    return status == ARES_SUCCESS && into.found.empty() ? ARES_ENODATA : status;
}

}  // namespace

void question::prepare(lookup& owning, int wanted_type, bool wanted) {
    owner = &owning;
    type = wanted_type;
    is_wanted = is_pending = wanted;
    status = ARES_ENODATA;
    found.clear();
}

void question::ended(int result, const unsigned char* data, int size) noexcept {
    is_pending = false;
    status = result;
    found.clear();
    if (result == ARES_SUCCESS) {
        try {
            status = parse_answer(*this, data, size);
        } catch (...) {
            status = ARES_ENOMEM;
        }
        if (status != ARES_SUCCESS) {
            found.clear();
        }
    }
    owner->core->note_change(*owner);
}

bool question::is_negative() const noexcept {
    return status == ARES_ENOTFOUND || status == ARES_ENODATA;
}

}  // namespace weir::dns::detail
