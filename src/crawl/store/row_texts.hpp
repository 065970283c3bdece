// SPDX-License-Identifier: MIT
// How stores with tables write what is not a number: names of counters, states and refusals, and
// the seed of fingerprints.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/page.hpp>
#include <weir/flow/seeded_hash.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// The counters by name, so that a state can be read by people and later versions.
template <class Counters, class Visit>
void each_counter(Counters& totals, Visit&& visit) {
    visit("discovered", totals.discovered);
    visit("done", totals.done);
    visit("failed", totals.failed);
    visit("skipped", totals.skipped);
    visit("unrequested", totals.unrequested);
    visit("redirects", totals.redirects);
    visit("retries", totals.retries);
    visit("bytes", totals.bytes);
    visit("wire_bytes", totals.wire_bytes);
    for (std::size_t i = 1; i < link_refusal_count; ++i) {
        visit("refused." + std::string(name_of(static_cast<link_refusal>(i))), totals.refused[i]);
    }
}

page_state page_state_named(std::string_view name) noexcept;
link_refusal link_refusal_named(std::string_view name) noexcept;

std::string seed_text(hash_seed seed);
hash_seed seed_of_text(std::string_view text);

}  // namespace weir::crawl::detail
