// SPDX-License-Identifier: MIT
// What a router consists of.
#pragma once

#include "http/router/route_tree.hpp"

#include <weir/http/handler.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace weir::http::detail {

class route_table {
public:
    route_table() { scopes_.push_back(std::make_unique<route_scope>()); }
    route_table(const route_table&) = delete;
    route_table& operator=(const route_table&) = delete;

    // Each changes nothing if it throws. The method's name is empty for any.
    void add(std::string_view method_name, std::string_view pattern, handler answer);
    void use(middleware before);
    void set_fallback(handler answer);
    void mount(std::string_view prefix, route_table& other);

    task<response> answer(request& asked);

private:
    struct mounted_scope {
        std::unique_ptr<route_pattern> prefix;
        route_scope* scope;
    };

    route_scope& own_scope() noexcept { return *scopes_.front(); }
    void check_open() const;
    void refuse_known(std::string_view method_name, const route_pattern& pattern) const;
    void complete();
    task<response> refuse(request& asked, std::string_view path, const route_match& match);
    std::string allowed(const request& asked) const;
    response not_allowed(const request& asked) const;
    response options(const request& asked) const;

    std::vector<std::unique_ptr<route_scope>> scopes_;  // the own one first
    std::vector<std::unique_ptr<route>> routes_;
    std::vector<mounted_scope> mounts_;
    std::unordered_set<std::string> known_;  // methods and shapes of the patterns
    // From here on: made by the first request.
    route_tree tree_;
    handler bad_path_;
    bool is_complete_ = false;
};

}  // namespace weir::http::detail
