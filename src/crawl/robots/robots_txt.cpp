// SPDX-License-Identifier: MIT
// One pass over the lines fills two sets of rules, that of the crawler and that of '*'; the end of
// the file decides which of them counts. A group begins with a User-agent line after a rule; blank
// lines, Sitemap, Crawl-delay and unknown lines do not end it.

#include "base/ascii.hpp"
#include "crawl/html/html_letters.hpp"
#include "crawl/robots/robots_pattern.hpp"

#include <weir/crawl/robots_txt.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::crawl {
namespace {

// Letters, '-' and '_' at the start.
std::string_view agent_token(std::string_view name) noexcept {
    std::size_t size = 0;
    while (size < name.size() &&
           (base::is_letter(name[size]) || name[size] == '-' || name[size] == '_')) {
        ++size;
    }
    return name.substr(0, size);
}

enum class robots_key : unsigned char {
    unknown,
    user_agent,
    allow,
    disallow,
    crawl_delay,
    sitemap
};

// With the misspellings that are frequent.
robots_key key_named(std::string_view name) noexcept {
    struct known_key {
        std::string_view name;
        robots_key key;
    };
    constexpr known_key known[] = {
        {"user-agent", robots_key::user_agent},   {"useragent", robots_key::user_agent},
        {"user agent", robots_key::user_agent},   {"allow", robots_key::allow},
        {"disallow", robots_key::disallow},       {"dissallow", robots_key::disallow},
        {"dissalow", robots_key::disallow},       {"disalow", robots_key::disallow},
        {"diasllow", robots_key::disallow},       {"disallaw", robots_key::disallow},
        {"crawl-delay", robots_key::crawl_delay}, {"crawldelay", robots_key::crawl_delay},
        {"sitemap", robots_key::sitemap},         {"site-map", robots_key::sitemap}};
    for (const known_key& each : known) {
        if (detail::is_word(name, each.name)) {
            return each.key;
        }
    }
    return robots_key::unknown;
}

std::optional<std::chrono::milliseconds> delay_of(std::string_view value) noexcept {
    if (value.empty() || (!base::is_decimal(value[0]) && value[0] != '.')) {
        return std::nullopt;  // 'inf' is a number for from_chars()
    }
    double seconds = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), seconds,
                                      std::chars_format::fixed);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size()) {
        return std::nullopt;
    }
    constexpr double most = 24 * 60 * 60;
    return std::chrono::milliseconds(static_cast<long long>(std::min(seconds, most) * 1000));
}

struct robots_line {
    std::string_view key;
    std::string_view value;
};

// The colon may be missing if the line has two words.
std::optional<robots_line> split_robots_line(std::string_view line) noexcept {
    line = detail::without_blanks(line.substr(0, line.find('#')));
    std::size_t separator = line.find(':');
    if (separator == std::string_view::npos) {
        separator = line.find_first_of(" \t");
        if (separator == std::string_view::npos ||
            base::trimmed(line.substr(separator)).find_first_of(" \t") != std::string_view::npos) {
            return std::nullopt;
        }
    }
    return robots_line{detail::without_blanks(line.substr(0, separator)),
                       detail::without_blanks(line.substr(separator + 1))};
}

}  // namespace

struct robots_txt::reader {
    struct rule_set {
        std::vector<rule> rules;
        std::optional<std::chrono::milliseconds> crawl_delay;
        bool is_current = false;  // the group that is being read is for this set
        bool is_named = false;    // there is such a group
    };

    explicit reader(std::string_view agent) noexcept : token(agent_token(agent)) {}

    void read(std::string_view line) {
        const auto split = split_robots_line(line);
        if (!split) {
            return;
        }
        const robots_key key = key_named(split->key);
        if (key == robots_key::user_agent) {
            read_agent(split->value);
        } else if (key == robots_key::allow || key == robots_key::disallow) {
            has_rule = true;
            for (rule_set* set : {&ours, &everyones}) {
                if (set->is_current && !split->value.empty()) {
                    set->rules.push_back(
                        {detail::normal_robots_pattern(split->value), key == robots_key::allow});
                }
            }
        } else if (key == robots_key::crawl_delay) {
            for (rule_set* set : {&ours, &everyones}) {
                if (set->is_current) {
                    const auto delay = delay_of(split->value);
                    set->crawl_delay = std::max(set->crawl_delay, delay);
                }
            }
        } else if (key == robots_key::sitemap && !split->value.empty() &&
                   sitemaps.size() < max_sitemaps) {
            sitemaps.emplace_back(split->value);
        }
    }

    void read_agent(std::string_view name) {
        if (std::exchange(has_rule, false)) {
            ours.is_current = everyones.is_current = false;
        }
        const bool is_everyone =
            name.starts_with('*') && (name.size() == 1 || detail::is_html_blank(name[1]));
        const std::string_view named = agent_token(name);
        const bool is_us =
            !named.empty() && named.size() == token.size() &&
            std::equal(named.begin(), named.end(), token.begin(), [](char left, char right) {
                return detail::html_lower(left) == detail::html_lower(right);
            });
        if (is_everyone) {
            everyones.is_current = everyones.is_named = true;
        }
        if (is_us) {
            ours.is_current = ours.is_named = true;
        }
    }

    std::string_view token;
    rule_set ours;
    rule_set everyones;
    std::vector<std::string> sitemaps;
    bool has_rule = false;  // the group that is being read has one
};

robots_txt robots_txt::parse(std::string_view text, std::string_view agent) {
    text = text.substr(0, max_size);
    // A byte order mark, or what is left of one.
    for (const char mark : {'\xEF', '\xBB', '\xBF'}) {
        if (text.starts_with(mark)) {
            text.remove_prefix(1);
        }
    }
    reader all(agent);
    while (!text.empty()) {
        std::size_t end = 0;
        while (end < text.size() && text[end] != '\n' && text[end] != '\r') {
            ++end;
        }
        all.read(text.substr(0, std::min(end, max_line)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    reader::rule_set& chosen = all.ours.is_named ? all.ours : all.everyones;
    robots_txt made;
    made.rules_ = std::move(chosen.rules);
    made.crawl_delay_ = chosen.crawl_delay;
    made.sitemaps_ = std::move(all.sitemaps);
    made.names_agent_ = all.ours.is_named;
    std::sort(made.rules_.begin(), made.rules_.end(), [](const rule& left, const rule& right) {
        return left.pattern.size() != right.pattern.size()
                   ? left.pattern.size() > right.pattern.size()
                   : left.is_allow && !right.is_allow;
    });
    return made;
}

const robots_txt::rule* robots_txt::find_rule(std::string_view target) const {
    const std::string normal = detail::normal_robots_target(target);
    for (const rule& each : rules_) {
        if (detail::matches_robots_pattern(normal, each.pattern)) {
            return &each;
        }
    }
    return nullptr;
}

bool robots_txt::allows(std::string_view target) const {
    if (rules_.empty() || target.substr(0, target.find('?')) == "/robots.txt") {
        return true;
    }
    const rule* decides = find_rule(target);
    return decides == nullptr || decides->is_allow;
}

std::optional<std::string> robots_txt::deciding_rule(std::string_view target) const {
    const rule* decides = find_rule(target);
    if (decides == nullptr) {
        return std::nullopt;
    }
    return (decides->is_allow ? "Allow: " : "Disallow: ") + decides->pattern;
}

}  // namespace weir::crawl
