// SPDX-License-Identifier: MIT
// The check of texts that users send.
#pragma once

#include "base/utf8.hpp"

#include <weir/error.hpp>

#include <string>
#include <string_view>

namespace weir::ws::detail {

inline void check_text(std::string_view text) {
    if (!base::is_utf8(text)) {
        throw invalid_argument("ws: a text of " + std::to_string(text.size()) +
                               " bytes is not UTF-8; send it as binary");
    }
}

}  // namespace weir::ws::detail
