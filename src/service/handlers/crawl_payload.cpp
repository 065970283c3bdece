// SPDX-License-Identifier: MIT
// Every member has a line in a table. Clients are strangers, compared to somebody who calls
// `weir crawl`: a crawl has a limit of pages unless it asks for more, and limits have upper bounds.

#include "service/handlers/crawl_payload.hpp"

#include "service/handlers/reserved_headers.hpp"

#include <weir/crawl/link_report.hpp>
#include <weir/error.hpp>
#include <weir/http/url.hpp>
#include <weir/service/job.hpp>

#include <boost/json/serialize.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service::detail {

namespace {

namespace json = boost::json;

constexpr std::uint64_t default_pages = 10'000;

// A member that is being read, for messages.
struct crawl_member {
    std::string_view name;
    const json::value& value;
};

[[noreturn]] void refuse_member(const crawl_member& member, const std::string& expected) {
    constexpr std::size_t max_shown = 100;
    std::string shown = json::serialize(member.value);
    if (shown.size() > max_shown) {
        shown = shown.substr(0, max_shown) + "...";
    }
    throw permanent_failure("crawl: " + std::string(member.name) + " is " + shown +
                            "; it must be " + expected);
}

double number_in(const crawl_member& member, double least, double most, bool is_whole) {
    const double number = member.value.is_number() ? member.value.to_number<double>() : NAN;
    if (!(number >= least && number <= most) || (is_whole && number != std::floor(number))) {
        std::array<char, 96> text{};
        std::snprintf(text.data(), text.size(), "a %snumber from %.12g to %.12g",
                      is_whole ? "whole " : "", least, most);
        refuse_member(member, text.data());
    }
    return number;
}

template <class Integer>
void read_whole(const crawl_member& member, Integer& to, double least, double most) {
    to = static_cast<Integer>(number_in(member, least, most, true));
}

void read_seconds(const crawl_member& member, clock::duration& to, double least, double most) {
    to = std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(number_in(member, least, most, false)));
}

bool flag_in(const crawl_member& member) {
    if (!member.value.is_bool()) {
        refuse_member(member, "true or false");
    }
    return member.value.get_bool();
}

std::string text_in(const crawl_member& member, const char* expected) {
    if (!member.value.is_string() || member.value.get_string().empty()) {
        refuse_member(member, expected);
    }
    return std::string(member.value.get_string());
}

void read_texts(const crawl_member& member, std::vector<std::string>& to) {
    constexpr const char* expected = "a list of texts that are not empty";
    if (!member.value.is_array()) {
        refuse_member(member, expected);
    }
    for (const json::value& each : member.value.get_array()) {
        to.push_back(text_in({member.name, each}, expected));
    }
}

void read_urls(const crawl_member& member, std::vector<std::string>& to) {
    constexpr std::size_t most = 10'000;
    const std::size_t before = to.size();
    read_texts(member, to);
    if (to.size() > most) {
        refuse_member(member, "at most 10000 URLs");
    }
    for (std::size_t i = before; i < to.size(); ++i) {
        const std::optional<http::url> url = http::url::try_parse(to[i]);
        if (!url || !url->scheme().starts_with("http")) {
            refuse_member({member.name, json::value(to[i])},
                          "an http or https URL such as https://example.com/");
        }
    }
}

void read_sitemap_member(const crawl_member& member, crawl::crawl_options& to) {
    if (member.value.is_bool()) {
        to.discover_sitemaps = member.value.get_bool();
    } else if (member.value.is_array()) {
        read_urls(member, to.sitemaps);
    } else {
        refuse_member(member, "true, to look for sitemaps, or a list of their URLs");
    }
}

void read_scope(const crawl_member& member, crawl::crawl_scope& to) {
    using crawl::crawl_scope;
    constexpr const char* expected = "host, domain, prefix or all";
    const std::string name = text_in(member, expected);
    for (const crawl_scope each :
         {crawl_scope::host, crawl_scope::domain, crawl_scope::prefix, crawl_scope::all}) {
        if (name == name_of(each)) {
            to = each;
            return;
        }
    }
    refuse_member(member, expected);
}

void read_statuses(const crawl_member& member, std::vector<std::pair<int, int>>& to) {
    constexpr const char* expected = "statuses and ranges such as \"403,500..599\"";
    try {
        to = crawl::parse_statuses(text_in(member, expected));
    } catch (const invalid_argument&) {
        refuse_member(member, expected);
    }
}

void read_crawl_headers(const crawl_member& member, crawl::crawl_options& to) {
    if (!member.value.is_object()) {
        refuse_member(member, "an object of texts");
    }
    http::headers checked;
    for (const auto& [name, value] : member.value.get_object()) {
        if (!value.is_string() || is_reserved_header(name)) {
            refuse_member(member,
                          "an object of texts, without headers of the connection such as '" +
                              std::string(name) + "'");
        }
        try {
            checked.set(name, value.get_string());
        } catch (const std::exception& error) {
            refuse_member(member, std::string("an object of valid headers: ") + error.what());
        }
        to.headers.emplace_back(name, value.get_string());
    }
}

void read_contact(const crawl_member& member, crawl::crawl_options& to) {
    const std::string contact = text_in(member, "a text, such as the URL of a page");
    if (contact.find_first_of("\r\n()") != std::string::npos) {
        refuse_member(member, "one line without parentheses");
    }
    to.user_agent += " (+" + contact + ")";
}

struct known_member {
    std::string_view name;
    void (*read)(const crawl_member& member, crawl_payload& to);
};

constexpr std::array<known_member, 28> known_members = {{
    {"urls", [](const crawl_member& is, crawl_payload& to) { read_urls(is, to.options.seeds); }},
    {"sitemap",
     [](const crawl_member& is, crawl_payload& to) { read_sitemap_member(is, to.options); }},
    {"check", [](const crawl_member& is, crawl_payload& to) { to.is_check = flag_in(is); }},
    {"accept", [](const crawl_member& is, crawl_payload& to) { read_statuses(is, to.accepted); }},
    {"max_listed",
     [](const crawl_member& is, crawl_payload& to) { read_whole(is, to.max_listed, 0, 1000); }},
    {"scope", [](const crawl_member& is, crawl_payload& to) { read_scope(is, to.options.scope); }},
    {"include",
     [](const crawl_member& is, crawl_payload& to) { read_texts(is, to.options.include); }},
    {"exclude",
     [](const crawl_member& is, crawl_payload& to) { read_texts(is, to.options.exclude); }},
    {"strip_param", [](const crawl_member& is,
                       crawl_payload& to) { read_texts(is, to.options.strip_parameters); }},
    {"assets",
     [](const crawl_member& is, crawl_payload& to) { to.options.fetch_assets = flag_in(is); }},
    {"depth", [](const crawl_member& is,
                 crawl_payload& to) { read_whole(is, to.options.max_depth, 0, 1e9); }},
    {"max_pages", [](const crawl_member& is,
                     crawl_payload& to) { read_whole(is, to.options.max_pages, 1, 1e9); }},
    {"max_pages_per_host",
     [](const crawl_member& is, crawl_payload& to) {
         read_whole(is, to.options.max_pages_per_host, 1, 1e9);
     }},
    {"max_pages_per_pattern",
     [](const crawl_member& is, crawl_payload& to) {
         read_whole(is, to.options.max_pages_per_pattern, 1, 1e9);
     }},
    {"max_equal_bodies",
     [](const crawl_member& is, crawl_payload& to) {
         read_whole(is, to.options.max_equal_bodies, 1, 1e9);
     }},
    {"max_links_per_page",
     [](const crawl_member& is, crawl_payload& to) {
         read_whole(is, to.options.max_links_per_page, 1, 1e6);
     }},
    {"max_urls", [](const crawl_member& is,
                    crawl_payload& to) { read_whole(is, to.options.max_urls, 1, 2e7); }},
    {"max_body", [](const crawl_member& is,
                    crawl_payload& to) { read_whole(is, to.options.max_body, 1, 1e8); }},
    {"concurrency", [](const crawl_member& is,
                       crawl_payload& to) { read_whole(is, to.options.concurrency, 1, 256); }},
    {"per_host", [](const crawl_member& is,
                    crawl_payload& to) { read_whole(is, to.options.per_host, 1, 256); }},
    {"rate", [](const crawl_member& is,
                crawl_payload& to) { to.options.rate = number_in(is, 0.001, 1e6, false); }},
    {"delay", [](const crawl_member& is,
                 crawl_payload& to) { read_seconds(is, to.options.delay, 0, 3600); }},
    {"timeout", [](const crawl_member& is,
                   crawl_payload& to) { read_seconds(is, to.options.timeout, 0.001, 3600); }},
    {"attempts", [](const crawl_member& is,
                    crawl_payload& to) { read_whole(is, to.options.max_attempts, 1, 100); }},
    {"ignore_robots",
     [](const crawl_member& is, crawl_payload& to) { read_texts(is, to.options.ignore_robots); }},
    {"headers",
     [](const crawl_member& is, crawl_payload& to) { read_crawl_headers(is, to.options); }},
    {"contact", [](const crawl_member& is, crawl_payload& to) { read_contact(is, to.options); }},
    {"follow_nofollow",
     [](const crawl_member& is, crawl_payload& to) { to.options.follow_nofollow = flag_in(is); }},
}};

std::string names_of_members() {
    std::string all;
    for (const known_member& each : known_members) {
        all.append(all.empty() ? "" : ", ").append(each.name);
    }
    return all;
}

}  // namespace

crawl_payload read_crawl_payload(const json::value& payload) {
    if (!payload.is_object()) {
        throw permanent_failure("crawl: the payload must be an object with at least urls");
    }
    crawl_payload to;
    to.options.max_pages = default_pages;
    for (const auto& [name, value] : payload.get_object()) {
        const known_member* found = nullptr;
        for (const known_member& each : known_members) {
            found = each.name == std::string_view(name) ? &each : found;
        }
        if (found == nullptr) {
            throw permanent_failure("crawl: the member " + std::string(name) +
                                    " is unknown; expected: " + names_of_members());
        }
        found->read({found->name, value}, to);
    }
    if (to.options.seeds.empty() && to.options.sitemaps.empty()) {
        throw permanent_failure("crawl: urls is missing; it must be a list of URLs");
    }
    if (to.is_check) {
        to.options.fetch_assets = to.options.check_external = to.options.record_links = true;
        to.options.follow_nofollow = true;
        to.options.robots_retry_delay = std::chrono::seconds(2);  // a check should end
    }
    try {
        to.options.check();
    } catch (const invalid_argument& error) {
        throw permanent_failure(std::string("crawl: ") + error.what());
    }
    return to;
}

}  // namespace weir::service::detail
