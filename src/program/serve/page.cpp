// SPDX-License-Identifier: MIT
// The build embeds the dashboard where it has the tools to make it.

#include "program/serve/page.hpp"

#ifdef WEIR_HAVE_DASHBOARD
#include "dashboard_page.hpp"
#endif

namespace weir::program {

std::span<const http::asset> page() {
#ifdef WEIR_HAVE_DASHBOARD
    return dashboard_page();
#else
    return {};
#endif
}

}  // namespace weir::program
