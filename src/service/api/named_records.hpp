// SPDX-License-Identifier: MIT
// What the resources with names in their paths share: queues and schedules. A record is looked up
// in the list of all, since there are few.
#pragma once

#include "service/api/json/filter_query.hpp"
#include "service/api/json/json_body.hpp"
#include "service/api/json/json_read.hpp"

#include <weir/http/percent.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::detail {

template <class Record>
class named_records {
public:
    using writer = void (*)(json_writer&, const Record&);

    // `kind` is 'queue' or 'schedule', for messages.
    constexpr named_records(std::string_view kind, writer write) noexcept
        : kind_(kind), write_(write) {}

    // The name in the path. Throws http::problem (422) if it is invalid.
    std::string name_in(const http::request& request) const {
        return read_name(kind_, request.param("name"));
    }
    std::optional<Record> find(std::vector<Record> all, std::string_view name) const {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Record& each) { return each.name == name; });
        return found != all.end() ? std::optional(std::move(*found)) : std::nullopt;
    }
    // The record as a response. Throws http::problem (404) if there is none.
    http::response show(const std::optional<Record>& record, std::string_view name) const {
        if (!record) {
            throw_unknown(name);
        }
        std::string text;
        json_writer json(text);
        write_(json, *record);
        return http::response::json_text(std::move(text));
    }
    // The part that the query asks for, of records in the order of their names.
    http::response list(const http::request& request, std::string_view member,
                        const std::vector<Record>& all) const {
        const name_page page = read_name_page(request.query_string());
        const auto first = std::find_if(all.begin(), all.end(),
                                        [&](const Record& each) { return each.name > page.after; });
        const auto left = static_cast<std::size_t>(all.end() - first);
        const std::size_t count = page.limit == 0 ? left : std::min(page.limit, left);
        const auto end = first + static_cast<std::ptrdiff_t>(count);
        return json_object([&](json_writer& json) {
            json.key(member).begin_array();
            for (auto each = first; each != end; ++each) {
                write_(json, *each);
            }
            json.end_array();
            std::string next;
            if (end != all.end()) {
                next = "/" + std::string(member) + "?limit=" + std::to_string(page.limit) +
                       "&cursor=" + http::encode_component(std::prev(end)->name);
            }
            json.member_or_null("next", next);
        });
    }
    [[noreturn]] void throw_unknown(std::string_view name) const {
        throw http::problem(http::status::not_found,
                            "there is no " + std::string(kind_) + " '" + std::string(name) + "'");
    }

private:
    std::string_view kind_;
    writer write_;
};

}  // namespace weir::service::detail
