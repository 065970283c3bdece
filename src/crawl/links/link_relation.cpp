// SPDX-License-Identifier: MIT
// Of several relations the one that says most counts: 'alternate stylesheet' is a style sheet.

#include "crawl/links/link_relation.hpp"

#include "crawl/html/html_letters.hpp"

namespace weir::crawl::detail {
namespace {

struct known_relation {
    std::string_view word;
    link_kind kind;
};
// The first of these that is among the words of a rel.
constexpr known_relation known_relations[] = {
    {"stylesheet", link_kind::stylesheet},
    {"canonical", link_kind::canonical},
    {"next", link_kind::next},
    {"prev", link_kind::next},
    {"previous", link_kind::next},
    {"alternate", link_kind::alternate},
    {"icon", link_kind::image},
    {"apple-touch-icon", link_kind::image},
    {"apple-touch-icon-precomposed", link_kind::image},
    {"mask-icon", link_kind::image},
};
constexpr std::string_view relations_without_document[] = {
    "dns-prefetch", "preconnect", "pingback", "nofollow", "noopener", "noreferrer", "edituri"};

bool names_document(std::string_view word) noexcept {
    for (const std::string_view each : relations_without_document) {
        if (is_word(word, each)) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::optional<link_kind> kind_of_relation(std::string_view rel) {
    for (const known_relation& each : known_relations) {
        if (has_word(rel, each.word)) {
            return each.kind;
        }
    }
    return any_word(rel, names_document) ? std::optional(link_kind::other) : std::nullopt;
}

}  // namespace weir::crawl::detail
