// SPDX-License-Identifier: MIT
// robots.txt, and one target, its first line: the rule that decides is the one that is reported.
// The matcher agrees with one that is written as the definition is, and a normal form is its own.

#include "crawl/robots/robots_pattern.hpp"
#include "fuzz.hpp"

#include <weir/crawl/robots_txt.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace {

using fuzz::require;
using namespace weir::crawl;

constexpr std::size_t max_part = 40;  // of what the slow matcher gets: it takes the product

// All places that a beginning of the pattern can reach, letter by letter.
bool matches_slowly(std::string_view target, std::string_view pattern) {
    std::array<bool, 3 * max_part + 2> places{};
    places[0] = true;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '$' && i + 1 == pattern.size()) {
            return places[target.size()];
        }
        bool reached = false;
        bool comes_here = false;
        for (std::size_t at = 0; at <= target.size(); ++at) {
            const bool was_here = places[at];
            reached = reached || was_here;
            places[at] = pattern[i] == '*' ? reached : comes_here;
            comes_here = was_here && at < target.size() && target[at] == pattern[i];
        }
    }
    return std::find(places.begin(), places.end(), true) != places.end();
}

}  // namespace

WEIR_FUZZ_TARGET(robots) {
    const std::size_t line_end = std::min(input.find('\n'), input.size());
    const std::string target = "/" + std::string(input.substr(0, line_end));
    const robots_txt robots = robots_txt::parse(input, "weir-crawl");
    const auto rule = robots.deciding_rule(target);
    if (rule && !target.starts_with("/robots.txt")) {
        require(robots.allows(target) == rule->starts_with("Allow"), "the rule decides");
    }
    require(robots.sitemaps().size() <= robots_txt::max_sitemaps, "the limit of sitemaps");

    const std::string_view some = input.substr(0, 500);
    const std::string normal_target = detail::normal_robots_target(some);
    const std::string normal_pattern = detail::normal_robots_pattern(some);
    require(detail::normal_robots_pattern(normal_pattern) == normal_pattern, "a normal pattern");
    require(detail::normal_robots_target(normal_target) == normal_target, "a normal target");

    // The first line against the second.
    const std::string_view second = input.substr(std::min(line_end + 1, input.size()));
    const std::string short_target =
        detail::normal_robots_target(target.substr(0, std::min(max_part, target.size())));
    const std::string short_pattern = detail::normal_robots_pattern(
        second.substr(0, std::min({max_part, second.find('\n'), second.size()})));
    require(detail::matches_robots_pattern(short_target, short_pattern) ==
                matches_slowly(short_target, short_pattern),
            "both matchers agree");
}
