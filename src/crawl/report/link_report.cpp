// SPDX-License-Identifier: MIT
// Three passes over the store: pages, their anchors, and links. A redirect is as good as what it
// leads to in the end.

#include "crawl/fetch/content_type.hpp"
#include "crawl/store/lines.hpp"

#include <weir/crawl/link_report.hpp>
#include <weir/error.hpp>
#include <weir/http/percent.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace weir::crawl {

namespace {

enum class verdict : std::uint8_t { good, broken, unknown };

// A page, without what the report does not need.
struct target_page {
    url_id id = 0;
    std::string url;
    std::string location;
    page_state state = page_state::pending;
    int status = 0;
    error_kind error = error_kind::none;
    std::string reason;
    bool is_html = false;
    bool is_seed = false;
};

class report_maker {
public:
    report_maker(hash_seed seed, link_report_options options)
        : options_(std::move(options)),
          seed_(seed),
          baseline_(options_.baseline.begin(), options_.baseline.end()) {}

    bool take_page(const page_record& page) {
        target_page kept;
        kept.id = page.id;
        kept.url = page.url;
        kept.location = page.location;
        kept.state = page.state;
        kept.status = page.status;
        kept.error = page.error.kind;
        kept.reason = page.error.text;
        // Of a page out of scope the body was not read: nothing is known about its fragments.
        kept.is_html =
            page.state == page_state::done && page.bytes > 0 && detail::is_html(page.content_type);
        kept.is_seed =
            page.found_as == link_kind::seed ||
            (page.found_as == link_kind::sitemap_file && page.state == page_state::failed);
        by_fingerprint_.emplace(fingerprint_of(page.url), pages_.size());
        by_id_.emplace(page.id, pages_.size());
        pages_.push_back(std::move(kept));
        return true;
    }
    bool take_anchors(url_id id, const std::string& names) {
        auto& set = anchors_[id];
        for (std::string& each : detail::lines_of(names)) {
            set.insert(std::move(each));
        }
        return true;
    }
    bool take_link(const link_row& link);
    link_report finish();

private:
    std::uint64_t fingerprint_of(std::string_view url) const {
        return seeded_hash<std::string_view>()(url, seed_);
    }
    // Where redirects lead in the end.
    const target_page& end_of(const target_page& first) const;
    std::pair<verdict, std::string> judge(const target_page& page) const;
    bool is_accepted(int status) const {
        return std::any_of(options_.accepted.begin(), options_.accepted.end(),
                           [status](const auto& range) {
                               return status >= range.first && status <= range.second;
                           });
    }
    void add(const std::string& url, std::string reason, int status, link_place place);
    link_place place_of(const link_row& link) const;
    void check_fragment(const link_row& link, const target_page& page);

    link_report_options options_;
    hash_seed seed_;
    std::unordered_set<std::string> baseline_;
    std::vector<target_page> pages_;
    std::unordered_map<std::uint64_t, std::size_t> by_fingerprint_;
    std::unordered_map<url_id, std::size_t> by_id_;
    std::unordered_map<url_id, std::unordered_set<std::string>> anchors_;
    std::map<std::string, broken_target> broken_;
    link_report report_;
};

const target_page& report_maker::end_of(const target_page& first) const {
    const target_page* page = &first;
    for (int hops = 0; hops < 32 && page->state == page_state::done && !page->location.empty();
         ++hops) {
        const auto next = by_fingerprint_.find(fingerprint_of(page->location));
        if (next == by_fingerprint_.end()) {
            break;
        }
        page = &pages_[next->second];
    }
    return *page;
}

std::pair<verdict, std::string> report_maker::judge(const target_page& page) const {
    const target_page& last = end_of(page);
    if (last.state == page_state::pending || last.error == error_kind::robots ||
        last.status == 429) {
        return {verdict::unknown, last.reason};
    }
    if (last.state == page_state::done || last.error == error_kind::content ||
        last.error == error_kind::too_large || is_accepted(last.status)) {
        return {verdict::good, ""};
    }
    const std::string via = &last == &page ? "" : "redirects to " + last.url + ": ";
    return {verdict::broken, via + last.reason};
}

void report_maker::add(const std::string& url, std::string reason, int status, link_place place) {
    broken_target& target = broken_[url];
    target.url = url;
    target.reason = std::move(reason);
    target.status = status;
    target.places.push_back(std::move(place));
}

link_place report_maker::place_of(const link_row& link) const {
    link_place place;
    const auto page = by_id_.find(link.page);
    place.page = page == by_id_.end() ? "" : pages_[page->second].url;
    place.line = link.line;
    place.column = link.column;
    place.kind = link.kind;
    return place;
}

bool report_maker::take_link(const link_row& link) {
    ++report_.links;
    if (link.target == 0) {
        if (link.refusal == link_refusal::invalid) {
            add(link.url, "not a valid URL", 0, place_of(link));
        }
        return true;
    }
    const auto found = by_fingerprint_.find(link.target);
    if (found == by_fingerprint_.end()) {
        return true;
    }
    const target_page& page = pages_[found->second];
    const auto [what, reason] = judge(page);
    if (what == verdict::broken) {
        add(page.url, reason, end_of(page).status, place_of(link));
    } else if (what == verdict::good && options_.checks_fragments && !link.fragment.empty()) {
        check_fragment(link, end_of(page));
    }
    return true;
}

void report_maker::check_fragment(const link_row& link, const target_page& page) {
    if (!page.is_html || page.state != page_state::done) {
        return;
    }
    const std::string name = http::try_percent_decode(link.fragment).value_or(link.fragment);
    // Browsers scroll to the top for these, and search for text with ':~:'.
    if (name == "top" || name.starts_with(":~:") || name.starts_with("!")) {
        return;
    }
    const auto anchors = anchors_.find(page.id);
    const bool is_there = anchors != anchors_.end() && (anchors->second.contains(name) ||
                                                        anchors->second.contains(link.fragment));
    if (!is_there) {
        add(page.url + "#" + link.fragment, "the page has no element with this id", page.status,
            place_of(link));
    }
}

link_report report_maker::finish() {
    for (const target_page& each : pages_) {
        report_.targets += 1;
        report_.pages += each.is_html ? 1 : 0;
        const auto [what, reason] = judge(each);
        report_.unknown += what == verdict::unknown ? 1 : 0;
        if (each.is_seed && what == verdict::broken && !broken_.contains(each.url)) {
            add(each.url, reason, end_of(each).status, link_place());
        }
    }
    for (auto& [url, target] : broken_) {
        if (baseline_.contains(url)) {
            ++report_.accepted;
        } else {
            report_.broken.push_back(std::move(target));
        }
    }
    return std::move(report_);
}

}  // namespace

std::vector<std::pair<int, int>> parse_statuses(std::string_view text) {
    std::vector<std::pair<int, int>> ranges;
    const std::string all(text);
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t dots = part.find("..");
        const auto number = [&all](std::string_view digits) {
            int value = 0;
            const auto [end, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), value);
            if (error != std::errc() || end != digits.data() + digits.size() || value < 100 ||
                value > 599) {
                throw invalid_argument("'" + all +
                                       "' must be statuses and ranges such as 200..299,403");
            }
            return value;
        };
        const int first = number(part.substr(0, dots));
        ranges.emplace_back(first,
                            dots == std::string_view::npos ? first : number(part.substr(dots + 2)));
    }
    return ranges;
}

task<link_report> make_link_report(store& of, link_report_options options) {
    const hash_seed seed = co_await of.seed();
    report_maker maker(seed, std::move(options));
    const auto pages = [&maker](const page_record& each) { return maker.take_page(each); };
    const auto anchors = [&maker](url_id id, const std::string& names) {
        return maker.take_anchors(id, names);
    };
    const auto links = [&maker](const link_row& each) { return maker.take_link(each); };
    co_await of.each_page(pages);
    co_await of.each_anchors(anchors);
    co_await of.each_link(links);
    co_return maker.finish();
}

}  // namespace weir::crawl
