// SPDX-License-Identifier: MIT
// The kinds that workers run instead of the service: those that workers have registered, and those
// that match a pattern of the configuration.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class remote_kinds {
public:
    // Patterns are names, or beginnings of names and '*'. Throws invalid_argument.
    explicit remote_kinds(std::vector<std::string> patterns = {});

    // Workers have registered exactly these.
    void set_registered(const std::vector<std::string>& kinds);
    void add(const std::vector<std::string>& kinds);
    void remove(std::string_view kind);

    bool is_registered(std::string_view kind) const { return registered_.contains(kind); }
    bool contains(std::string_view kind) const;
    const std::set<std::string, std::less<>>& registered() const noexcept { return registered_; }

private:
    std::vector<std::string> patterns_;
    std::set<std::string, std::less<>> registered_;
};

}  // namespace weir::service::detail
