// SPDX-License-Identifier: MIT
// Makes libcurl refuse certificates that name their host only in the common name.
#pragma once

#include <curl/curl.h>

namespace weir::http::detail {

// libcurl takes the common name of a certificate for its host if the certificate lists no names;
// browsers do not, and tls::connect does not.
void require_certificate_names(CURL* easy);

}  // namespace weir::http::detail
